"""The noise of the good measurements, estimated at a point."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.noise import FLOOR, Noise, estimate_noise, judged


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


def test_wrong_edges_of_a_few_sigma_are_caught():
    # 5 % of the edges are off by 20 sigma, 0.008 rad: the wide maximum of the likelihood (4.6 sigma) calls them good
    rng = np.random.default_rng(3)
    n, sigma = 60, 4e-4
    i, j = np.triu_indices(n, 1)
    kept = rng.random(i.size) < 0.25
    i, j = i[kept], j[kept]
    theta = rng.uniform(-np.pi, np.pi, n)
    noise = sigma * rng.standard_normal(i.size)
    wrong = rng.random(i.size) < 0.05
    noise[wrong] += 20 * sigma * rng.choice([-1, 1], int(wrong.sum()))
    result = ang.synchronize(ang.Measurements(i, j, theta[i] - theta[j] + noise, n=n), solver=ang.Robust(), rng=0)
    assert np.array_equal(result.robust.distrusted, wrong)
    # 440 edges, 59 phases: the standard deviation of the scale is 1 / sqrt(2 * 360), 4 of them
    assert result.robust.scale == pytest.approx(sigma, rel=4 / np.sqrt(2 * 360))


def test_a_bridge_is_as_doubtful_as_any_edge():
    # a path of three edges behind a complete graph of eight nodes: nothing checks them
    i, j = np.triu_indices(8, 1)
    rng = np.random.default_rng(0)
    m = ang.Measurements(np.r_[i, 7, 8, 9], np.r_[j, 8, 9, 10], np.r_[0.05 * rng.standard_normal(i.size), 0, 0, 0])
    edges = Edges.of(m)
    noise = Noise(0.05, 0.9, np.zeros(len(edges)))
    found = judged(edges, ang.synchronize(m).z, noise, np.ones(len(edges)))
    assert found.corruption[-3:] == pytest.approx(0.1)
    assert (found.corruption[:-3] < 0.1).all()
