"""Intervals after a robust fit hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import ErrorBarWarning
from angsync.pipeline.robust.posterior import Mixture


def drawn(rng, share, n=20, extra=8, sigma=0.05):
    """A random tree with further edges; a share of the angles is random."""
    first, step = rng.integers(0, n, extra), rng.integers(1, n, extra)
    i = np.r_[[int(rng.integers(0, k)) for k in range(1, n)], first]
    j = np.r_[np.arange(1, n), (first + step) % n]
    theta = rng.uniform(-np.pi, np.pi, n)
    angle = theta[i] - theta[j] + sigma * rng.standard_normal(i.size)
    wrong = rng.random(i.size) < share
    angle[wrong] = rng.uniform(-np.pi, np.pi, int(wrong.sum()))
    return ang.Measurements(i, j, angle, n=n), theta


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_intervals_hold_the_truth_on_a_tree_with_eight_further_edges(share):
    held = []
    for seed in range(8):
        m, theta = drawn(np.random.default_rng([seed, 1]), share)
        result = ang.synchronize(m, solver=ang.Robust(), rng=seed)
        interval = result.confidence_intervals()
        error = np.abs(np.angle(result.z * np.exp(-1j * (theta - theta[0]))))
        held.append(np.mean(error[1:] <= (interval[1:, 1] - interval[1:, 0]) / 2))
        assert result.standard_errors() == pytest.approx((interval[:, 1] - interval[:, 0]) / 2 / 1.959964, abs=1e-6)
        assert result.robust.efficiency <= 1
    # nodes share their errors, so that a graph is one draw: the standard deviation of its share is 0.1 (measured on 300
    # graphs: 0.07 clean, 0.1 with outliers), and the mean of eight is below 0.95 - 4 * 0.1 / sqrt(8) with 3e-5
    assert np.mean(held) > 0.81


def test_the_interval_of_a_mixture():
    normal = Mixture(np.zeros((100, 1)), np.full((100, 1), 0.1))
    assert normal.half_widths(0.95) == pytest.approx(0.1959964, abs=1e-6)
    # one law in ten is uniform: 0.9 + 0.1 x / pi = 0.95
    half = Mixture(np.zeros((100, 1)), np.where(np.arange(100) < 10, np.inf, 1e-3)[:, None])
    assert half.half_widths(0.95) == pytest.approx(np.pi / 2, abs=1e-6)


def trajectory(*, trusted=None, scale=None, weight=None):
    """Forty poses in a chain of which nothing confirms the last steps; 8 of 25 loops are wrong; sigma 0.01."""
    rng = np.random.default_rng(1)
    n = 40
    theta = np.cumsum(rng.normal(0, 0.3, n))
    first = rng.integers(0, n - 20, 25)
    i, j = np.r_[np.arange(n - 1), first], np.r_[np.arange(1, n), first + rng.integers(5, 20, 25)]
    angle = theta[i] - theta[j] + 0.01 * rng.standard_normal(i.size)
    angle[-8:] += np.linspace(1, 3, 8)
    m = ang.Measurements(i, j, angle, weight=weight, n=n)
    return ang.synchronize(m, solver=ang.Robust(trusted=trusted, scale=scale))


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
def test_trusted_edges_are_good_in_error_bars_and_a_given_scale_is_held(tmp_path):
    odometry = np.arange(64) < 39
    result = trajectory(trusted=odometry)
    assert result.robust.trusted.tolist() == odometry.tolist()
    assert not result.robust.scale_given
    # a few steps of 0.01 rad, not "somewhere": 59 to 85 degrees where trusted steps may be wrong
    assert result.standard_errors().max() < 0.06
    narrow, wide = (trajectory(trusted=odometry, scale=scale) for scale in (0.01, 0.03))
    assert wide.robust.scale_given
    # sigma is not drawn, so the chain is one and the same but for what it believes of the loops
    assert (wide.standard_errors()[1:] / narrow.standard_errors()[1:]) == pytest.approx(3.0, rel=0.05)
    wide.save(tmp_path / "wide.npz")
    back = ang.load_result(tmp_path / "wide.npz").robust
    assert back.trusted.tolist() == odometry.tolist()
    assert back.scale_given is True
    assert trajectory().robust.trusted.size == 0


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
def test_steps_of_a_trajectory_are_wrong_less_often_than_its_loops():
    # 30 steps are right and 16 of 40 loops wrong: that a loop is wrong as often says nothing about the steps
    rng = np.random.default_rng(3)
    n = 31
    theta = np.cumsum(rng.normal(0, 0.3, n))
    first = rng.integers(1, 20, 40)
    i, j = np.r_[np.arange(n - 1), first], np.r_[np.arange(1, n), first + rng.integers(4, 11, 40)]
    angle = theta[i] - theta[j] + 0.01 * rng.standard_normal(i.size)
    angle[-16:] = rng.uniform(-np.pi, np.pi, 16)
    for order in (np.arange(i.size), rng.permutation(i.size)):
        result = ang.synchronize(ang.Measurements(i[order], j[order], angle[order], n=n), solver=ang.Robust())
        assert np.median(result.standard_errors()) < 0.05  # the first step is a bridge; errors are against its end


def test_a_reference_that_hangs_loosely_is_named():
    # a well-measured complete graph of 12 nodes, in which 20 of the 66 edges are wrong, and node 0 hangs on one edge
    rng = np.random.default_rng(5)
    i, j = np.triu_indices(12, 1)
    i, j = np.r_[0, i + 1], np.r_[1, j + 1]
    angle = 0.01 * rng.standard_normal(i.size)
    angle[rng.permutation(66)[:20] + 1] = rng.uniform(-np.pi, np.pi, 20)
    result = ang.synchronize(ang.Measurements(i, j, angle, n=13), solver=ang.Robust())
    with pytest.warns(ErrorBarWarning, match="gauge='mean'"):
        assert np.median(result.standard_errors()) > 0.5
    assert np.median(result.standard_errors(gauge="mean")) < 0.02


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
def test_intervals_where_nothing_believed_closes_a_cycle():
    # two loops that contradict each other: either may be wrong, and the scale is unknown
    theta = np.zeros(6)
    i, j = np.array([0, 1, 2, 3, 4, 0, 1]), np.array([1, 2, 3, 4, 5, 5, 4])
    angle = theta[i] - theta[j] + np.array([0.5, -1.2, 2.0, 0.3, -0.4, 2.5, -2.0])
    result = ang.synchronize(ang.Measurements(i, j, angle, n=6), solver=ang.Robust())
    half = np.diff(result.confidence_intervals(), axis=1)[1:, 0] / 2
    assert np.isnan(result.robust.scale)
    assert half.min() > 0.5


@pytest.mark.parametrize("decades", [11, 14, 20, 40, 200])
@pytest.mark.parametrize("trusted", [None, np.arange(64) < 39])
@pytest.mark.filterwarnings("ignore::angsync.errors.CorruptionWarning")
@pytest.mark.filterwarnings("ignore:.*not proved to be it:angsync.errors.ErrorBarWarning")
def test_weights_over_many_decades_leave_one_choice_and_say_so(decades, trusted):
    weight = 10.0 ** np.random.default_rng(2).uniform(-decades / 2, decades / 2, 64)
    result = trajectory(trusted=trusted, weight=weight)
    with pytest.warns(ErrorBarWarning, match="weights span .* the choice of good ones is taken for right"):
        errors = result.standard_errors()
    assert not np.isnan(errors).any()
    with pytest.warns(ErrorBarWarning, match="taken for right"):
        result.confidence_intervals()


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
def test_error_bars_do_not_depend_on_the_order_or_the_direction_of_the_measurements():
    m, _ = drawn(np.random.default_rng(4), 0.2)
    rng = np.random.default_rng(0)
    errors = []
    for order in (np.arange(len(m)), rng.permutation(len(m))):
        turned = rng.random(len(m)) < (0.5 if len(errors) else 0.0)
        i, j = np.where(turned, m.j, m.i)[order], np.where(turned, m.i, m.j)[order]
        angle = np.where(turned, -m.angle, m.angle)[order]
        errors.append(ang.synchronize(ang.Measurements(i, j, angle, n=m.n), solver=ang.Robust()).standard_errors())
    # one chain of one and the same edges; the phases that they are counted from agree to rounding
    assert errors[0] == pytest.approx(errors[1], rel=1e-6)
