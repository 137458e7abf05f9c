"""Trees, and the period that is chosen."""

import numpy as np

from angsync.applications.clocks.unwrapping import NOISE, Forest, first_period, is_exact


def test_the_tree_adds_up_offsets_in_every_group():
    i, j = np.array([0, 2, 4, 5, 2]), np.array([1, 1, 5, 6, 0])
    x = np.array([0.0, 3.0, -1.0, 0.0, 7.0, 2.0, 5.0])
    found = Forest(7, i, j).potential(x[i] - x[j])
    np.testing.assert_allclose(found[i] - found[j], x[i] - x[j])
    assert found[3] == 0


def test_the_period_makes_the_noise_a_thousandth_of_a_radian():
    rng = np.random.default_rng(3)
    i, j = np.triu_indices(20, 1)
    for sigma in (1.0, 1e-9):
        y = sigma * rng.standard_normal(i.size)
        forest = Forest(20, i, j)
        x = forest.potential(y)
        left = y - (x[i] - x[j])
        period = first_period(forest, i, j, y, left, np.ones(i.size), False, True)
        # a quantile of 171 cycles that share 19 links: within a factor of two
        assert 0.5 < period * NOISE / (2 * np.pi * sigma) < 2
        whole = first_period(forest, i, j, y, left, np.ones(i.size), False, False)
        assert 2 * np.pi * np.abs(left).max() / whole <= 0.0301


def test_rounding_is_exact():
    assert is_exact(np.array([1e-14]), np.array([1.0]))
    assert not is_exact(np.array([1e-9]), np.array([1.0]))
