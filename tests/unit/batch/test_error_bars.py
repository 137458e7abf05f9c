"""Standard errors of stacks: those of one problem after another."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch import error_bars
from angsync.batch.result import BatchResult
from angsync.batch.stack import synchronize_stack
from angsync.errors import ErrorBarWarning, InputError, ShapeError

pytestmark = pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")


def one_by_one(C, gauge, sigma=None):
    found = []
    for one in C:
        result = ang.synchronize(one.astype(complex), gauge=gauge)
        found.append(result.standard_errors(sigma))
    return np.stack(found)


@pytest.mark.filterwarnings("ignore:Standard errors.*the noise is large")  # one residual tells the noise if n is 3
@pytest.mark.parametrize("gauge", ["first", "mean", 3])
@pytest.mark.parametrize("sigma", [None, 0.4])
@pytest.mark.parametrize("n", [3, 8, 21])
def test_they_are_those_of_one_problem_after_another(n, gauge, sigma):
    """Both optima within 10 tolerances, 1e-9; the errors depend on the phases in second order but for sigma."""
    gauge = min(gauge, n - 1) if gauge == 3 else gauge
    C = gaussian_stack(n, 12, 0.15 * np.sqrt(n), seed=n)
    errors = ang.synchronize(C, gauge=gauge).standard_errors(sigma)
    np.testing.assert_allclose(errors, one_by_one(C, gauge, sigma), rtol=1e-7, atol=1e-12)
    # the gauge of the errors may be another than that of the phases
    np.testing.assert_allclose(ang.synchronize(C).standard_errors(sigma, gauge=gauge), errors, rtol=1e-7, atol=1e-12)


@pytest.mark.filterwarnings("ignore::angsync.errors.ErrorBarWarning")  # sigma is twice as large as the noise
@pytest.mark.parametrize("gauge", ["first", "mean", 4])
def test_several_pieces_and_sparse_problems(gauge):
    rng = np.random.default_rng(3)
    C = gaussian_stack(9, 30, 0.2, seed=1)
    kept = np.triu(rng.random(C.shape) < 0.45, 1)
    C = np.where(kept | kept.swapaxes(1, 2), C, 0)
    result = ang.synchronize(C, gauge=gauge, on_failure="ignore")
    assert (result.components > 1).any()
    assert (result.components == 1).any()
    np.testing.assert_allclose(result.standard_errors(0.3), one_by_one(C, gauge, 0.3), rtol=1e-7, atol=1e-12)
    dense = np.flatnonzero(np.count_nonzero(np.triu(C, 1), axis=(1, 2)) > 9)
    expected = one_by_one(C[dense], gauge)
    np.testing.assert_allclose(result[dense].standard_errors(), expected, rtol=1e-6, atol=1e-12)


def test_weights_over_many_decades():
    """Elimination without subtraction: 24 decades of weights cost no accuracy, beside the same by one problem."""
    rng = np.random.default_rng(7)
    n = 10
    z = np.exp(2j * np.pi * rng.random((20, n)))
    w = 10.0 ** rng.uniform(-12, 12, (20, n, n))
    w = np.triu(w, 1) + np.triu(w, 1).swapaxes(1, 2)
    C = w * z[:, :, None] * z[:, None, :].conj()
    result = BatchResult(
        z=z, objective=None, residual=None, iterations=None, status=np.zeros(20, np.int8), tolerance=0.0, gauge="first",
        seconds=0.0, source=ang.synchronize(C, on_failure="ignore").source,
    )  # fmt: skip
    for k in range(20):
        measured = ang.Measurements.from_matrix(C[k])
        expected = ang.uncertainty.standard_errors(
            measured, z[k], np.zeros(n, dtype=int), sigma=1.0, references=np.zeros(1, dtype=int)
        )
        np.testing.assert_allclose(result.standard_errors(1.0)[k], expected, rtol=1e-9)


def test_resistances_of_known_networks():
    path = np.diag(np.array([1.0, 4.0, 0.5]), 1)
    ring = path + np.diag([2.0], 3)
    R = error_bars.resistances(np.stack([path + path.T, ring + ring.T]))
    np.testing.assert_allclose(R[0, 0], [0, 1, 1.25, 3.25], rtol=1e-15)
    np.testing.assert_allclose(R[1, 0, 3], 1 / (2 + 1 / 3.25), rtol=1e-14)


def test_what_cannot_be_known_is_not_a_number():
    C = gaussian_stack(5, 6, 0.2)
    C[1] = np.nan
    C[2] = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)  # a path: no residuals
    C[3] = 0
    mask = np.zeros((6, 5), dtype=bool)
    mask[4, 2] = True
    result = synchronize_stack(C, mask=mask, on_failure="ignore")
    errors = result.standard_errors()
    np.testing.assert_array_equal(np.isnan(errors).any(axis=1), [False, True, True, True, True, False])
    assert np.isnan(errors[4]).tolist() == [False, False, True, False, False]
    kept = [0, 1, 3, 4]
    expected = ang.synchronize(C[4][np.ix_(kept, kept)]).standard_errors()
    np.testing.assert_allclose(errors[4, kept], expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(result.standard_errors(1.0)[2], np.sqrt([0, 1, 2, 3, 4]), rtol=1e-12)
    np.testing.assert_array_equal(result.standard_errors(1.0)[3], 0)  # as for one problem: every node its own reference
    assert result[4].standard_errors().shape == (5,)
    np.testing.assert_array_equal(result[4:].standard_errors(), errors[4:])


def test_single_precision_triangles_and_blocks(monkeypatch):
    C = gaussian_stack(6, 40, 0.3)
    expected = ang.synchronize(C).standard_errors()
    for single in (C.astype(np.complex64), C.astype(np.complex64).reshape(4, 10, 6, 6)):
        # phases within 10 tolerances of 5e-7
        found = ang.synchronize(single).standard_errors().reshape(40, 6)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-12)
    lower = ang.synchronize(np.tril(C), hermitian="lower").standard_errors()
    np.testing.assert_allclose(lower, expected, rtol=1e-7, atol=1e-12)
    monkeypatch.setattr(error_bars, "_ENTRIES_AT_ONCE", 100)
    np.testing.assert_array_equal(ang.synchronize(C).standard_errors(), expected)


def test_sigma_and_gauge_are_checked(tmp_path):
    C = gaussian_stack(4, 6, 0.1).reshape(2, 3, 4, 4)
    result = ang.synchronize(C)
    by_row = result.standard_errors(np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(by_row[1], 2 * result.standard_errors(1.0)[1])
    for sigma in (-1.0, np.inf):
        with pytest.raises(InputError, match="sigma must be finite and not negative"):
            result.standard_errors(sigma)
    with pytest.raises(ShapeError, match=r"sigma has the shape \(5,\)"):
        result.standard_errors(np.ones(5))
    for gauge in ("last", 4, True):
        with pytest.raises(InputError, match="gauge must be"):
            result.standard_errors(gauge=gauge)
    result.save(tmp_path / "r.npz")
    with pytest.raises(InputError, match="loaded from a file"):
        BatchResult.load(tmp_path / "r.npz").standard_errors()


def test_error_bars_cover():
    """Of 2000 x 8 phases in the Gaussian model at small noise, 95 % lie within 1.96 errors: for a known sigma their
    number within one problem is correlated, so take one phase a problem: 2000 draws, 0.5 %, four of them."""
    n, level = 9, 0.2
    rng = np.random.default_rng(11)
    truth = np.exp(2j * np.pi * rng.random((2000, n)))
    truth *= truth[:, :1].conj()
    W = rng.standard_normal((2000, n, n)) + 1j * rng.standard_normal((2000, n, n))
    W = np.triu(W, 1) / np.sqrt(2)
    C = truth[:, :, None] * truth[:, None, :].conj() + level * (W + W.conj().swapaxes(1, 2))
    result = ang.synchronize(C)
    off = np.abs(np.angle(result.z * truth.conj()))[:, 5]
    inside = np.mean(off < 1.96 * result.standard_errors(level / np.sqrt(2))[:, 5])
    assert abs(inside - 0.95) < 0.02


def test_noisy_problems_of_a_stack_are_counted():
    """95 % intervals hold .948, .931, .906 at 0.1, 0.3, 0.4 sqrt(n), n = 20; below .93 somebody has to say so."""
    C = np.concatenate([gaussian_stack(20, 30, level * 20**0.5, seed=5) for level in (0.1, 0.45)])
    result = ang.synchronize(C, on_failure="ignore")
    for gauge in ("first", "mean"):
        with pytest.warns(ErrorBarWarning, match="30 of 60 problems: the noise is large.* about 8[789] %") as caught:
            result.standard_errors(gauge=gauge)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    result[:30].standard_errors()
    mask = np.zeros((60, 20), dtype=bool)
    mask[:, 3] = True
    with pytest.warns(ErrorBarWarning, match="30 of 60 problems: the noise is large"):
        synchronize_stack(C, mask=mask, on_failure="ignore").standard_errors()


def coherences(n, looks, count, dtype=np.complex128):
    """Sample coherences of images whose coherence is 0.6 exp(-lag / 3)."""
    rng = np.random.default_rng(2)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    root = np.linalg.cholesky(np.where(lag == 0, 1, 0.6 * np.exp(-lag / 3)))
    x = root @ (rng.standard_normal((count, n, looks)) + 1j * rng.standard_normal((count, n, looks)))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    return (x @ x.conj().swapaxes(1, 2)).astype(dtype)


@pytest.mark.filterwarnings("ignore:Standard errors. the noise is large")  # of one problem
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_coherences_are_told_to_use_phase_linking(dtype):
    """Their entries are not independent: 95 % intervals hold 30 to 55 %."""
    C = coherences(10, 100, 40, dtype)
    C[3, 5, 6] = C[3, 6, 5] = 0
    C[7] = np.nan  # no data
    result = ang.synchronize(C, on_failure="ignore")
    for sigma in (None, 0.3):
        with pytest.warns(ErrorBarWarning, match=r"coherences.*hold 30 to 55 %.*phase_linking"):
            result.standard_errors(sigma)
    with pytest.warns(ErrorBarWarning, match="coherences.*phase_linking"):
        ang.synchronize(C[0], on_failure="ignore").standard_errors()


def test_other_unit_diagonals_are_no_coherences():
    noisy = gaussian_stack(6, 30, 0.2)
    angles = np.exp(1j * np.angle(noisy))
    triangles = gaussian_stack(3, 40, 0.05)  # of one in eight no modulus is above 1
    for C in (noisy, angles, noisy[0], angles[0], *triangles):  # pytest makes errors of warnings
        assert np.isfinite(ang.synchronize(C).standard_errors()).all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_problems_without_residuals_are_counted(dtype):
    truth = np.exp(1j * np.random.default_rng(0).uniform(-np.pi, np.pi, (3, 8)))
    C = truth[:, :, None] * truth.conj()[:, None, :]
    C[1] = gaussian_stack(8, 1, 0.3)[0]
    result = ang.synchronize(C.astype(dtype))
    with pytest.warns(ErrorBarWarning, match="2 of 3 problems have residuals of zero") as caught:
        result.standard_errors()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.standard_errors(sigma=0.1)
        result[1].standard_errors()


def test_coherences_with_a_masked_pixel_are_told():
    rng = np.random.default_rng(5)
    samples = rng.standard_normal((60, 12, 40)) + 1j * rng.standard_normal((60, 12, 40))
    samples += 2 * (rng.standard_normal((60, 1, 40)) + 1j * rng.standard_normal((60, 1, 40)))
    C = samples @ samples.conj().swapaxes(1, 2)
    scale = np.sqrt(np.einsum("kii->ki", C).real)
    C /= scale[:, :, None] * scale[:, None, :]
    C[3], C[4, 5], C[4, :, 5] = 0, 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ang.synchronize(C)
    with pytest.warns(ErrorBarWarning, match="link_covariance"):
        result.standard_errors()
