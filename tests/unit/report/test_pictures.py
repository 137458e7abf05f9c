"""Pictures as data: what is drawn of them."""

import numpy as np
import pytest

from angsync.report.canvas import color_map
from angsync.report.picture_plot import is_empty, plot_pictures
from angsync.report.pictures import MOST_PIXELS, MOST_POINTS, MOST_SEGMENTS, Curves, Intervals, Map, Series


def test_of_very_many_points_some_are_drawn_the_ends_included():
    drawn = Series(np.arange(10_000.0), np.arange(10_000.0)).drawn()
    assert drawn.x.size == MOST_POINTS
    assert (drawn.x[0], drawn.x[-1]) == (0.0, 9999.0)


def test_of_very_many_segments_some_are_drawn_with_both_ends():
    x = np.repeat(np.arange(10_000.0), 2)
    x[7] = np.nan
    drawn = Series(x, x, segments=True).drawn()
    starts, ends = drawn.x.reshape(-1, 2).T
    assert starts.size == MOST_SEGMENTS
    assert starts.tolist() == ends.tolist()
    assert (starts[0], starts[-1]) == (0.0, 9999.0)
    assert 3.0 not in starts


def test_what_is_not_finite_is_not_drawn():
    drawn = Series(np.array([0.0, np.nan, 2.0, 3.0]), np.array([1.0, 1.0, np.inf, 4.0]), error=np.arange(4.0)).drawn()
    assert drawn.x.tolist() == [0.0, 3.0]
    assert drawn.error is not None
    assert drawn.error.tolist() == [0.0, 3.0]


def test_a_large_map_is_thinned_and_its_scale_leaves_out_the_outermost():
    values = np.zeros((3 * MOST_PIXELS, 10))
    values[0, 0], values[:600] = 1e9, 1.0
    values[0, 0] = 1e9
    picture = Map("t", values, "m", "c")
    assert picture.drawn().shape == (MOST_PIXELS, 10)
    assert picture.limits() == (0.0, 1.0)
    assert Map("t", np.full((2, 2), np.nan), "m", "c").limits() == (0.0, 1.0)
    assert Map("t", np.ones((2, 2)), "m", "c").limits() == (0.5, 1.5)
    assert Map("t", values, "rad", "c", cyclic=True).limits() == (-np.pi, np.pi)


def test_a_map_has_one_scale_on_both_axes_and_a_page_shows_nothing_for_nothing():
    series = Series(np.array([0.0, 10.0]), np.array([5.0, 6.0]), line=True)
    axes = plot_pictures([Curves("t", "x (m)", "y (m)", (series,), "c", equal=True)], "title").axes[0]
    assert axes.get_aspect() == 1.0
    assert not is_empty(Curves("t", "x", "y", (series,), "c"))
    nothing = np.full((2, 2), np.nan)
    for picture in (
        Curves("t", "x", "y", (Series(nothing[0], nothing[0]),), "c"),
        Map("t", nothing, "m", "c"),
        Intervals("t", "x", ("a", "b"), nothing[0], nothing[0], nothing[0], "c"),
    ):
        assert is_empty(picture)


def test_phases_are_colored_alike_at_both_ends_of_the_turn():
    scale = color_map(cyclic=True)
    assert scale(0.0) == pytest.approx(scale(1.0))
    lightness = color_map(cyclic=False)(np.linspace(0, 1, 50))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) > 0).all()
