"""Patches with phases of their own, joined to one image."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval import stitch
from angsync.errors import CorruptionWarning, DisconnectedWarning, InputError, NotFiniteError, ShapeError
from angsync.testing import check_application


def cut(seed=0, across=4, side=16, step=10, noise=0.0):
    """An image, its patches each turned by a phase, where they begin, and the phases."""
    rng = np.random.default_rng(seed)
    size = (across - 1) * step + side
    image = rng.standard_normal((size, size)) + 1j * rng.standard_normal((size, size))
    corners = [(a * step, b * step) for a in range(across) for b in range(across)]
    phases = rng.uniform(-np.pi, np.pi, len(corners))
    patches = []
    for (row, column), phase in zip(corners, phases, strict=True):
        shown = image[row : row + side, column : column + side]
        error = rng.standard_normal(shown.shape) + 1j * rng.standard_normal(shown.shape)
        patches.append(np.exp(1j * phase) * (shown + noise * error))
    return image, patches, np.array(corners), phases


def turned(values, truth):
    return values * np.exp(1j * np.angle(np.vdot(values, truth)))


def test_without_noise_the_image_comes_back():
    image, patches, corners, phases = cut()
    result = stitch(np.array(patches), corners + np.array([3, -7]))
    assert turned(result.image, image) == pytest.approx(image, abs=1e-9)
    assert turned(np.exp(1j * result.phase), np.exp(1j * phases)) == pytest.approx(np.exp(1j * phases), abs=1e-9)
    assert result.origin == (3, -7)
    assert result.is_proved
    assert result.coverage.max() == 4
    check_application(result)


def test_patches_of_unequal_sizes_and_pixels_that_nobody_shows():
    image = np.random.default_rng(1).standard_normal((12, 12)) + 1j
    result = stitch([image[:7, :8], 1j * image[4:, 5:]], [(0, 0), (4, 5)])
    shown = result.coverage > 0
    assert turned(result.image[shown], image[shown]) == pytest.approx(image[shown], abs=1e-9)
    assert np.all(np.isnan(result.image[~shown]))
    text = str(result)
    assert "are in no patch" in text
    assert "No overlap can be checked" in text


def test_errors_of_patches_are_as_stated():
    ratios = []
    for seed in range(20):
        _, patches, corners, phases = cut(seed, noise=0.5)
        result = stitch(patches, corners)
        error = np.angle(turned(np.exp(1j * result.phase), np.exp(1j * phases)) * np.exp(-1j * phases))
        ratios.append(np.sqrt(np.mean((error / result.standard_error) ** 2)))
    # 16 phases, 27 loops: 15 % a standard deviation each, 4 % of the mean of 20
    assert np.mean(ratios) == pytest.approx(1, abs=0.15)


def test_weights_leave_unsure_pixels_out():
    image, patches, corners, _ = cut(2)
    sure = []
    for patch in patches:
        patch[:, :2] = 100
        sure.append(np.pad(np.ones((16, 14)), ((0, 0), (2, 0))))
    result = stitch(patches, corners, weights=sure)
    shown = result.coverage > 0
    assert turned(result.image[shown], image[shown]) == pytest.approx(image[shown], abs=1e-9)


def test_a_wrong_overlap_is_found():
    _, patches, corners, phases = cut(3, across=5, noise=0.2)
    patches[12][:, 10:] *= np.exp(2j)  # what its neighbors to the right see of it
    result = stitch(patches, corners, robust=True)
    pairs = {
        (int(p), int(q)) for p, q in zip(result.overlaps.first, result.overlaps.second, strict=True) if 12 in (p, q)
    }
    bad = np.flatnonzero(result.bad_overlaps)
    named = {(int(result.overlaps.first[k]), int(result.overlaps.second[k])) for k in bad}
    assert {(8, 12), (12, 13), (12, 18)} <= named & pairs
    assert len(named - pairs) <= 1  # of 64 overlaps without the patch
    assert "contradict the others" in str(result)
    others = np.delete(np.arange(25), 12)
    found, truth = np.exp(1j * result.phase[others]), np.exp(1j * phases[others])
    assert np.max(np.abs(turned(found, truth) - truth)) < 0.2


def test_patches_that_differ_by_more_than_a_phase_are_said_to():
    _, patches, corners, _ = cut(4)
    slopes = [patch * np.exp(1j * k * np.arange(16) / 2) for k, patch in enumerate(patches)]
    result = stitch(slopes, corners)
    assert "differ by more than a phase" in str(result)
    sizes = [patch * (1 + 3 * (k % 2)) for k, patch in enumerate(patches)]
    assert "differ in size" in str(stitch(sizes, corners))


def test_pieces_without_overlap_are_not_called_one_image():
    _, patches, corners, _ = cut(5, across=2)
    far = np.concatenate([corners, corners + 100])
    with pytest.warns(DisconnectedWarning):
        result = stitch([*patches, *patches], far)
    assert not result.is_proved
    assert "2 pieces" in str(result)


@pytest.mark.filterwarnings("ignore", category=CorruptionWarning)
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda p, c: (p[:1], c[:1]), InputError, "at least two"),
        (lambda p, c: (p, c[:3]), ShapeError, r"\(16, 2\) is needed"),
        (lambda p, c: (p, c + 0.5), InputError, "whole pixels"),
        (lambda p, c: (p, c * 1000), InputError, "no two patches share"),
        (lambda p, c: ([*p[:15], p[15][0]], c), ShapeError, "patch 15 has shape"),
        (lambda p, c: ([*p[:15], p[15] * np.nan], c), NotFiniteError, "patch 15 must be finite"),
        (lambda p, c: ([*p[:15], np.full((2, 2), "x")], c), InputError, "patch 15 must hold numbers"),
    ],
)
def test_bad_patches_get_one_message(change, error, words):
    _, patches, corners, _ = cut()
    with pytest.raises(error, match=words):
        stitch(*change(patches, corners))


def test_bad_weights_get_one_message():
    _, patches, corners, _ = cut()
    with pytest.raises(ShapeError, match="one array a patch"):
        stitch(patches, corners, weights=[np.ones((2, 2))] * 16)
    with pytest.raises(InputError, match="weights of patch 0 must be finite"):
        stitch(patches, corners, weights=[-np.ones((16, 16))] * 16)
