"""Stacks on their way in: layouts, blocks, triangles, weights, masks, and whether they are Hermitian."""

from __future__ import annotations

import numpy as np
import pytest
from problems import coherence, gaussian_stack

import angsync as ang
from angsync.batch import input as batch_input
from angsync.batch.stack import synchronize_stack
from angsync.errors import NotHermitianError


def test_layouts(batch_solver, tmp_path):
    C = gaussian_stack(5, 24).reshape(2, 3, 4, 5, 5)
    expected = ang.synchronize(C)
    C.flags.writeable = False
    np.testing.assert_array_equal(ang.synchronize(C).z, expected.z)
    turned = np.ascontiguousarray(C.transpose(1, 0, 2, 4, 3)).transpose(1, 0, 2, 4, 3)
    np.testing.assert_array_equal(ang.synchronize(turned).z, expected.z)
    np.save(tmp_path / "stack.npy", C)
    mapped = np.load(tmp_path / "stack.npy", mmap_mode="r")
    np.testing.assert_array_equal(ang.synchronize(mapped[:, ::2]).z, expected.z[:, ::2])


def test_blocks_are_one_stream(batch_solver, monkeypatch):
    C = gaussian_stack(4, 3000, sigma=0.3)
    expected = ang.synchronize(C)
    monkeypatch.setattr(batch_input, "BLOCK_BYTES", 1)  # blocks of 1024
    np.testing.assert_array_equal(ang.synchronize(C).z, expected.z)


def test_hermitian_is_checked(batch_solver):
    C = gaussian_stack(10, 8)
    wrong = C.copy()
    wrong[5, 2, 7] += 1e-3
    with pytest.raises(NotHermitianError, match=r"problem \(5,\), \|C\[2,7\]"):
        ang.synchronize(wrong)
    with pytest.raises(NotHermitianError, match=r"problem \(1, 1\)"):
        ang.synchronize(wrong.reshape(2, 4, 10, 10))
    lower = [ang.synchronize(stack, hermitian="lower").z[5] for stack in (wrong, C)]
    np.testing.assert_array_equal(*lower)
    wrong = C.astype(np.complex64)
    wrong[6, 4, 4] += 0.1j
    for hermitian in ("full", "upper", "lower"):
        with pytest.raises(NotHermitianError, match=r"problem \(6,\), \|C\[4,4\]"):
            ang.synchronize(wrong, hermitian=hermitian)


def test_triangles(batch_solver):
    C = gaussian_stack(9, 5)
    expected = ang.synchronize(C).z
    assert np.abs(ang.synchronize(np.triu(C), hermitian="upper").z - expected).max() < 1e-9
    assert np.abs(ang.synchronize(np.tril(C), hermitian="lower").z - expected).max() < 1e-9


PRECISIONS = (np.complex64, np.complex128)


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


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_the_limit_of_asymmetry_is_relative_to_the_entries_compared(batch_solver, dtype):
    """A large entry elsewhere excuses nothing, and stack and single problem agree."""
    C = np.ones((2, 5, 5), dtype=dtype)
    C[1, 3, 4] = C[1, 4, 3] = 1e6
    C[1, 2, 1] = -1
    with pytest.raises(NotHermitianError, match=r"problem \(1,\), \|C\[1,2\] - conj\(C\[2,1\]\)\| = 2.00e\+00"):
        ang.synchronize(C)
    C[1, 2, 1] = 0  # in one triangle only
    with pytest.raises(NotHermitianError, match=r"problem \(1,\)"):
        ang.synchronize(C)
    assert ang.synchronize(C, hermitian="upper").certified.all()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_rounding_of_a_computed_matrix_is_let_pass_and_counts_in_the_gap(batch_solver, dtype):
    """The upper triangle is the problem; what f of the other could be more is in the gap."""
    rng = np.random.default_rng(1)
    eps = np.finfo(dtype).eps
    C = gaussian_stack(6, 20, 0.2).astype(dtype)
    exact = ang.synchronize(C)
    skew = C * (1 + 100 * eps * rng.standard_normal(C.shape)).astype(C.real.dtype)
    upper = np.triu(np.ones((6, 6), dtype=bool))
    askew = np.where(upper, C, skew)
    result = ang.synchronize(askew)
    np.testing.assert_array_equal(result.z, exact.z)
    assert result.certified.all()
    differ = np.abs(np.where(upper, 0, askew - C)).sum(axis=(1, 2))
    assert (result.gap_bound >= exact.gap_bound + 2 * differ).all()
    assert (result.gap_bound <= exact.gap_bound + 3 * differ).all()  # |re| + |im| is at most sqrt(2) times the modulus
    # a Gram matrix: an entry that is 0 but for the rounding of its large rows
    gram = np.eye(3, dtype=dtype) + np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=dtype)
    gram[0, 2] += 50 * eps
    assert ang.synchronize(gram[None]).converged.all()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_what_a_masked_array_hides_is_absent(batch_solver, dtype):
    C = gaussian_stack(6, 5, 0.2).astype(dtype)
    hidden = np.zeros(C.shape, dtype=bool)
    hidden[0, 1, 4] = hidden[1, 4, 1] = True  # in either triangle
    hidden[2, 3] = True  # a whole row: the node is left out
    hidden[3, 2, :2] = hidden[3, 2, 3:] = True  # all but its diagonal: a node without measurements
    data = np.where(hidden, np.nan, C).astype(dtype)
    zero = C.copy()
    zero[[0, 0, 1, 1], [1, 4, 1, 4], [4, 1, 4, 1]] = 0
    zero[3, 2, :2] = zero[3, 2, 3:] = zero[3, :2, 2] = zero[3, 3:, 2] = 0
    mask = np.zeros((5, 6), dtype=bool)
    mask[2, 3] = True
    expected = synchronize_stack(zero, mask=mask, on_failure="ignore")
    result = ang.synchronize(np.ma.masked_array(data, mask=hidden), on_failure="ignore")
    for name in ("z", "objective", "status", "components", "gap_bound"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), err_msg=name)
    assert result.components.tolist() == [1, 1, 1, 2, 1]
    assert type(result.z) is np.ndarray
    np.testing.assert_array_equal(ang.synchronize(np.ma.masked_array(C)).z, ang.synchronize(C).z)  # nothing masked
    # one triangle is read: what is hidden in the other one does not count
    upper = ang.synchronize(np.ma.masked_array(C, mask=np.tril(np.ones((6, 6), bool), -1) & np.ones((5, 1, 1), bool)),
                            hermitian="upper")  # fmt: skip
    np.testing.assert_array_equal(upper.z, ang.synchronize(C, hermitian="upper").z)


def test_masked_weights_are_absent_too(batch_solver):
    C = gaussian_stack(5, 3, 0.2)
    weights = np.ones((5, 5))
    weights[0, 4] = weights[4, 0] = 0
    hidden = np.ma.masked_array(np.where(weights == 0, 7.0, 1.0), mask=np.triu(weights == 0))
    np.testing.assert_array_equal(synchronize_stack(C, weights=hidden).z, synchronize_stack(C, weights=weights).z)


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("tolerance", [None, 0.0])
def test_the_residual_is_a_number_and_never_a_floor(batch_solver, dtype, tolerance, certify):
    """Recomputed in double precision from the phases returned."""
    C = gaussian_stack(8, 60, 0.3, seed=5).astype(dtype)
    stopping = ang.Stopping(tolerance=tolerance, max_iterations=100)
    result = ang.synchronize(C, stopping=stopping, certify=certify, on_failure="ignore")
    wide, z = C.astype(complex), result.z.astype(complex)
    wide = wide - np.einsum("kij,ij->kij", wide, np.eye(8))
    w = np.matmul(wide, z[:, :, None])[:, :, 0]
    true = np.linalg.norm((z.conj() * w).imag, axis=1) / np.linalg.norm(w, axis=1)
    assert (result.residual > 0).all()
    # n products of eps each beside the number itself
    floor = 8 * np.finfo(dtype if not certify else complex).eps
    assert (result.residual <= 2 * true + floor).all()
    assert (true <= 2 * result.residual + floor).all()
