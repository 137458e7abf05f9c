"""The noise of the good measurements, estimated at a point."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.noise import Noise, estimate_noise, judged, small_errors


def test_the_noise_is_estimated_at_the_truth():
    problem = ang.simulate.outliers(150, 0.6, sigma=0.1, rng=2)
    noise = estimate_noise(Edges.of(problem.measurements), problem.z, 0.5)
    m = len(problem.measurements)
    # 4 standard errors; and no phase was fitted, but the formula takes 149 good edges off: 1 + 149 / (2 * 0.6 m)
    assert noise.scale == pytest.approx(0.1, rel=4 / np.sqrt(2 * 0.6 * m) + 149 / (1.2 * m))
    assert noise.share == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / m))


def test_exact_edges_have_the_floor_as_scale():
    problem = corrupted(good=0.5)
    edges = Edges.of(problem.measurements)
    noise = estimate_noise(edges, problem.z, 0.5)
    assert noise.scale == edges.floor == 1e-6
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
    # one good edge is off by 3.9 sigma, which errors of any size reach as well
    assert np.array_equal(result.robust.distrusted, wrong | (np.abs(noise) > 3.8 * sigma))
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


def test_the_law_of_small_errors_is_a_density():
    size = np.linspace(0, np.pi, 2_000_001)
    for least in (1e-3, 0.3):
        density = small_errors(size, np.full(size.size, least), 0.5) / (2 * np.pi)
        assert 2 * np.trapezoid(density, size) == pytest.approx(1.0, abs=1e-5)


def off_by(deviations, seed, sigma=4e-4, n=100, degree=13):
    """A random graph; 5 % of its angles are off by so many deviations, or, for None, by anything."""
    problem = ang.simulate.erdos_renyi(n, degree / n, sigma, rng=seed)
    rng = np.random.default_rng(seed)
    m = problem.measurements
    wrong = rng.random(len(m)) < 0.05
    sign = rng.choice([-1, 1], len(m))
    error = rng.uniform(-np.pi, np.pi, len(m)) if deviations is None else deviations * sigma * sign
    return ang.Measurements(m.i, m.j, m.angle + wrong * error, n=n), problem.z, wrong


def test_edges_off_by_a_few_deviations_are_judged_by_the_law_of_small_errors():
    caught, scales = [], []
    for seed in range(3):
        data, _, wrong = off_by(7, seed)
        report = ang.synchronize(data, solver=ang.Robust("adaptive")).robust
        caught.extend(report.distrusted[wrong])
        scales.append(report.scale / 4e-4)
        assert report.distrusted[~wrong].sum() <= 3  # of 600, of which 2e-4 are beyond 3.8 deviations
    # about 95: with uniform errors the gate is at 5.3 deviations, and 6 % of normal numbers around 7 are inside; now it
    # is at 4.2 with 0.5 %, four or more of 95 with probability 0.002
    assert np.sum(~np.array(caught)) < 4
    assert np.mean(scales) == pytest.approx(1.0, abs=4 / np.sqrt(2 * 3 * 500))


def test_a_given_scale_is_kept_and_uniform_errors_are_judged_as_ever():
    data, z, wrong = off_by(7, 0)
    assert ang.synchronize(data, solver=ang.Robust("adaptive", scale=5e-4)).robust.scale == pytest.approx(5e-4)
    data, z, wrong = off_by(None, 0)
    noise = Noise(4e-4, 0.95, wrong.astype(float))
    found = judged(Edges.of(data), z, noise, np.where(wrong, 0.0, 1.0))
    assert found.scale == noise.scale
    assert np.array_equal(found.corruption > 0.5, wrong)
