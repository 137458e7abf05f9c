"""Residuals as pictures, and which measurements are called far off."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.report import plot_residuals
from angsync.report.canvas import VERMILLION
from angsync.report.series import doubted
from angsync.uncertainty.quality import assess

pytest.importorskip("matplotlib")


def one_wrong(labels=None):
    """Ten nodes, half of all pairs, noise of 0.05 rad, and one measurement wrong by 1.5 rad."""
    measurements = ang.simulate.erdos_renyi(10, 0.5, 0.05, rng=5).measurements
    angle = measurements.angle.copy()
    angle[3] += 1.5
    return ang.synchronize(ang.Measurements(measurements.i, measurements.j, angle, n=10, labels=labels))


def far_off(result):
    return np.flatnonzero(doubted(result, assess(result)))


def test_a_wrong_measurement_among_few_is_found():
    result = one_wrong()
    # the scale that it has enlarged hides it: its standardized residual cannot exceed about the root of the freedom
    assert np.abs(result.edge_residuals().standardized).max() < 4.5
    assert far_off(result).tolist() == [3]


@pytest.mark.slow
def test_normal_noise_is_far_off_in_one_picture_of_a_thousand():
    # 200 pictures at a chance of at most 0.001 each: the number of false alarms has mean 0.2 at most, and more than 3
    # of them a probability below 1e-4
    alarms = 0
    for seed in range(200):
        measurements = ang.simulate.erdos_renyi(8, 0.9, 0.05, rng=1000 + seed).measurements
        alarms += bool(far_off(ang.synchronize(measurements, certify=False)).size)
    assert alarms <= 3


def test_without_redundancy_nothing_is_far_off():
    assert not far_off(ang.synchronize(ang.Measurements([0, 1], [1, 2], [0.1, 3.0]))).size


def test_the_worst_are_named_and_colored():
    labels = [f"station {k}" for k in range(10)]
    result = one_wrong(labels)
    histogram, quantiles, worst = plot_residuals(result).axes
    names = [label.get_text() for label in worst.get_yticklabels()]
    m = result.measurements
    assert names[0] == f"{labels[m.i[3]]} – {labels[m.j[3]]}"
    from matplotlib.colors import to_rgba

    assert worst.patches[0].get_facecolor() == to_rgba(VERMILLION)
    assert worst.patches[0].get_width() == pytest.approx(np.degrees(result.edge_residuals().wrapped[3]))
    assert "1 measurement far off" in [text.get_text() for text in quantiles.get_legend().get_texts()]
    assert histogram.get_xlabel() == "measured minus fitted angle (degrees)"


def test_what_a_robust_fit_distrusts_is_marked_and_not_in_the_histogram():
    problem = ang.simulate.outliers(12, 0.8, sigma=0.1, rng=0)
    result = ang.synchronize(problem.measurements, solver=ang.Robust())
    left_out = int(result.robust.distrusted.sum())
    assert np.array_equal(far_off(result), np.flatnonzero(result.robust.distrusted))
    histogram, quantiles, _ = plot_residuals(result).axes
    assert f"{left_out} measurements left out" in [text.get_text() for text in quantiles.get_legend().get_texts()]
    assert f"Residuals of {len(result.measurements) - left_out} measurements" in histogram.get_title()


def test_exact_data_have_nothing_to_show():
    result = ang.synchronize(ang.Measurements([0, 1, 0], [1, 2, 2], [0.25, 0.5, 0.75]))
    figure = plot_residuals(result)
    assert "none further off than noise" in figure.axes[2].get_title()


def test_the_normal_curve_is_as_wide_as_the_middle_half():
    problem = ang.simulate.outliers(30, 0.85, sigma=0.1, rng=0)
    axes = plot_residuals(ang.synchronize(problem.measurements)).axes[0]
    x, curve = axes.get_lines()[0].get_data()
    width = np.sqrt(np.sum(curve * x**2) / np.sum(curve))
    # noise of 5.7 degrees, a little more by the pull of the outliers; the whole has some 30
    assert 4 < width < 12
    assert float(axes.get_title().split("rms ")[1].rstrip("°")) > 2 * width
