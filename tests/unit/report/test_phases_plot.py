"""Phases as pictures: the wheel and the intervals."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning

pytest.importorskip("matplotlib")
NAMES = ("Paris", "Bern", "Torino", "London")


def bars_of(axes):
    """Lower and upper ends of the intervals drawn."""
    return np.array([segment[:, 1] for segment in axes.collections[0].get_segments() if len(segment)])


def test_intervals_are_those_of_the_result_in_degrees():
    result = ang.synchronize(ang.Measurements([0, 1, 2, 0], [1, 2, 3, 3], [0.1, 0.2, 0.1, 0.45], labels=NAMES))
    axes = result.plot("phases").axes[1]
    # drawn with the normal quantile
    reach = np.degrees(1.959963984540054 * result.standard_errors())
    expected = np.degrees(result.angles)[:, None] + np.stack([-reach, reach], axis=1)
    assert bars_of(axes) == pytest.approx(expected, abs=1e-9)
    assert [label.get_text() for label in axes.get_xticklabels()] == list(NAMES)
    assert axes.get_ylabel() == "phase (degrees)"


def test_an_interval_that_leaves_the_circle_goes_on_at_its_other_end():
    angles = np.array([0.0, 3.1, -2.0, 1.5])
    i, j = np.triu_indices(4, 1)
    noise = np.array([0.2, -0.1, 0.15, -0.2, 0.1, 0.05])
    result = ang.synchronize(ang.Measurements(i, j, angles[i] - angles[j] + noise))
    axes = result.plot("phases").axes[1]
    ends = np.array([segment[:, 1] for bars in axes.collections for segment in bars.get_segments() if len(segment)])
    turned = bars_of(axes)[1] - 360
    assert np.abs(ends - turned).max(axis=1).min() < 1e-9
    assert axes.get_ylim() == (-185, 185)


def test_nodes_without_measurements_have_no_phase_to_show():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.25], n=5))
    wheel, intervals = result.plot("phases").axes
    assert "2 nodes without measurements" in intervals.get_title()
    points = [line for line in wheel.get_lines() if line.get_marker() == "o"]
    assert sum(len(line.get_xdata()) for line in points) == 3


def test_components_have_rings_of_their_own():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 1, 2, 3, 4], [1, 2, 0, 4, 5], np.full(5, 0.1)))
    wheel = result.plot("phases").axes[0]
    radii = [radius for line in wheel.get_lines() if line.get_marker() == "o" for radius in line.get_ydata()]
    assert set(radii) == {1.0, 0.84}


def test_many_nodes_are_a_density_and_a_histogram_of_errors():
    result = ang.synchronize(ang.simulate.grid(50, 45, 0.2, rng=0).measurements)
    wheel, errors = result.plot("phases").axes
    assert not [line for line in wheel.get_lines() if line.get_marker() == "o"]
    assert sum(bar.get_height() for bar in wheel.patches) > 0
    assert errors.get_xlabel().startswith("standard error (degrees)")
    assert "median" in errors.get_title()
