"""Several rounds of a link."""

import numpy as np
import pytest

from angsync.applications.clocks.rounds import rounds_of


def test_slopes_means_and_scatter_of_two_links_one_of_them_reversed():
    time = np.tile(np.arange(8.0), 2)
    i, j = np.repeat([0, 2], 8), np.repeat([1, 1], 8)
    rng = np.random.default_rng(1)
    value = np.where(i == 0, 5 + 2 * time, 7 - 3 * time) + 0.01 * rng.standard_normal(16)
    found = rounds_of(3, i, j, value, None, time, None, True)
    assert (found.i.tolist(), found.j.tolist()) == ([0, 1], [1, 2])
    slope, variance = found.slopes()
    np.testing.assert_allclose(slope, [2, 3], atol=0.02)  # six standard errors, 0.01 / sqrt(42)
    np.testing.assert_allclose(variance, 1 / 42)
    np.testing.assert_allclose(found.mean(found.value), [12, 3.5], atol=0.02)
    assert found.scatter == pytest.approx(0.01, rel=0.7)  # 12 degrees of freedom


def test_a_period_is_unwrapped_along_time():
    time = np.arange(20.0)
    value = 0.3 * time
    found = rounds_of(2, np.zeros(20, int), np.ones(20, int), value - np.rint(value), None, time, 1.0, True)
    assert found.slopes()[0][0] == pytest.approx(0.3)


def test_single_wrong_rounds_are_found_unless_nothing_may_be_left_out():
    time = np.arange(10.0)
    value = 0.01 * np.array([1, -1, 2, 0, -2, 1, -1, 2, 0, -1]) + time
    value[4] += 5
    for robust, wrong in ((True, [4]), (False, [])):
        found = rounds_of(2, np.zeros(10, int), np.ones(10, int), value, None, time, None, robust)
        assert np.flatnonzero(found.outlying).tolist() == wrong


def test_one_time_has_no_slope():
    found = rounds_of(2, np.array([0]), np.array([1]), np.array([3.0]), None, np.array([7.0]), None, True)
    assert np.isinf(found.slopes()[1][0])
    assert np.isnan(found.scatter)
