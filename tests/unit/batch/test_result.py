"""The result of a stack: its axes, its words, its file."""

from __future__ import annotations

import numpy as np
from problems import gaussian_stack

import angsync as ang
from angsync.batch.result import BatchResult


def test_leading_axes_and_indexing(batch_solver):
    C = gaussian_stack(6, 12).reshape(3, 4, 6, 6)
    result = ang.synchronize(C, gauge="mean")
    assert result.shape == (3, 4)
    assert result.z.shape == result.angles.shape == (3, 4, 6)
    total = result.z.sum(axis=-1)
    assert np.abs(total.imag).max() < 1e-12
    assert (total.real > 0).all()
    one = result[1, 2]
    assert one.shape == ()
    np.testing.assert_array_equal(one.z, ang.synchronize(C[1, 2][None], gauge="mean").z[0])
    assert result[0].shape == (4,)
    assert result[result.objective > np.median(result.objective)].shape == (6,)


def test_saved_and_loaded(batch_solver, tmp_path):
    result = ang.synchronize(gaussian_stack(4, 6).reshape(2, 3, 4, 4))
    result.save(tmp_path / "batch.npz")
    again = BatchResult.load(tmp_path / "batch.npz")
    np.testing.assert_array_equal(again.z, result.z)
    np.testing.assert_array_equal(again.lambda_2, result.lambda_2)
    assert again.gauge == "first"
    assert "6 problem(s) of order 4" in str(again)
    assert "CERTIFIED 6, UNDECIDED 0" in str(again)
