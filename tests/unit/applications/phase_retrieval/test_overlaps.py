"""Relative phases of overlapping patches and their weights."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval.overlaps import checked_patches, compare


def complex_normal(rng, shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)


def test_the_angle_is_that_of_the_first_patch_against_the_second():
    image = complex_normal(np.random.default_rng(0), (10, 14))
    patches = [image[:8, :9] * np.exp(0.7j), image[3:, 5:] * np.exp(-0.5j)]
    found = compare(checked_patches(patches, [(-2, 0), (1, 5)], None))
    assert found.angle == pytest.approx([1.2])
    assert found.coherence == pytest.approx([1])
    assert found.size_ratio == pytest.approx([1])


def test_the_weight_is_one_over_the_variance_of_the_angle():
    rng = np.random.default_rng(1)
    angles, weights = [], []
    for _ in range(400):
        image = complex_normal(rng, (6, 40))
        noisy = [image + 0.5 * complex_normal(rng, image.shape) for _ in range(2)]
        found = compare(checked_patches(noisy, [(0, 0), (0, 0)], None))
        angles.append(found.angle[0])
        weights.append(found.weight[0])
    # 400 angles: 3.5 % a standard deviation of their rms; noise of half the signal makes some 6 % beyond first order
    rms = np.sqrt(np.mean(np.square(angles)))
    assert np.sqrt(1 / np.mean(weights)) == pytest.approx(rms, rel=0.2)


def test_what_several_patches_show_counts_for_all_but_one_of_them():
    rng = np.random.default_rng(3)
    image = complex_normal(rng, (6, 40))
    noisy = [image + 0.1 * complex_normal(rng, image.shape) for _ in range(4)]
    two = compare(checked_patches(noisy[:2], [(0, 0)] * 2, None))
    four = compare(checked_patches(noisy, [(0, 0)] * 4, None))
    assert four.weight == pytest.approx(np.full(6, two.weight[0] / 2), rel=0.3)  # 1 / 2 of a pair against 1 / 4


def test_unsure_pixels_do_not_count():
    rng = np.random.default_rng(2)
    image = complex_normal(rng, (8, 8))
    wrong = image.copy()
    wrong[:, :4] = complex_normal(rng, (8, 4))
    sure = np.ones((8, 8))
    sure[:, :4] = 0
    found = compare(checked_patches([image, wrong], [(0, 0), (0, 0)], [np.ones((8, 8)), sure]))
    assert found.coherence == pytest.approx([1])
    blind = compare(checked_patches([image, wrong], [(0, 0), (0, 0)], [np.ones((8, 8)), 0 * sure]))
    assert blind.first.size == 0
