"""One matrix on a cluster: the same answer, whatever happens to the workers.

With workers that are threads; with real processes in ``test_on_cluster_processes.py``.
"""

from __future__ import annotations

import threading
import types

import numpy as np
import pytest
from stored import Slices

import angsync as ang
from angsync.errors import InputError, NotFiniteError, NotHermitianError
from angsync.problem import workers
from angsync.problem.operators import on_cluster
from angsync.problem.operators.first_read import Triangle
from angsync.problem.operators.on_cluster import ClusterOperator

distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def threads():
    """Three workers that are threads of this process: what they share can be replaced in a test."""
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(threads):
    threads.wait_for_workers(3, timeout=60)
    return threads


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
    C = problem(400, dtype=np.complex64)
    stopping = ang.Stopping(tolerance=1e-9)
    expected = ang.synchronize(C, stopping=stopping)
    result = ang.synchronize(ang.as_operator(Slices(C, (100, 100)), client=client), stopping=stopping)
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert np.abs(result.z - ang.align(expected.z, result.z)).max() < 1e-6  # z is in single precision


def test_the_rounding_length_covers_the_order_of_the_sums(client):
    """Entries of one sign and one size: each addition loses up to half a unit, and the sum is known exactly."""
    n = 640
    entries = np.full((n, n), np.float64(1 / 3), dtype=np.complex128)
    np.fill_diagonal(entries, 0)
    operator = ang.as_operator(Slices(entries, (64, 64)), client=client)
    grid = operator._grid
    assert grid.count > 2  # an entry is a sum of so many blocks
    assert grid.side + grid.count <= operator.rounding_length() <= n
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
    """Files that are not there may be zeros to zarr."""
    part = Triangle.part

    def of_worker(triangle, *given, **settings):
        return part(triangle, *given, **settings) * (threading.current_thread() is threading.main_thread())

    monkeypatch.setattr(Triangle, "part", of_worker)
    with pytest.raises(InputError, match="reads other numbers"):
        ang.as_operator(Slices(problem(), (64, 64)), client=client)


def test_workers_that_die_again_and_again_are_an_error(client, monkeypatch):
    operator = ang.as_operator(Slices(problem(), (64, 64)), client=client)

    def killed(futures):
        worker = types.SimpleNamespace(address="tcp://127.0.0.1:1")
        raise distributed.KilledWorker("multiply", worker, 3)

    monkeypatch.setattr(client, "gather", killed)
    with pytest.raises(InputError, match="memory"):
        operator.apply(np.ones(500))


def test_another_error_of_a_task_is_raised(client, monkeypatch):
    operator = ang.as_operator(Slices(problem(), (64, 64)), client=client)

    def gone(*given):
        raise OSError("the disk is gone")

    monkeypatch.setattr(on_cluster, "multiply", gone)
    with pytest.raises(OSError, match="the disk is gone"):
        operator.apply(np.ones(500))


def test_a_cluster_without_workers_is_waited_for_and_then_refused(monkeypatch):
    monkeypatch.setattr(workers, "_WAIT_FOR_WORKERS_SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(InputError, match="no worker"),
    ):
        ang.as_operator(Slices(problem(), (64, 64)), client=client)


def test_another_version_is_refused_before_anything_is_read(client, monkeypatch):
    answers = {"worker 0": workers.version(), "worker 1": "0.0.1", "worker 2": workers.version()}
    monkeypatch.setattr(client, "run", lambda function: answers)
    source = Slices(problem(), (64, 64))
    with pytest.raises(InputError, match=r"worker 1 \(0\.0\.1\)"):
        ang.as_operator(source, client=client)
    assert source.entries == 0


@pytest.mark.parametrize(
    ("n", "chunks", "threads", "limit", "side"),
    [
        (20_000, (1000, 1000), 2, 4e9, 5000),
        (20_000, (1000, 1000), 2, 1e9, 3000),  # 8 x 2795^2 bytes are a sixteenth of it
        (20_000, (20, 20_000), 2, 4e9, 5000),  # rows: no whole chunks
        (600, (50, 50), 2, 4e9, 150),
        (100, (1, 1), 64, 4e9, 32),
    ],
)
def test_blocks_are_whole_chunks_and_small_for_a_worker(n, chunks, threads, limit, side):
    stored = types.SimpleNamespace(dtype=np.dtype(np.complex64), chunks=chunks, shape=(n, n))
    assert on_cluster._side(Triangle(stored), threads, int(limit)) == side
    with pytest.raises(InputError, match="memory"):
        on_cluster._side(Triangle(stored), threads, 100_000_000)
