"""The measured graph as a picture."""

from __future__ import annotations

import io

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, InputError, ShapeError
from angsync.report import plot_network
from angsync.report.network_plot import COLORS

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def grid():
    return ang.synchronize(ang.simulate.grid(5, 6, 0.2, rng=0).measurements)


def nodes_of(figure):
    """The marks of the nodes that have a color."""
    return next(drawn for drawn in figure.axes[0].collections if drawn.get_array() is not None)


@pytest.mark.parametrize("color", COLORS)
def test_nodes_are_colored_by_what_is_asked_for(grid, color):
    figure = grid.plot("network", color=color)
    values = np.asarray(nodes_of(figure).get_array())
    expected = {
        "phase": np.degrees(grid.angles),
        "error": np.degrees(grid.standard_errors()),
        "component": np.zeros(30),
    }
    if color in expected:
        assert values == pytest.approx(expected[color])
    else:
        ends = (grid.measurements.i == 7) | (grid.measurements.j == 7)
        rms = np.degrees(np.sqrt(np.mean(grid.edge_residuals().wrapped[ends] ** 2)))
        assert values[7] == pytest.approx(rms)
    figure.savefig(io.BytesIO(), dpi=30)


def test_phases_have_a_scale_that_ends_where_it_begins(grid):
    scale = nodes_of(grid.plot("network")).get_cmap()
    assert scale(0.0) == pytest.approx(scale(1.0))
    assert "degrees" in grid.plot("network").axes[1].get_ylabel()


def test_positions_are_taken_by_row_or_by_label():
    names = ["a", "b", "c"]
    result = ang.synchronize(ang.Measurements(names, ["b", "c", "a"], [0.1, 0.2, -0.28]))
    places = {"c": (5, 6), "a": (1, 2), "b": (3, 4)}
    assert nodes_of(plot_network(result, places)).get_offsets().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert nodes_of(plot_network(result, [[1, 2], [3, 4], [5, 6]])).get_offsets().tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(InputError, match="no entry for 1 node, such as 'b'"):
        plot_network(result, {"a": (0, 0), "c": (1, 1)})
    with pytest.raises(ShapeError, match=r"shape \(3, 2\)"):
        plot_network(result, np.zeros((3, 3)))
    with pytest.raises(InputError, match="'phase', 'error', 'residual', 'component', not 'rainbow'"):
        plot_network(result, color="rainbow")


def test_bad_measurements_stand_out():
    measurements = ang.simulate.grid(5, 6, 0.05, rng=1).measurements
    angle = measurements.angle.copy()
    angle[10] += 2
    result = ang.synchronize(ang.Measurements(measurements.i, measurements.j, angle))
    figure = plot_network(result)
    _, wrong = [drawn for drawn in figure.axes[0].collections if type(drawn).__name__ == "LineCollection"]
    assert len(wrong.get_segments()) == 1
    assert figure.legends[0].get_texts()[0].get_text() == "1 measurement far off"


def test_nodes_of_which_nothing_is_known_are_hollow():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.25], n=5))
    for color in COLORS:
        assert len(nodes_of(plot_network(result, color=color)).get_offsets()) == 3


def test_of_a_full_graph_some_edges_are_drawn_and_it_says_so():
    result = ang.synchronize(ang.simulate.gaussian(60, 1.0, rng=0).C)
    figure = plot_network(result)
    places = nodes_of(figure).get_offsets()
    assert np.asarray(np.hypot(*places.T)) == pytest.approx(np.ones(60))
    assert "970 edges are not drawn" in figure.axes[0].get_title()


def test_a_result_without_its_measurements_says_so(tmp_path, grid):
    grid.save(tmp_path / "result.npz")
    with pytest.raises(InputError, match="not at hand"):
        ang.load_result(tmp_path / "result.npz").plot("network")
