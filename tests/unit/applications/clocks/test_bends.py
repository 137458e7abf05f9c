"""Clocks that do not drift on lines."""

import warnings

import numpy as np
import pytest

from angsync.applications import clocks
from angsync.applications.clocks.bends import bends_of
from angsync.applications.clocks.rounds import rounds_of
from angsync.errors import ErrorBarWarning

N, ROUNDS = 8, 20
ONE, OTHER = np.triu_indices(N, 1)
FIRST, SECOND = np.tile(ONE, ROUNDS), np.tile(OTHER, ROUNDS)
TIME = np.repeat(10.0 * np.arange(ROUNDS), ONE.size)


def measured(seed, motion):
    """Offsets of clocks that move as said, with noise 1."""
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 100, N)
    at = np.repeat(np.arange(ROUNDS), ONE.size)
    return true, true[FIRST] - true[SECOND] + motion[FIRST, at] - motion[SECOND, at] + rng.standard_normal(FIRST.size)


def bends(y):
    rounds = rounds_of(N, FIRST, SECOND, y, None, TIME, None, True)
    return bends_of(N, rounds, np.ones(ONE.size, dtype=bool))


@pytest.mark.parametrize("sigma", [None, 1.0])
@pytest.mark.parametrize("kind", ["reset", "ramp"])
def test_a_clock_that_is_no_line_is_named_and_its_error_bar_holds_the_truth(kind, sigma):
    motion = np.zeros((N, ROUNDS))
    motion[3] = 50.0 * (np.arange(ROUNDS) > 12) if kind == "reset" else 0.3 * (np.arange(ROUNDS) - 9.5) ** 2
    true, y = measured(0, motion)
    with pytest.warns(ErrorBarWarning, match="Not on a line over time.*: 3. A clock was reset") as caught:
        result = clocks.synchronize(FIRST, SECOND, y, sigma, time=TIME)
    assert all(one.filename == __file__ for one in caught)
    assert not result.is_proved
    assert "Doubtful links" in repr(result)
    assert "Not on a line over time" in str(result)
    off = result.offset - (true - true.mean())
    # the truth is the clock before the reset, and at the bottom of the parabola: within the 95 % intervals
    assert (np.abs(off) < 1.96 * result.standard_error).all()
    assert (np.abs(result.skew) < 1.96 * result.skew_error).all()
    if sigma is not None:
        assert "The rounds scatter more about the lines of their links than sigma says" in str(result)


def test_clocks_on_lines_raise_no_alarm():
    """300 networks at one alarm in 10,000 networks each: two or more have a chance of 5e-4."""
    drift = np.random.default_rng(7).normal(0, 5, N)[:, None] * np.arange(ROUNDS)
    assert sum(bends(measured(1000 + seed, drift)[1]) is not None for seed in range(300)) < 2


def test_few_rounds_and_exact_lines_tell_nothing():
    y = (np.arange(N)[FIRST] - np.arange(N)[SECOND]) * (1.0 + 0.1 * TIME)
    assert bends(y) is None
    few = TIME < 25
    y = measured(1, np.zeros((N, ROUNDS)))[1]
    rounds = rounds_of(N, FIRST[few], SECOND[few], y[few], None, TIME[few], None, True)
    assert bends_of(N, rounds, np.ones(ONE.size, dtype=bool)) is None


def test_bends_are_against_the_reference_or_the_mean():
    motion = np.zeros((N, ROUNDS))
    motion[3] = 0.3 * (np.arange(ROUNDS) - 9.5) ** 2
    found = bends(measured(2, motion)[1])
    rms = 0.3 * np.std((np.arange(ROUNDS) - 9.5) ** 2)
    component = np.zeros(N, dtype=np.int64)
    # the noise of a bend: 1 / sqrt(20 rounds and about 4 links) = 0.1 in each of three degrees
    np.testing.assert_allclose(found.size(component, None)[[3, 0]], [rms * 7 / 8, rms / 8], atol=0.5)
    np.testing.assert_allclose(found.size(component, 3)[[3, 0]], [0, rms], atol=0.5)


def test_sigma_that_the_rounds_contradict_is_said_either_way_and_a_right_one_is_not():
    _, y = measured(3, np.zeros((N, ROUNDS)))
    for sigma, how in ((0.3, "more"), (3.0, "less")):
        with pytest.warns(ErrorBarWarning, match=f"scatter {how} about the lines of their links than sigma says"):
            result = clocks.synchronize(FIRST, SECOND, y, sigma, time=TIME, robust=False)
        assert f"contradict each other {how} than sigma says" in str(result)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = clocks.synchronize(FIRST, SECOND, y, 1.0, time=TIME)
        assert clocks.synchronize(FIRST, SECOND, y, time=TIME).is_proved
    assert result.is_proved
    assert "than sigma says" not in str(result)


def test_errors_that_rounds_of_a_link_share_are_seen_in_the_means():
    _, y = measured(4, np.zeros((N, ROUNDS)))
    biased = y + np.tile(np.random.default_rng(5).normal(0, 3, ONE.size), ROUNDS)
    assert "contradict each other more than the scatter of their rounds explains" in str(
        clocks.synchronize(FIRST, SECOND, biased, time=TIME, robust=False)
    )
