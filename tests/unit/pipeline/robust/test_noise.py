"""The noise of the good measurements, estimated at a point."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.noise import FLOOR, estimate_noise


def test_the_noise_is_estimated_at_the_truth():
    problem = ang.simulate.outliers(150, 0.6, sigma=0.1, rng=2)
    noise = estimate_noise(Edges.of(problem.measurements), problem.z, 0.5)
    m = len(problem.measurements)
    # 4 standard errors; and no phase was fitted, but the formula takes 149 good edges off: 1 + 149 / (2 * 0.6 m)
    assert noise.scale == pytest.approx(0.1, rel=4 / np.sqrt(2 * 0.6 * m) + 149 / (1.2 * m))
    assert noise.share == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / m))


def test_exact_edges_have_the_floor_as_scale():
    problem = corrupted(good=0.5)
    noise = estimate_noise(Edges.of(problem.measurements), problem.z, 0.5)
    assert noise.scale == FLOOR
    assert np.array_equal(noise.corruption > 0.5, problem.outlier)


def test_a_spanning_tree_that_fits_exactly_says_nothing_about_noise():
    problem = ang.simulate.grid(12, 12, 0.3, rng=0)
    tree = ang.synchronize(problem.measurements, start="spanning_tree", certify=False, on_failure="ignore",
                           stopping=ang.Stopping(max_iterations=0)).z  # fmt: skip
    assert estimate_noise(Edges.of(problem.measurements), tree, 1e-3).scale > 0.1
