"""One matrix on a cluster of real processes, which are killed, too small, elsewhere, or of another version."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError
from angsync.solvers.stopping import Status

distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


@pytest.fixture
def processes(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    n = 3000
    C = ang.simulate.gaussian(n, 0.3 * np.sqrt(n), rng=5).C.astype(np.complex64)
    made = zarr.open_array(
        str(tmp_path_factory.mktemp("store") / "C.zarr"), mode="w", shape=C.shape, chunks=(300, 300), dtype=C.dtype
    )
    made[:] = C
    return made


TIGHT = ang.Stopping(tolerance=1e-9)


@pytest.mark.slow
def test_two_processes_give_the_answer_of_one_with_as_many_products(processes, store):
    expected = ang.synchronize(store, stopping=TIGHT)
    result = ang.synchronize(ang.as_operator(store, client=processes), stopping=TIGHT)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.matvecs <= expected.matvecs + 2


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_product_changes_no_bit(processes, store):
    operator = ang.as_operator(store, client=processes)
    expected = ang.synchronize(operator)
    calls, apply = iter(range(1000)), operator.apply

    def watched(z):
        if next(calls) == 3:
            victim = next(iter(processes.run(os.getpid).values()))
            threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
        return apply(z)

    operator.apply = watched
    result = ang.synchronize(operator)
    assert np.array_equal(result.z, expected.z)
    assert result.objective == expected.objective
    assert result.certificate.gap_bound == expected.certificate.gap_bound


@pytest.mark.slow
def test_a_store_that_was_changed_is_noticed_when_blocks_are_read_again(processes, tmp_path):
    C = ang.simulate.gaussian(600, 2.0, rng=3).C
    made = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=C.shape, chunks=(50, 50), dtype=C.dtype)
    made[:] = C
    operator = ang.as_operator(made, client=processes)
    made[:] = 2 * C
    assert np.allclose(operator.apply(np.ones(600)), C.sum(axis=1))  # workers keep what they read
    os.kill(next(iter(processes.run(os.getpid).values())), signal.SIGKILL)
    with pytest.raises(InputError, match="changed"):
        operator.apply(np.ones(600))


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused_when_it_comes_later(processes, store):
    operator = ang.as_operator(store, client=processes)

    def pretend(is_other):
        from angsync.problem import workers

        if is_other:
            workers.kept, workers.version = workers.version, lambda: "0.0.1"
        else:
            workers.version = workers.kept

    processes.run(pretend, True)
    try:
        with pytest.raises(InputError, match=r"has angsync 0\.0\.1, the client"):
            operator.apply(np.ones(3000))
    finally:
        processes.run(pretend, False)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "is_refused"), [("400MB", False), ("155MB", True)])
def test_a_worker_with_little_memory_moves_blocks_to_disk_or_is_refused(tmp_path, limit, is_refused):
    n = 7000  # 200 MB of one triangle, in addition to about 150 MB of the worker itself
    C = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32).astype(np.complex64)
    made = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=C.shape, chunks=(700, 700), dtype=C.dtype)
    made[:] = C
    x = np.exp(1j * np.arange(float(n)))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit=limit, dashboard_address=None, host="127.0.0.1"
        ) as small,
        distributed.Client(small) as client,
    ):
        if is_refused:
            with pytest.raises(InputError, match="memory"):
                ang.as_operator(made, "upper", client=client)
            return
        y = ang.as_operator(made, "upper", client=client).apply(x)
    upper = np.triu(C, 1)
    expected = upper.astype(np.complex128) @ x
    expected += np.conj(np.conj(x) @ upper) + np.diagonal(C).real * x
    assert np.abs(y - expected).max() < 1e-12 * np.abs(C).sum()


@pytest.mark.slow
def test_workers_elsewhere_with_a_relative_path_are_found_out(processes, store, tmp_path, monkeypatch):
    monkeypatch.chdir(os.path.dirname(str(store.store.root)))
    relative = zarr.open_array("C.zarr", mode="r")
    before = os.getcwd()
    processes.run(os.chdir, str(tmp_path))
    try:
        with pytest.raises(InputError, match="path"):
            ang.as_operator(relative, client=processes)
    finally:
        processes.run(os.chdir, before)


@pytest.mark.slow
def test_a_time_limit_and_an_interruption_keep_the_best_so_far(processes, store):
    operator = ang.as_operator(store, client=processes)
    begin = time.monotonic()
    with pytest.warns(ang.errors.ConvergenceWarning):
        result = ang.synchronize(operator, stopping=ang.Stopping(tolerance=1e-12, max_seconds=0.1))
    assert result.status is Status.TIME_LIMIT
    assert time.monotonic() - begin < 30
    calls, apply = iter(range(1000)), operator.apply

    def interrupted(z):
        if next(calls) == 4:
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        return apply(z)

    operator.apply = interrupted
    result = ang.synchronize(operator, stopping=ang.Stopping(tolerance=1e-12), on_failure="ignore")
    assert result.status is Status.INTERRUPTED
    assert np.abs(np.abs(result.z) - 1).max() < 1e-6
    assert np.isfinite(apply(result.z)).all()  # the cluster is as good as before
