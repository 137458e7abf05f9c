"""Files with intensities and masks, or with patches."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval import local_masks, measure, read, read_patches, recover, simulate
from angsync.errors import FileFormatError


def test_intensities_and_masks_come_back(tmp_path):
    problem = simulate((6, 7), 2, 40, rng=0)
    np.savez(tmp_path / "data.npz", intensities=problem.intensities, masks=problem.masks.windows, sigma=problem.sigma)
    data = read(tmp_path / "data.npz")
    assert np.array_equal(data.intensities, problem.intensities)
    assert np.array_equal(data.masks.windows, problem.masks.windows)
    assert data.masks.shape == (6, 7)
    assert data.sigma == problem.sigma


def test_masks_at_some_shifts_need_the_shape(tmp_path):
    x = simulate(12, 2, rng=1).signal
    masks = local_masks(12, 2, shifts=np.arange(12)[::-1])
    arrays = {"intensities": measure(x, masks), "masks": masks.windows, "shifts": masks.shifts}
    np.savez(tmp_path / "data.npz", shape=12, **arrays)
    data = read(tmp_path / "data.npz")
    assert np.abs(recover(data.intensities, data.masks).signal) == pytest.approx(np.abs(x), abs=1e-6)
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(FileFormatError, match="'shifts' but no 'shape'"):
        read(tmp_path / "data.npz")


def test_wrong_masks_are_said_with_the_name_of_the_file(tmp_path):
    np.savez(tmp_path / "data.npz", intensities=np.ones((3, 16)), masks=np.ones((3, 2, 2)))
    with pytest.raises(FileFormatError, match=r"data\.npz: masks have 3 axes"):
        read(tmp_path / "data.npz")


def test_patches_come_back(tmp_path):
    np.savez(tmp_path / "data.npz", patches=np.ones((2, 3, 3)), positions=np.zeros((2, 2), dtype=int))
    data = read_patches(tmp_path / "data.npz")
    assert data.patches.shape == (2, 3, 3)
    assert data.weights is None
