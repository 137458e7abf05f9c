"""One matrix on a cluster: the same answer, whatever happens to the workers.

With a stand-in for the client that runs its tasks at once; with real processes in ``test_on_cluster_processes.py``.
"""

from __future__ import annotations

import contextlib
import types

import numpy as np
import pytest
from stored import Slices

import angsync as ang
from angsync.errors import InputError, NotFiniteError, NotHermitianError
from angsync.problem import workers
from angsync.problem.operators import on_cluster, pieces
from angsync.problem.operators.on_cluster import ClusterOperator

distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")


WORKER = types.SimpleNamespace(address="tcp://127.0.0.1:1")


class Done:
    """A future that has ended."""

    def __init__(self, call):
        self.call = call
        try:
            self.answer, self.error = call(), None
        except Exception as error:
            self.answer, self.error = None, error

    @property
    def status(self):
        return "finished" if self.error is None else "error"

    def exception(self):
        return self.error

    def release(self):
        self.answer = None


class StandIn:
    """A client that does at once what it is asked for; ``fails`` may raise instead."""

    asynchronous = False

    def __init__(self, count=3, threads=1):
        self.count, self.threads, self.tasks, self.homes = count, threads, [], []
        self.fails = lambda task, key: None

    def as_current(self):
        return contextlib.nullcontext()

    def nthreads(self):
        return {f"worker {k}": self.threads for k in range(self.count)}

    def run(self, function):
        return {address: function() for address in self.nthreads()}

    def submit(self, task, *given, key, workers=None, allow_other_workers=False):
        def call():
            self.fails(task, key)
            for value in given:
                if isinstance(value, Done) and value.error is not None:
                    raise value.error
            return task(*(value.answer if isinstance(value, Done) else value for value in given))

        self.tasks.append(key)
        self.homes.append(workers)
        return Done(call)

    def gather(self, futures):
        for future in futures:
            if future.error is not None:
                raise future.error
        return [future.answer for future in futures]


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(on_cluster, "connected", lambda client: client)
    monkeypatch.setattr(distributed, "wait", lambda futures, timeout: None)
    return StandIn()


def problem(n=500, sigma=2.0, dtype=np.complex128):
    return ang.simulate.gaussian(n, sigma, rng=3).C.astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("hermitian", ["full", "upper", "lower"])
@pytest.mark.parametrize("chunks", [(32, 32), (50, 15)])
def test_products_and_sums_are_those_of_the_matrix(client, dtype, hermitian, chunks):
    C = problem(230, dtype=dtype)
    given = C.copy()
    if hermitian != "full":  # the other triangle is not read
        given[np.tril_indices(230, -1) if hermitian == "upper" else np.triu_indices(230, 1)] = np.nan
    operator = ang.as_operator(Slices(given, chunks), hermitian, client=client)
    assert isinstance(operator, ClusterOperator)
    wide = C.astype(np.complex128)
    x = np.random.default_rng(0).standard_normal((230, 3)) * np.exp(1j)
    scale = np.abs(wide).sum(axis=1).max()
    assert np.abs(operator.apply(x) - wide @ x).max() < 1e-13 * scale
    assert np.abs(operator.apply(x[:, 0]) - wide @ x[:, 0]).max() < 1e-13 * scale
    assert np.allclose(operator.abs_row_sums(), np.abs(wide).sum(axis=1), rtol=1e-13, atol=0)
    assert np.array_equal(operator.diagonal(), np.diagonal(wide).real)
    (probe,), (image,) = operator.probes()
    assert np.abs(image - wide @ probe).max() < 1e-13 * scale
    assert operator.component_labels().tolist() == [0] * 230
    assert not operator.is_real()
    assert operator.asymmetry() == 0
    bare = operator.without_diagonal()
    assert np.abs(bare.apply(x) - (wide - np.diag(np.diagonal(wide))) @ x).max() < 1e-13 * scale


def test_it_is_an_operator(client):
    operator = ang.as_operator(Slices(problem(100), (20, 20)), client=client)
    ang.testing.check_operator(operator)
    ang.testing.check_operator(operator.without_diagonal())


def test_the_answer_is_that_of_one_process(client):
    C = problem(900, dtype=np.complex64)
    stopping = ang.Stopping(tolerance=1e-9)
    expected = ang.synchronize(C, stopping=stopping)
    result = ang.synchronize(ang.as_operator(Slices(C, (100, 100)), client=client), stopping=stopping)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert np.abs(result.z - ang.align(expected.z, result.z)).max() < 1e-6  # z is in single precision
    assert ang.certify(ang.as_operator(Slices(C, (100, 100)), client=client), expected.z).verdict.name == "CERTIFIED"


def test_the_rounding_length_covers_the_order_of_the_sums(client):
    """Entries of one sign and one size: each addition loses up to half a unit, and the sum is known exactly."""
    n = 640
    entries = np.full((n, n), np.float64(1 / 3), dtype=np.complex128)
    np.fill_diagonal(entries, 0)
    client.count, client.threads = 5, 3
    operator = ang.as_operator(Slices(entries, (64, 64)), client=client)
    held = operator._held
    # rows 0 to 63: one block on the diagonal, 9 beside it, as rows; each run adds its own
    runs = sum(any(0 in block for block in run) for plan in held.plans for run in plan.runs)
    assert runs > 1
    assert held.side + held.count + runs <= operator.rounding_length() <= n
    y = operator.apply(np.ones(n, dtype=np.complex128))
    exact = (n - 1) * (1 / 3)
    from angsync.kernels.rounding import gamma

    assert np.abs(y - exact).max() <= gamma(operator.rounding_length()) * exact


def test_what_is_wrong_with_the_matrix_is_said(client):
    C = problem()
    C[400, 77] = np.nan
    with pytest.raises(NotFiniteError, match=r"C\[400,77\] is \(nan"):
        ang.as_operator(Slices(C, (64, 64)), client=client)
    C = problem()
    C[77, 400] += 1e-3
    with pytest.raises(NotHermitianError, match=r"C\[77,400\]"):
        ang.as_operator(Slices(C, (64, 64)), client=client)
    assert ang.as_operator(Slices(C, (64, 64)), "upper", client=client).asymmetry() == 0
    with pytest.raises(InputError, match="must be square"):
        ang.as_operator(Slices(C[:100], (64, 64)), client=client)


def test_a_chunk_that_the_store_does_not_have_is_an_error(client, tmp_path):
    array = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=(500, 500), chunks=(250, 250), dtype="c16")
    array[...] = problem()
    assert ang.as_operator(array, client=client).n == 500
    (tmp_path / "C.zarr" / "c" / "0" / "1").unlink()
    with pytest.raises(InputError, match="no chunk c/0/1"):
        ang.as_operator(array, client=client)
    assert ang.as_operator(array, "lower", client=client).n == 500


def test_what_cannot_go_to_workers_is_refused(client, tmp_path):
    with pytest.raises(InputError, match="a ndarray does not go to a cluster"):
        ang.as_operator(problem(), client=client)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "C.h5", "w") as file, pytest.raises(InputError, match="zarr store"):
        ang.as_operator(file.create_dataset("C", data=problem()), client=client)


def test_an_array_that_carries_its_data_is_refused(client, monkeypatch):
    monkeypatch.setattr(on_cluster, "_DESCRIBED_BY_BYTES", 1_000_000)
    with pytest.raises(InputError, match="carries 4 MB"):
        ang.as_operator(Slices(problem(), (64, 64)), client=client)


def test_a_client_is_a_client():
    with pytest.raises(InputError, match=r"must be a distributed\.Client, but it is a list"):
        ang.as_operator(Slices(problem(), (64, 64)), client=[])


def test_a_worker_that_does_not_see_the_files_is_found_out(client, monkeypatch):
    """Files that are not there are zeros to zarr."""
    read = pieces.Piece.read
    monkeypatch.setattr(pieces.Piece, "read", lambda *given, **settings: 0 * read(*given, **settings))
    with pytest.raises(InputError, match=r"reads other numbers than this process in row 0 of C\. Do all workers"):
        ang.as_operator(Slices(problem(), (64, 64)), client=client)


def test_a_piece_that_cost_workers_is_read_at_every_product_and_gives_the_same_bits(client):
    source = Slices(problem(), (64, 64))
    operator = ang.as_operator(source, client=client)
    x = np.exp(1j * np.arange(500.0))
    expected = operator.apply(x)
    failures = iter([True])

    def fails(task, key):
        if task is pieces.multiply and "piece-1" in key and next(failures, False):
            raise distributed.KilledWorker(key, WORKER, 3)

    client.fails = fails
    assert np.array_equal(operator.apply(x), expected)
    assert [count > 0 for count in operator.timing.bytes_read] == [False, True, False]
    assert np.array_equal(operator.apply(x), expected)


def test_workers_that_die_again_and_again_are_an_error(client):
    operator = ang.as_operator(Slices(problem(), (64, 64)), client=client)

    def fails(task, key):
        if task is pieces.load:
            raise distributed.KilledWorker(key, WORKER, 3)
        if task is pieces.multiply and "piece-1" in key:
            raise distributed.KilledWorker(key, WORKER, 3)

    client.fails = fails
    with pytest.raises(InputError, match=r"died again and again .* memory is too small"):
        operator.apply(np.ones(500))


def test_another_error_of_a_task_is_raised(client):
    operator = ang.as_operator(Slices(problem(), (64, 64)), client=client)

    def fails(task, key):
        raise OSError("the disk is gone")

    client.fails = fails
    with pytest.raises(OSError, match="the disk is gone"):
        operator.apply(np.ones(500))


def test_a_cluster_without_workers_is_waited_for_and_then_refused(client, monkeypatch):
    monkeypatch.setattr(workers, "_WAIT_FOR_WORKERS_SECONDS", 0.1)
    client.count = 0
    with pytest.raises(InputError, match="has had no worker for"):
        ang.as_operator(Slices(problem(), (64, 64)), client=client)


def test_another_version_is_refused_before_anything_is_read(client, monkeypatch):
    answers = {"worker 0": workers.version(), "worker 1": "0.0.1", "worker 2": workers.version()}
    monkeypatch.setattr(client, "run", lambda function: answers)
    source = Slices(problem(), (64, 64))
    with pytest.raises(InputError, match=r"1 of 3 workers have another version .* worker 1 \(0\.0\.1\)"):
        ang.as_operator(source, client=client)
    assert source.entries == 0


@pytest.mark.parametrize("bytes_read", [(0, 0, 0), (0, 5, 0)])
def test_pieces_that_share_a_worker_go_to_one_that_has_none(client, bytes_read):
    """After the loss of a worker: whether both fit into the memory of the other or not."""
    held = ang.as_operator(Slices(problem(230), (32, 32)), client=client)._held
    before = list(held._futures)

    def spread(*homes):
        held._spread([pieces.Share({}, 0.1, read, home) for read, home in zip(bytes_read, homes, strict=True)])
        return [k for k, (old, new) in enumerate(zip(before, held._futures, strict=True)) if new is not old]

    assert spread("worker 0", "worker 1", "worker 2") == []
    client.count = 2
    assert spread("worker 0", "worker 0", "worker 1") == []  # nobody is free
    client.count = 3
    assert spread("worker 0", "worker 0", "worker 2") == [1 if any(bytes_read) else 0]
    assert client.homes[-1] == ["worker 1"]
