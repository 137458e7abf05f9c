"""The maximum-likelihood objective of radar interferometry, with its shift."""

from __future__ import annotations

import numpy as np
import pytest
from problems import coherence
from reference.batch import KERNELS

import angsync as ang
from angsync.batch.emi import emi_matrix
from angsync.batch.result import BatchStatus
from angsync.errors import AngsyncWarning, ConvergenceWarning, InputError, ShapeError
from angsync.kernels.batch import emi_reference
from angsync.kernels.batch.numbers import MAX_ORDER

PRECISIONS = (np.complex64, np.complex128)


def ascended(matrix, z, shift, steps):
    """Steps of the power method with this shift: z, its objective, and the largest turn of the last step."""
    for _ in range(steps):
        w = np.einsum("kij,kj->ki", matrix, z) + shift[:, None] * z
        turn = np.abs(w / np.abs(w) - z).max(axis=1)
        z = w / np.abs(w)
    return np.einsum("ki,kij,kj->k", z.conj(), matrix, z).real, turn


@pytest.fixture(scope="module")
def ascents():
    """Problems, the maxima of 30 ascents from random points and one from the eigenvector, each with the right shift,
    lambda_max(|Gamma|^-1 o C): with it C + shift is positive semidefinite, so that every step ascends. And where the
    one from the eigenvector ends without the shift, with its last turn."""
    C = coherence(7, 40, looks=30)
    matrix = emi_matrix(C)
    shift = np.linalg.eigvalsh(-matrix)[:, -1]
    rng = np.random.default_rng(1)
    starts = [np.exp(2j * np.pi * rng.random((40, 7))) for _ in range(30)]
    vectors = np.linalg.eigh(-matrix)[1][:, :, 0]
    starts.append(vectors / np.abs(vectors))
    reached = np.array([ascended(matrix, z, shift, 1500)[0] for z in starts])
    return matrix, reached.max(axis=0), *ascended(matrix, starts[-1], 0 * shift, 1500)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_emi_ends_at_the_maximum(batch_solver, dtype, ascents):
    matrix, best, wrong, turn = ascents
    result = ang.synchronize(matrix.astype(dtype))
    assert result.converged.all()
    # single precision rounds the entries, which are far larger than the objective: n^2 eps of the largest of them
    grain = 49 * np.finfo(dtype).eps * np.abs(matrix).max(axis=(1, 2)) + 1e-9 * np.abs(best)
    assert (result.objective >= best - grain)[result.certified].all()
    assert (result.objective >= best - grain).mean() >= 0.95
    assert result.certified.mean() > 0.9
    # without the shift the same iteration ends elsewhere, or nowhere: this is what would be reported then
    assert ((wrong < best - 0.01 * np.abs(best)) | (turn > 0.1)).all()


@pytest.mark.filterwarnings("ignore:.*not positive definite")
def test_emi_finds_its_shift_before_the_first_phases(batch_solver):
    """Of 14 looks of 12 dates: the most negative eigenvalues are hundreds of times the objective. The safeguard alone,
    which doubles a shift at every refusal, takes 14 iterations on average here; the shift of the power steps 5."""
    matrix = emi_matrix(coherence(12, 60, looks=14, floor=0.3, decay=8.0))
    result = ang.synchronize(matrix)
    assert result.converged.all()
    assert result.certified.mean() > 0.9
    assert result.iterations.mean() < 8


def test_emi_of_a_singular_coherence_is_flagged_and_alone(batch_solver):
    C = coherence(5, 6, looks=40)
    expected = ang.synchronize(emi_matrix(C))
    C[1] = 1  # exactly singular
    C[4] = np.where(np.eye(5), 1, 1 - 2.0**-50)  # a condition number of 5e15: singular but for rounding
    matrix = emi_matrix(C)
    bad = np.isin(np.arange(6), [1, 4])
    np.testing.assert_array_equal(np.isnan(matrix).all(axis=(1, 2)), bad)
    with pytest.warns(ConvergenceWarning, match="2 not finite"):
        result = ang.synchronize(matrix)
    assert (result.status[bad] == BatchStatus.NOT_FINITE).all()
    np.testing.assert_array_equal(result.z[~bad], expected.z[~bad])
    np.testing.assert_array_equal(result.gap_bound[~bad], expected.gap_bound[~bad])
    with pytest.raises(ShapeError, match="shape of C"):
        emi_matrix(C, coherence=np.abs(C[0]))
    with pytest.raises(InputError, match="must be real"):
        emi_matrix(C, coherence=C)


def test_emi_in_single_precision_is_flagged_by_its_own_rounding():
    """A condition number of 3e6 is beyond single precision, and well within double."""
    C = np.where(np.eye(3), 1, 1 - 1e-6)[None].astype(complex)
    assert np.isfinite(emi_matrix(C)).all()
    assert np.isnan(emi_matrix(C.astype(np.complex64))).all()


def made_by(kernel, C, coherence=None, beta=0.0, limit=4.5e14):
    out, state = np.empty_like(C), np.empty(len(C), np.int8)
    kernel(C, coherence, np.full(len(C), float(beta)), limit, out, state)
    return out, state


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 21, 50])
def test_compiled_does_what_numpy_does(name, n, dtype):
    C = coherence(n, 21, looks=3 * n + 5, seed=n).astype(dtype)
    C[3] = 1  # singular, but for n = 1
    C[5] = np.nan
    if n > 2:
        C[7] = np.where(np.eye(n), 0.1, 0.9)  # not positive definite
    real = np.abs(C).astype(np.float32 if n == 8 else np.float64)
    for given, beta in ((None, 0.0), (real, 0.0), (None, 0.2)):
        out, state = made_by(KERNELS[name].emi, C, given, beta)
        twin, expected = made_by(emi_reference.emi, C, given, beta)
        np.testing.assert_array_equal(state, expected)
        # both inverses are good to n eps times the condition number, which is below 1e6 here
        size = np.abs(np.nan_to_num(twin)).max(axis=(1, 2), keepdims=True)
        eps = np.finfo(np.float32).eps if dtype == np.complex64 else 1e-10
        np.testing.assert_array_equal(np.isnan(out), np.isnan(twin))
        assert (np.nan_to_num(np.abs(out - twin)) <= 4 * eps * size).all()


def test_beta_mixes_in_the_identity():
    C = coherence(6, 5, looks=40)
    mixed = 0.9 * np.abs(C) + 0.1 * np.eye(6)
    expected = -np.linalg.inv(mixed) * C
    np.testing.assert_allclose(emi_matrix(C, beta=0.1), expected, rtol=1e-10)
    np.testing.assert_allclose(emi_matrix(C, np.abs(C), beta=0.1), expected, rtol=1e-10)
    np.testing.assert_allclose(emi_matrix(C, beta=1.0), -np.eye(6) * C, atol=1e-15)
    assert np.isfinite(emi_matrix(np.ones((1, 4, 4)), beta=0.05)).all()  # singular without it


def test_every_problem_may_have_its_own_beta():
    C = np.array([np.eye(3) + 0.3, np.eye(3) + 0.1], dtype=complex)
    both = emi_matrix(C, beta=[0.1, 0.4])
    for k, beta in enumerate((0.1, 0.4)):
        np.testing.assert_array_equal(both[k], emi_matrix(C[k], beta=beta))
    with pytest.raises(ShapeError, match="beta has the shape"):
        emi_matrix(C, beta=[0.1, 0.2, 0.3])
    for beta in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="beta must be between 0 and 1"):
            emi_matrix(C, beta=beta)


def test_what_is_no_covariance_is_said_with_counts():
    C = coherence(5, 6, looks=40)
    C[2] = np.where(np.eye(5), 0.1, 0.9)
    with pytest.warns(AngsyncWarning, match="in 1 of 6 problems .Gamma. is not positive definite") as seen:
        matrix = emi_matrix(C)
    assert seen[0].filename == __file__
    assert np.isfinite(matrix).all()  # inverted all the same
    emi_matrix(C, beta=0.9)


def test_too_few_looks_are_said():
    C = coherence(5, 6, looks=40)
    with pytest.warns(AngsyncWarning, match="5 dates from 4 looks"):
        emi_matrix(C, looks=4)
    emi_matrix(C, looks=4, beta=0.05)
    emi_matrix(C, looks=5)
    with pytest.raises(InputError, match="looks must be a positive number"):
        emi_matrix(C, looks=0)


def test_wrong_matrices_get_one_message():
    C = coherence(5, 6, looks=40)
    real = np.abs(C)
    real[3, 0, 4] += 0.5
    with pytest.raises(InputError, match=r"coherence must be symmetric, but that of problem \(1, 0\) is not"):
        emi_matrix(C.reshape(2, 3, 5, 5), real.reshape(2, 3, 5, 5))
    with pytest.raises(InputError, match="some entries are masked"):
        emi_matrix(np.ma.masked_array(C, mask=np.abs(C) < 0.5))
    np.testing.assert_array_equal(emi_matrix(np.ma.masked_array(C)), emi_matrix(C))
    assert emi_matrix(np.empty((0, 4, 4), complex)).shape == (0, 4, 4)
    assert emi_matrix(C[0]).shape == (5, 5)
    wide = coherence(MAX_ORDER + 1, 2, looks=800)
    np.testing.assert_allclose(emi_matrix(wide), -np.linalg.inv(np.abs(wide)) * wide, rtol=1e-8)
