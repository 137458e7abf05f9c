"""The maximum-likelihood objective of radar interferometry, with its shift."""

from __future__ import annotations

import numpy as np
import pytest
from problems import coherence

import angsync as ang
from angsync.batch.emi import emi_matrix
from angsync.batch.result import BatchStatus
from angsync.errors import ConvergenceWarning, InputError, ShapeError

PRECISIONS = (np.complex64, np.complex128)


def ascended(matrix, z, shift, steps):
    """Steps of the power method with this shift: z, its objective, and the largest turn of the last step."""
    for _ in range(steps):
        w = np.einsum("kij,kj->ki", matrix, z) + shift[:, None] * z
        turn = np.abs(w / np.abs(w) - z).max(axis=1)
        z = w / np.abs(w)
    return np.einsum("ki,kij,kj->k", z.conj(), matrix, z).real, turn


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_emi_ends_at_the_maximum(batch_solver, dtype):
    """The maximum of 30 ascents from random points and one from the eigenvector, each with the right shift,
    lambda_max(|Gamma|^-1 o C): with it C + shift is positive semidefinite, so that every step ascends."""
    C = coherence(7, 40, looks=30)
    matrix = emi_matrix(C)
    shift = np.linalg.eigvalsh(-matrix)[:, -1]
    rng = np.random.default_rng(1)
    starts = [np.exp(2j * np.pi * rng.random((40, 7))) for _ in range(30)]
    vectors = np.linalg.eigh(-matrix)[1][:, :, 0]
    starts.append(vectors / np.abs(vectors))
    reached = np.array([ascended(matrix, z, shift, 1500)[0] for z in starts])
    best = reached.max(axis=0)
    result = ang.synchronize(matrix.astype(dtype))
    assert result.converged.all()
    # single precision rounds the entries, which are far larger than the objective: n^2 eps of the largest of them
    grain = 49 * np.finfo(dtype).eps * np.abs(matrix).max(axis=(1, 2)) + 1e-9 * np.abs(best)
    assert (result.objective >= best - grain)[result.certified].all()
    assert (result.objective >= best - grain).mean() >= 0.95
    assert result.certified.mean() > 0.9
    # without the shift the same iteration ends elsewhere, or nowhere: this is what would be reported then
    wrong, turn = ascended(matrix, starts[-1], 0 * shift, 1500)
    assert ((wrong < best - 0.01 * np.abs(best)) | (turn > 0.1)).all()


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
