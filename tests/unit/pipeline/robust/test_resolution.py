"""Angles that were rounded: noise is not smaller than their steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.resolution import step_of

STEPS = [math.tau / 64, math.tau / 256, math.tau / 4096, math.radians(0.25), math.radians(7), math.radians(20), 0.1]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("written", ["as it is", "single", "wrapped", "with an offset", "a third wrong"])
def test_step_of_rounded_angles_is_found(step, written):
    rng = np.random.default_rng(0)
    theta = math.tau * rng.random((2, 80))
    angle = np.round((theta[0] - theta[1]) / step) * step
    if written == "single":
        angle = angle.astype(np.float32).astype(float)
    elif written == "wrapped" and (math.tau / step) % 1 < 1e-9:  # otherwise other steps than those given come out
        angle = np.angle(np.exp(1j * angle))
    elif written == "with an offset":
        angle += 0.377
    elif written == "a third wrong":
        angle[::3] = rng.uniform(-math.pi, math.pi, angle[::3].size)
    assert step_of(angle) == pytest.approx(step, rel=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 9, 80, 3000])
def test_continuous_angles_have_no_step(count):
    rng = np.random.default_rng(count)
    assert not any(step_of(rng.uniform(-math.pi, math.pi, count)) for _ in range(20))


@pytest.mark.parametrize("levels", [1, 2, 4, 12])
def test_few_levels_are_taken_for_exact(levels):
    assert step_of(np.arange(100) % levels * math.tau / levels) == 0
    rng = np.random.default_rng(levels)
    assert step_of(np.angle(np.exp(1j * rng.integers(levels, size=45) * math.tau / levels))) == 0


def grid_ends():
    """The ends of the edges of a grid of 6 x 6."""
    g = np.arange(36).reshape(6, 6)
    return np.r_[g[:, :-1].ravel(), g[:-1].ravel()], np.r_[g[:, 1:].ravel(), g[1:].ravel()]


def grid_in_steps(step, noise, seed):
    """A grid of 6 x 6 with angles in steps and no wrong one."""
    rng = np.random.default_rng(seed)
    i, j = grid_ends()
    theta = math.tau * rng.random(36)
    angle = np.round((theta[i] - theta[j] + noise * rng.standard_normal(i.size)) / step) * step
    return ang.Measurements(i, j, angle), np.exp(1j * theta)


@pytest.mark.parametrize(("step", "noise"), [(math.tau / 256, 0.0), (math.radians(10), 0.03), (math.radians(5), 0.0)])
def test_intervals_hold_if_angles_come_in_steps(step, noise):
    inside = []
    for seed in range(4):
        m, truth = grid_in_steps(step, noise, seed)
        result = ang.synchronize(m, solver=ang.Robust(), gauge="mean")
        assert not result.robust.distrusted.any()
        assert result.robust.scale == pytest.approx(math.hypot(noise, step / math.sqrt(12)), rel=0.4)
        low, high = result.confidence_intervals(0.95, gauge="mean").T
        error = np.angle(ang.align(truth, result.z) * result.z.conj())
        inside.append(np.mean(np.abs(error) <= (high - low) / 2))
    # 144 phases of 95 %: those of a grid are worth a third of independent ones, so 4 deviations are 0.13
    assert np.mean(inside) > 0.82


def weights_of(law, count, step, rng):
    """Weights as users have them, and the noise that comes on top of the steps."""
    if law == "decades":
        return 10.0 ** rng.uniform(-3, 3, count), np.zeros(count)
    sigma = step / 3 * np.exp(rng.normal(0, 0.7, count))
    return 1 / sigma**2, np.zeros(count) if law == "1/sigma^2, no noise" else sigma


def in_steps(graph, law, seed, step=math.tau / 256):
    """Measurements of 8 bits, the true phases and the true variances."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(15, 1) if graph == "complete" else grid_ends()
    weight, sigma = weights_of(law, i.size, step, rng)
    theta = math.tau * rng.random(j.max() + 1)
    angle = np.round((theta[i] - theta[j] + sigma * rng.standard_normal(i.size)) / step) * step
    return ang.Measurements(i, j, angle, weight), np.exp(1j * theta), sigma**2 + step**2 / 12


def half_widths(result):
    low, high = result.confidence_intervals(0.95, gauge="mean").T
    return (high - low) / 2


def distances(z, w):
    return np.abs(np.angle(ang.align(w, z) * z.conj()))


@pytest.mark.parametrize("law", ["decades", "1/sigma^2, no noise"])
@pytest.mark.parametrize("loss", ["adaptive", "evidence", "huber"])
def test_weights_do_not_matter_if_all_noise_is_rounding(law, loss):
    for seed in range(4):
        m, _, _ = in_steps("complete", law, seed)
        equal = ang.Measurements(m.i, m.j, m.angle)
        one, other = (ang.synchronize(some, solver=ang.Robust(loss), gauge="mean") for some in (m, equal))
        assert one.robust.credible
        assert not one.robust.distrusted.any()
        assert half_widths(one) == pytest.approx(half_widths(other), rel=0.15)
        assert np.max(distances(one.z, other.z)) < 0.5 * np.median(half_widths(other))
        assert np.nanstd(one.edge_residuals().standardized) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("make", ["complete", "grid"])
def test_intervals_hold_if_noise_by_weight_adds_to_that_of_rounding(make):
    inside, ratio = [], []
    for seed in range(6):
        m, truth, variance = in_steps(make, "1/sigma^2", seed)
        result = ang.synchronize(m, solver=ang.Robust(), gauge="mean")
        assert not result.robust.distrusted.any()
        inside.append(np.mean(distances(result.z, truth) <= half_widths(result)))
        ratio.append(np.sqrt(result.robust.scale**2 / result.robust.believed(m).weight / variance))
    assert np.mean(inside) > 0.85
    assert np.median(ratio) == pytest.approx(1, abs=0.2)
    assert np.quantile(ratio, 0.02) > 0.6


def test_weights_stay_if_rounding_is_far_below_the_noise():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(15, 1)
    sigma = 0.05 * np.exp(rng.normal(0, 0.7, i.size))
    theta = math.tau * rng.random(15)
    angle = np.round(theta[i] - theta[j] + sigma * rng.standard_normal(i.size), 3)
    report = ang.synchronize(ang.Measurements(i, j, angle, sigma**-2.0), solver=ang.Robust()).robust
    assert report.rounding.size == 0
    assert report.scale == pytest.approx(1, rel=0.2)


def test_error_bars_of_a_saved_result_know_the_steps(tmp_path):
    m, _, _ = in_steps("complete", "decades", 0)
    result = ang.synchronize(m, solver=ang.Robust())
    result.save(tmp_path / "result.npz")
    loaded = ang.load_result(tmp_path / "result.npz")
    assert np.array_equal(loaded.robust.rounding, result.robust.rounding)
    assert np.array_equal(loaded.robust.believed(m).weight, result.robust.believed(m).weight)


def test_anchors_and_steps():
    m, truth, _ = in_steps("complete", "decades", 0)
    known = {node: float(np.angle(truth[node])) for node in (3, 7)}
    result = ang.synchronize(m, solver=ang.Robust(), anchors=known)
    assert result.robust.rounding.size == len(m)
    between = (m.i == 3) & (m.j == 7)
    assert result.robust.rounding[between] == 1
    other = result.robust.believed(m).weight[~between]
    assert np.max(other) < 2 * np.min(other)


def test_robust_is_least_squares_if_dense_angles_come_in_steps():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(15, 1)
    theta = math.tau * rng.random(15)
    step = math.tau / 1024
    m = ang.Measurements(i, j, np.round((theta[i] - theta[j]) / step) * step)
    robust, plain = ang.synchronize(m, solver=ang.Robust()), ang.synchronize(m)
    assert np.abs(np.angle(ang.align(plain.z, robust.z) * robust.z.conj())).max() < step / 100


def test_scale_given_is_kept_if_angles_come_in_steps():
    m, _ = grid_in_steps(math.radians(5), 0.0, 0)
    assert ang.synchronize(m, solver=ang.Robust(scale=1e-4)).robust.scale == pytest.approx(1e-4)


def test_a_cycle_that_closes_by_rounding_is_no_exact_measurement():
    # One of the cycles of four closes exactly, all others by a degree or two: the noise is about a degree.
    links = ang.Measurements(
        [0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 0], [40, 95, 54, -22, -74, -19], unit="deg"
    )  # fmt: skip
    result = ang.synchronize(links, solver=ang.Robust())
    assert not result.robust.distrusted.any()
    assert math.radians(1) / math.sqrt(12) <= result.robust.scale <= math.radians(2)
    assert np.degrees(result.standard_errors()[1:]).min() > 0.1


def test_note_names_the_step_if_noise_is_rounding():
    i, j = np.triu_indices(6, 1)
    theta = np.arange(6.0) ** 2 * 0.1  # every cycle closes exactly
    result = ang.synchronize(ang.Measurements(i, j, theta[i] - theta[j]), solver=ang.Robust())
    assert "steps of 0.1 rad" in result.robust.note
    assert result.robust.scale == pytest.approx(0.1 / math.sqrt(12))
