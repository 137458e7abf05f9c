"""Pictures as data: what is drawn of them."""

import numpy as np
import pytest

from angsync.report.pictures import MOST_PIXELS, MOST_POINTS, Curves, Map, Series


def test_of_very_many_points_some_are_drawn_the_ends_included():
    drawn = Series(np.arange(10_000.0), np.arange(10_000.0)).drawn()
    assert drawn.x.size == MOST_POINTS
    assert (drawn.x[0], drawn.x[-1]) == (0.0, 9999.0)


def test_what_is_not_finite_is_not_drawn():
    drawn = Series(np.array([0.0, np.nan, 2.0, 3.0]), np.array([1.0, 1.0, np.inf, 4.0]), error=np.arange(4.0)).drawn()
    assert drawn.x.tolist() == [0.0, 3.0]
    assert drawn.error is not None
    assert drawn.error.tolist() == [0.0, 3.0]


def test_the_axes_hold_points_bars_and_reference_line():
    series = Series(np.array([0.0, 1.0]), np.array([1.0, 2.0]), error=np.array([1.0, np.inf]))
    span = Curves("t", "x", "y", (series,), "c", level=(7.0, "limit")).span()
    assert span is not None
    (left, right), (low, high) = span
    assert left < 0.0
    assert right > 1.0
    assert low < 1.0 - 1.95
    assert high > 7.0
    assert Curves("t", "x", "y", (), "c").span() is None


@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
def test_equal_numbers_have_room_around_them(value):
    span = Curves("t", "x", "y", (Series(np.array([value]), np.array([value])),), "c").span()
    assert span is not None
    assert span[0][0] < value < span[0][1]


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


def test_a_map_has_one_scale_on_both_axes():
    series = Series(np.array([0.0, 10.0]), np.array([5.0, 6.0]), line=True)
    span = Curves("t", "x (m)", "y (m)", (series,), "c", equal=True).span()
    assert span is not None
    (left, right), (low, high) = span
    assert right - left == pytest.approx(high - low)
    assert (low + high) / 2 == pytest.approx(5.5)
    assert left < 0.0 < 10.0 < right
