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
