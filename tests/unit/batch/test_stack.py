"""Stacks of problems: each solved as if it were alone, compiled and with NumPy."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from problems import gaussian_stack
from reference.batch import solved

import angsync as ang
from angsync import kernels
from angsync.batch import input as batch_input
from angsync.batch.result import BatchResult, BatchStatus
from angsync.batch.stack import synchronize_stack
from angsync.errors import ConvergenceError, ConvergenceWarning
from angsync.kernels.batch import reference as batch_reference

try:
    from angsync.kernels.batch import compiled as batch_compiled
except ImportError:
    batch_compiled = None

PRECISIONS = (np.complex64, np.complex128)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 17, 40])
def test_agrees_with_one_by_one(batch_solver, n, dtype):
    # sigma = 0.3 sqrt(n) / 2: well inside the range where the optimum is found by anybody
    C = gaussian_stack(n, 5, sigma=0.15 * np.sqrt(n), seed=n, dtype=dtype)
    result = ang.synchronize(C)
    assert result.z.shape == (5, n)
    assert result.z.dtype == dtype
    assert result.converged.all()
    assert result.certified.all()
    for k in range(5):
        # in double precision: the optimum itself, to far below the tolerance of single precision
        one = ang.synchronize(C[k].astype(np.complex128))
        # a residual r leaves phases within r |Cz| / lambda_2 of the optimum; |Cz| / lambda_2 is below 4 sqrt(n) here
        close = 4 * np.sqrt(n) * (2e-6 if dtype == np.complex64 else 1e-10)
        assert np.abs(result.z[k] - one.z).max() < close
        assert result.objective[k] == pytest.approx(one.objective, rel=2e-6 if dtype == np.complex64 else 1e-13)
        assert result.gap_bound[k] <= 1e-8 * one.objective
        assert 0 < result.lambda_2[k] <= np.linalg.eigvalsh(s_matrix(C[k], result.z[k]))[1] + 1e-12


def s_matrix(C, z):
    C, z = C.astype(complex), z.astype(complex)
    z = z / np.abs(z)
    return np.diag((z.conj() * (C @ z)).real) - C


@pytest.mark.skipif(batch_compiled is None, reason="not built")
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [2, 7, 20, 33])
def test_bits_do_not_depend_on_the_place(n, dtype):
    C = gaussian_stack(n, 41, sigma=0.4 * np.sqrt(n), dtype=dtype)
    whole = synchronize_stack(C, on_failure="ignore")
    order = np.random.default_rng(1).permutation(41)
    mixed = synchronize_stack(C[order], on_failure="ignore")
    for name in ("z", "objective", "residual", "iterations", "status", "gap_bound", "lambda_2"):
        np.testing.assert_array_equal(getattr(whole, name)[order], getattr(mixed, name))
    alone = synchronize_stack(C[7:8], on_failure="ignore")
    np.testing.assert_array_equal(whole.z[7], alone.z[0])


@pytest.mark.skipif(batch_compiled is None, reason="not built")
def test_bits_do_not_depend_on_the_threads(monkeypatch):
    C = gaussian_stack(20, 300, sigma=1.5)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("ANGSYNC_NUM_THREADS", threads)
        found.append(synchronize_stack(C, on_failure="ignore"))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].z, other.z)
        np.testing.assert_array_equal(found[0].lambda_2, other.lambda_2)


@pytest.mark.skipif(batch_compiled is None, reason="not built")
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("triangle", [0, 1, 2])
@pytest.mark.parametrize("n", [2, 3, 7, 8, 16, 31])
def test_compiled_does_what_numpy_does(n, triangle, dtype):
    C = gaussian_stack(n, 19, sigma=0.2 * np.sqrt(n), seed=3, dtype=dtype) + 2 * np.eye(n, dtype=dtype)
    other = np.tril if triangle == 1 else np.triu
    if triangle:
        C = np.where(other(np.ones((n, n)), -1 if triangle == 1 else 1) > 0, 7 + 3j, C).astype(dtype)
    tolerance = 1e-6 if dtype == np.complex64 else 1e-10
    options = {"max_iterations": 100, "triangle": triangle, "tolerance": tolerance}
    z, found, _ = solved(batch_compiled.solve, C, **options)
    twin, expected, _ = solved(batch_reference.solve, C, **options)
    unit = np.finfo(dtype).eps
    # the same steps, sums in another order: both within 4 n eps of the optimum times the conditioning, below 10
    assert np.abs(z - twin).max() < 40 * n * unit + 2 * tolerance
    np.testing.assert_allclose(found["objective"], expected["objective"], rtol=4 * n * unit)
    np.testing.assert_array_equal(found["status"], expected["status"])
    for name in ("rows_total", "rows_norm", "rows_most", "nodes", "trace", "skew"):
        np.testing.assert_allclose(found[name], expected[name], rtol=2 * n * unit, err_msg=name)
    np.testing.assert_allclose(found["moduli"], expected["moduli"], rtol=1e-12)
    # bounds are bounds: neither is above the true value, and both are a fair part of it
    for phases, bounds in ((z, found), (twin, expected)):
        for k in range(19):
            full = np.where(other(np.ones((n, n)), -1 if triangle == 1 else 1) > 0, 0, C[k]) if triangle else C[k]
            full = full - np.diag(np.diag(full))
            full = full + full.conj().T if triangle else full
            true = on_complement(s_matrix(full, phases[k]), phases[k])
            assert 0.1 * true < bounds["bound"][k] <= true


def on_complement(S, z):
    """The smallest eigenvalue of S over the complement of z."""
    z = z.astype(complex)
    basis = np.linalg.svd(z.conj()[None, :])[2][1:].conj().T
    return np.linalg.eigvalsh(basis.conj().T @ S @ basis)[0]


def test_not_finite_problems_are_flagged_and_alone(batch_solver):
    C = gaussian_stack(9, 20, dtype=np.complex64)
    expected = ang.synchronize(C)
    C[3, 2, 5] = C[3, 5, 2] = np.nan
    C[11, 0, 0] = np.inf
    C[12, 7, 1] = np.nan  # below the diagonal only
    with pytest.warns(ConvergenceWarning, match=r"3 of 20 problems did not converge: 3 not finite") as caught:
        result = ang.synchronize(C)
    assert len(caught) == 1
    bad = np.isin(np.arange(20), [3, 11, 12])
    assert (result.status[bad] == BatchStatus.NOT_FINITE).all()
    assert np.isnan(result.z[bad]).all()
    assert np.isnan(result.objective[bad]).all()
    assert np.isnan(result.gap_bound[bad]).all()
    assert not result.certified[bad].any()
    np.testing.assert_array_equal(result.z[~bad], expected.z[~bad])
    np.testing.assert_array_equal(result.lambda_2[~bad], expected.lambda_2[~bad])
    with pytest.raises(ConvergenceError, match="3 not finite") as failure:
        ang.synchronize(C, on_failure="raise")
    assert isinstance(failure.value.result, BatchResult)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ang.synchronize(C, on_failure="ignore")


def test_nothing_measured(batch_solver):
    C = np.zeros((3, 5, 5), dtype=complex)
    C[1] = np.eye(5)
    result = ang.synchronize(C, on_failure="ignore")
    assert (result.status == BatchStatus.EMPTY).all()
    assert not result.certified.any()
    np.testing.assert_array_equal(result.z, np.ones((3, 5)))
    np.testing.assert_array_equal(result.objective, [0, 5, 0])
    np.testing.assert_array_equal(result.gap_bound, 0)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_certificates_claim_nothing_false(batch_solver, dtype):
    """At a noise where many critical points are not optimal: certified means S >= 0, and no better point refutes it."""
    n = 6
    C = gaussian_stack(n, 60, sigma=2.0, seed=8, dtype=dtype)
    result = ang.synchronize(C, on_failure="ignore")
    best = result.objective.copy()
    for seed in range(30):
        start = np.exp(2j * np.pi * np.random.default_rng(seed).random((60, n)))
        for _ in range(200):
            w = np.einsum("kij,kj->ki", C, start) + 6 * start  # 6 is above every -lambda_min here: an ascent
            start = w / np.abs(w)
        best = np.maximum(best, np.einsum("ki,kij,kj->k", start.conj(), C, start).real)
    unit = 4 * n * np.finfo(dtype).eps * np.abs(result.objective)
    assert (best - result.objective <= result.gap_bound + unit).all()
    values = np.array([np.linalg.eigvalsh(s_matrix(c, z)) for c, z in zip(C, result.z, strict=True)])
    assert (result.lambda_2 <= values[:, 1] + 1e-12).all()
    assert (values[result.certified, 0] > -1e-6).all()
    assert 5 < np.count_nonzero(result.certified) < 60  # else the test says nothing


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_scale_does_not_matter(batch_solver, dtype, scale):
    C = gaussian_stack(6, 5, dtype=dtype)
    power = dtype(2.0 ** np.round(np.log2(scale)))
    result, scaled = ang.synchronize(C), ang.synchronize(C * power)
    np.testing.assert_array_equal(result.z, scaled.z)
    np.testing.assert_allclose(scaled.lambda_2, result.lambda_2 * float(power.real), rtol=1e-12)


def test_iteration_limit_is_reported(batch_solver):
    C = gaussian_stack(20, 4, sigma=2.0)
    with pytest.warns(ConvergenceWarning, match="4 of 4 problems did not converge: 4 stopped at the iteration limit"):
        result = ang.synchronize(C, stopping=ang.Stopping(max_iterations=1))
    assert (result.iterations == 1).all()
    assert (result.status == BatchStatus.ITERATION_LIMIT).all()


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(batch_input, "BLOCK_BYTES", 1)  # blocks of 1024, the least


def test_progress_is_told_block_by_block(small_blocks):
    told = []
    result = synchronize_stack(
        gaussian_stack(3, 2500, sigma=0.3, dtype=np.complex64), callback=lambda *numbers: told.append(numbers)
    )
    assert told == [(1024, 2500), (2048, 2500), (2500, 2500)]
    assert result.converged.all()


def assert_stopped_after(result, whole, done, shape):
    """The first ``done`` are those of a whole run, to the bit; the others say that they were not reached."""
    reached = np.zeros(whole.status.size, dtype=bool)
    reached[:done] = True
    reached = reached.reshape(shape)
    assert (result.status[~reached] == BatchStatus.INTERRUPTED).all()
    assert not result.converged[~reached].any()
    assert not result.certified[~reached].any()
    for name in ("z", "objective", "residual", "gap_bound", "relative_gap", "lambda_2"):
        np.testing.assert_array_equal(getattr(result, name)[reached], getattr(whole, name)[reached])
        assert np.isnan(getattr(result, name)[~reached]).all()
    np.testing.assert_array_equal(result.iterations[~reached], 0)


def test_a_callback_can_end_it(small_blocks):
    C = gaussian_stack(3, 2400, sigma=0.3, dtype=np.complex64).reshape(40, 60, 3, 3)
    whole = synchronize_stack(C)
    with pytest.warns(ConvergenceWarning, match="352 of 2400 problems did not converge: 352 not reached"):
        result = synchronize_stack(C, callback=lambda done, total: done >= 2000)
    assert_stopped_after(result, whole, 2048, (40, 60))


def test_ctrl_c_keeps_what_is_done(small_blocks, monkeypatch, tmp_path):
    C = gaussian_stack(4, 3000, sigma=0.3, dtype=np.complex64)
    whole = synchronize_stack(C)
    solve, calls = kernels.solve_batch, []

    def solve_and_press(*arguments, **options):
        calls.append(1)
        solve(*arguments, **options)
        if len(calls) == 3:
            raise KeyboardInterrupt  # a signal is seen some steps later, how many depends on the version of Python

    monkeypatch.setattr(kernels, "solve_batch", solve_and_press)
    result = synchronize_stack(C, on_failure="ignore")
    assert_stopped_after(result, whole, 2048, (3000,))
    assert "INTERRUPTED 952" in str(result)
    result.save(tmp_path / "part.npz")
    assert BatchResult.load(tmp_path / "part.npz").counts() == result.counts()


def test_the_rest_can_be_done_later(small_blocks):
    C = gaussian_stack(3, 2000, sigma=0.3, dtype=np.complex64)
    whole = synchronize_stack(C)
    part = synchronize_stack(C, on_failure="ignore", callback=lambda *_: True)
    rest = part.status == BatchStatus.INTERRUPTED
    np.testing.assert_array_equal(synchronize_stack(C[rest]).z, whole.z[rest])


@pytest.mark.skipif(not kernels.COMPILED, reason="NumPy needs a dozen copies of a block")
@pytest.mark.parametrize("layout", ["as it is", "every second", "other axes first"])
def test_a_memory_map_streams_in_bounded_memory(tmp_path, monkeypatch, layout):
    """What is allocated beyond the answer does not grow with the stack: a few blocks of it."""
    monkeypatch.setattr(batch_input, "BLOCK_BYTES", 1 << 18)
    n, count = 8, 24_000
    path = tmp_path / "stack.npy"
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.complex64, shape=(4, count // 4, n, n))
    for k in range(4):
        mapped[k] = gaussian_stack(n, count // 4, seed=k, sigma=0.3, dtype=np.complex64)
    mapped.flush()
    stack = np.load(path, mmap_mode="r")
    if layout == "every second":
        stack = stack[:, ::2]
    if layout == "other axes first":
        stack = stack.swapaxes(0, 1)
    synchronize_stack(stack[:1, :600])  # what is loaded once is loaded
    tracemalloc.start()
    result = synchronize_stack(stack)
    answer, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.converged.all()
    # a block of 1024 problems: 0.5 MB as it is copied, twice for index arrays and the certificates' own arrays
    assert peak - answer < 6 * 1024 * (n * n * 8 + 16 * 8)
    assert stack.nbytes > 1.5 * 6 * 1024 * (n * n * 8 + 16 * 8)
    spot = np.asarray(stack[2, 3:5])
    np.testing.assert_array_equal(result.z[2, 3:5], synchronize_stack(spot).z)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_light_rows_are_finished_too(batch_solver, dtype):
    """Weights d_j d_l over 24 decades, no noise: every phase is that of the truth, not only those that the objective
    sees. Both residuals are met to the tolerance, 5e-7 and 1e-10, and |Cz| / lambda_2 is below n = 20 row by row."""
    rng = np.random.default_rng(7)
    n, count = 20, 40
    truth = np.exp(2j * np.pi * rng.random((count, n)))
    truth *= truth[:, :1].conj()
    d = 10.0 ** rng.uniform(-6, 6, (count, n))
    C = (d[:, :, None] * d[:, None, :] * truth[:, :, None] * truth[:, None, :].conj()).astype(dtype)
    result = ang.synchronize(C, on_failure="ignore")
    assert result.converged.all()
    assert np.abs(result.z - truth).max() < (2e-5 if dtype == np.complex64 else 4e-9)
    # a problem beside them whose rows are alike does not notice
    even = gaussian_stack(n, 8, 0.2).astype(dtype)
    together = ang.synchronize(np.concatenate([even, C]), on_failure="ignore")
    np.testing.assert_array_equal(together.z[:8], ang.synchronize(even).z)
    np.testing.assert_array_equal(together.iterations[:8], ang.synchronize(even).iterations)
