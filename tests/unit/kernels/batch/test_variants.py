"""What radar interferometry asks of a batch: weights, masks, and the maximum-likelihood objective with its shift."""

from __future__ import annotations

import numpy as np
import pytest
from problems import coherence

import angsync as ang
from angsync.batch.emi import emi_matrix
from angsync.batch.result import BatchStatus
from angsync.batch.stack import synchronize_stack
from angsync.errors import ConvergenceWarning, InputError, ShapeError

try:
    from angsync.kernels.batch import compiled as batch_compiled
except ImportError:
    batch_compiled = None

PRECISIONS = (np.complex64, np.complex128)


def test_single_precision_is_enough_for_a_proof(batch_solver):
    """The gap is e^2 / lambda_2, with a lambda_2 that is a quarter of the true one: at a residual of 1e-6, four of
    these 64 problems would stay UNDECIDED."""
    C = coherence(60, 64, looks=240, floor=0.3, decay=18.0).astype(np.complex64)
    assert ang.synchronize(C).certified.all()


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


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_mask_leaves_nodes_out(batch_solver, dtype):
    """As if the masked rows and columns were not there, by the way through one problem."""
    C = coherence(8, 6, looks=60, seed=2).astype(dtype)
    C[2, 1] = C[2, :, 1] = np.nan
    mask = np.zeros((6, 8), dtype=bool)
    mask[2, [1, 7]] = mask[4, 0] = True
    result = synchronize_stack(C, mask=mask)
    assert result.converged.all()
    assert result.certified.all()
    np.testing.assert_array_equal(np.isnan(result.z), mask)
    for k in range(6):
        kept = ~mask[k]
        one = ang.synchronize(C[k][np.ix_(kept, kept)].astype(complex))
        # both within |Cz| / lambda_2 < 10 tolerances of the optimum
        assert np.abs(result.z[k, kept] - one.z).max() < (2e-5 if dtype == np.complex64 else 2e-9)
        trace = np.trace(np.nan_to_num(C[k] * np.outer(kept, kept))).real
        bare = one.objective - np.trace(C[k][np.ix_(kept, kept)]).real
        assert result.objective[k] - trace == pytest.approx(bare, rel=1e-5 if dtype == np.complex64 else 1e-12)


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_weights_multiply(batch_solver, dtype):
    C = coherence(7, 4, looks=60).astype(dtype)
    w = np.random.default_rng(5).random((4, 7, 7))
    w = (w + w.swapaxes(1, 2)).astype(C.real.dtype)
    result = synchronize_stack(C, weights=w)
    np.testing.assert_array_equal(result.z, synchronize_stack(w * C).z)
    np.testing.assert_array_equal(synchronize_stack(C, weights=w[0]).z, synchronize_stack(w[0] * C).z)
    for k in range(4):
        one = ang.synchronize((w[k] * C[k]).astype(complex))
        assert np.abs(result.z[k] - one.z).max() < (2e-5 if dtype == np.complex64 else 2e-9)
        assert result.objective[k] == pytest.approx(one.objective, rel=1e-5 if dtype == np.complex64 else 1e-12)
        S = np.diag((one.z.conj() * ((w[k] * C[k]) @ one.z)).real) - w[k] * C[k]
        # z of single precision is not quite that of the other way: S differs by the residual, 1e-6 of |C|
        assert 0 < result.lambda_2[k] <= np.linalg.eigvalsh(S)[1] + (1e-4 if dtype == np.complex64 else 1e-8)
