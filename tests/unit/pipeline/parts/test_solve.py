"""A sparse problem in parts: the optimum of the whole, whatever the parts are, and with workers to the same bit."""

import contextlib
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync.errors import ConvergenceWarning, DisconnectedWarning, InputError
from angsync.pipeline.parts import solve, tasks
from angsync.pipeline.parts.partition import partition
from angsync.pipeline.parts.start import near_cuts, pieces_of, swept
from angsync.problem.operators.edge_list import EdgeList


class Elsewhere:
    """What a client is asked for, with every argument and answer pickled as on the way to a worker and back."""

    def __init__(self):
        self.submitted = 0

    def nthreads(self):
        return {"one": 1}

    def submit(self, function, *arguments, pure, retries):
        assert pure is False
        self.submitted += 1
        return Future(pickle.dumps((function, arguments)))


class Future:
    def __init__(self, task):
        self.task = task

    def result(self, timeout):
        function, arguments = pickle.loads(self.task)
        return pickle.loads(pickle.dumps(function(*arguments)))

    def cancel(self):
        pass


def grid(side=24, sigma=0.3, seed=0):
    return ang.simulate.grid(side, side, sigma=sigma, rng=seed).measurements


@pytest.mark.parametrize("count", [1, 3, 16])
def test_the_optimum_is_that_of_the_whole(count):
    data = grid()
    whole, parts = ang.synchronize(data), ang.synchronize(data, solver=ang.Parts(count))
    assert abs(parts.objective / whole.objective - 1) < 1e-12
    assert parts.certificate.verdict is ang.Verdict.CERTIFIED
    assert f"{count} parts" in parts.method
    assert parts.iterations <= 8


def test_workers_change_no_bit():
    data, client = grid(), Elsewhere()
    here = ang.synchronize(data, solver=ang.Parts(6))
    there = ang.synchronize(data, solver=ang.Parts(6, client))
    assert client.submitted == 6
    assert there.z.tobytes() == here.z.tobytes()
    assert ang.synchronize(data, solver=ang.Parts(6)).z.tobytes() == here.z.tobytes()


def test_a_client_may_be_an_address(monkeypatch):
    data, client = grid(), Elsewhere()
    monkeypatch.setattr(tasks, "connected", lambda address: contextlib.nullcontext({"tcp://there": client}[address]))
    there = ang.synchronize(data, solver=ang.Parts(6, "tcp://there"))
    assert client.submitted == 6
    assert there.z.tobytes() == ang.synchronize(data, solver=ang.Parts(6)).z.tobytes()


def test_a_part_that_no_worker_can_do_is_done_here(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def killed(self, timeout):
        raise distributed.KilledWorker.__new__(distributed.KilledWorker)  # its arguments changed

    monkeypatch.setattr(Future, "result", killed)
    data = grid(12)
    with_nobody = ang.synchronize(data, solver=ang.Parts(4, Elsewhere()))
    assert with_nobody.z.tobytes() == ang.synchronize(data, solver=ang.Parts(4)).z.tobytes()


def test_parts_are_the_nodes_once():
    matrix = grid(23).to_sparse()
    for count in (1, 3, 16, 529, 2000):
        parts = partition(matrix, count)
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(529))
        assert len(parts) == min(count, 529)
        assert max(map(len, parts)) - min(map(len, parts)) <= np.ceil(np.log2(max(2, count)))


def test_pieces_of_parts_that_fall_apart():
    path = scipy.sparse.csr_array(scipy.sparse.diags_array(np.ones((2, 5)), offsets=(-1, 1), shape=(6, 6)))
    assert pieces_of(path, np.array([0, 0, 1, 1, 0, 0], dtype=np.int32)).tolist() == [0, 0, 1, 1, 2, 2]
    assert pieces_of(path, np.zeros(6, dtype=np.int32)).tolist() == 6 * [0]


def test_nodes_along_the_cuts(monkeypatch):
    path = scipy.sparse.csr_array(scipy.sparse.diags_array(np.ones((2, 19)), offsets=(-1, 1), shape=(20, 20)))
    part = (np.arange(20) >= 10).astype(np.int32)
    monkeypatch.setattr("angsync.pipeline.parts.start.RIM_STEPS", 3)
    assert near_cuts(EdgeList.of(path), part).tolist() == [7, 8, 9, 10, 11, 12]
    assert near_cuts(EdgeList.of(path), 0 * part).size == 0


def test_a_sweep_raises_f_and_moves_nobody_else():
    from angsync.pipeline.call import Call

    matrix, rng = grid(15).to_sparse(), np.random.default_rng(3)
    z = np.exp(2j * np.pi * rng.random(225))
    inside = np.flatnonzero(rng.random(225) < 0.4)
    found = swept(matrix, z, inside, Call())
    held = np.setdiff1d(np.arange(225), inside)
    assert np.array_equal(found[held], z[held])
    before, after = (float(np.vdot(x, matrix @ x).real) for x in (z, found))
    assert after > before + 10


def test_a_graph_in_pieces_is_solved_piece_by_piece():
    """Two grids and a node alone: parts cut through both, or hold one and a bit, and gauges stay free."""
    one, other = grid(12), grid(9, seed=1)
    edges = ang.Measurements(
        np.concatenate([one.i, other.i + 144]),
        np.concatenate([one.j, other.j + 144]),
        np.concatenate([one.angle, other.angle]),
        n=144 + 81 + 1,
    )
    with pytest.warns(DisconnectedWarning):
        whole = ang.synchronize(edges)
    for count in (2, 3, 16):
        with pytest.warns(DisconnectedWarning) as told:
            parts = ang.synchronize(edges, solver=ang.Parts(count))
        assert len(told) == 1
        assert abs(parts.objective / whole.objective - 1) < 1e-12
        assert np.array_equal(parts.components, whole.components)
        assert ang.distance(parts.z[:144], whole.z[:144]) < 1e-6
        assert ang.distance(parts.z[144:225], whole.z[144:225]) < 1e-6


def test_more_parts_than_nodes():
    result = ang.synchronize(grid(3), solver=ang.Parts(100))
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


def test_anchors_hold_in_parts():
    result = ang.synchronize(grid(12), solver=ang.Parts(4), anchors={0: 0.5, 143: 1.0})
    assert np.angle(result.z[0]) == pytest.approx(0.5)
    assert np.angle(result.z[143]) == pytest.approx(1.0)


@pytest.mark.parametrize("after", [0, 2])
def test_interrupted_among_the_parts(monkeypatch, after):
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return original(*arguments)

    original = tasks.phases_of_part
    monkeypatch.setattr(tasks, "phases_of_part", interrupted)
    result = ang.synchronize(grid(12), solver=ang.Parts(4))
    assert result.status is ang.Status.INTERRUPTED
    assert np.allclose(np.abs(result.z), 1)
    assert ("2 parts that were done" in result.method) == (after == 2)
    assert result.objective > 0


def test_interrupted_between_gauges_and_sweep_keeps_the_gauges(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "near_cuts", interrupted)
    data = grid(20)
    result = ang.synchronize(data, solver=ang.Parts(4))
    assert result.status is ang.Status.INTERRUPTED
    assert result.objective > 0.98 * ang.synchronize(data).objective


def test_out_of_time_among_the_parts():
    with pytest.warns(ConvergenceWarning, match="TIME_LIMIT"):
        result = ang.synchronize(grid(20), solver=ang.Parts(4), stopping=ang.Stopping(max_seconds=1e-6))
    assert result.status is ang.Status.TIME_LIMIT
    assert np.allclose(np.abs(result.z), 1)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "16"])
def test_a_wrong_count_is_refused(wrong):
    with pytest.raises(InputError, match="count must be a whole number"):
        ang.Parts(count=wrong)


def test_a_count_may_be_a_number_of_numpy():
    grid = ang.simulate.grid(8, 8, sigma=0.1, rng=0)
    found = ang.synchronize(grid.C, solver=ang.Parts(count=np.int64(4)))
    assert np.array_equal(found.z, ang.synchronize(grid.C, solver=ang.Parts(count=4)).z)


def test_what_parts_are_not_for_is_refused():
    with pytest.raises(InputError, match=r"client must be a distributed\.Client"):
        ang.Parts(client=3)
    with pytest.raises(InputError, match="Parts is for sparse problems"):
        ang.synchronize(np.ones((40, 40), dtype=complex), solver=ang.Parts())
    with pytest.raises(InputError, match="not for a stack"):
        ang.synchronize(np.ones((2, 5, 5), dtype=complex), solver=ang.Parts())
    with pytest.raises(InputError, match="writes no checkpoints"):
        ang.synchronize(grid(5), solver=ang.Parts(), checkpoint="solve.npz")
    with pytest.raises(InputError, match="finds its own starting point"):
        ang.synchronize(grid(5), solver=ang.Parts(), start="random")


@pytest.mark.slow
def test_real_workers_one_of_them_killed():
    distributed = pytest.importorskip("distributed")
    import os
    import signal

    data = grid(60)
    here = ang.synchronize(data, solver=ang.Parts(8))
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        warnings.simplefilter("ignore")
        there = ang.synchronize(data, solver=ang.Parts(8, cluster.scheduler_address))
        assert there.z.tobytes() == here.z.tobytes()
        os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
        again = ang.synchronize(data, solver=ang.Parts(8, client))
    assert again.z.tobytes() == here.z.tobytes()
