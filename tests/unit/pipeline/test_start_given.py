"""A start given by the caller: phases, an earlier result, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang


def test_starting_from_an_earlier_result_and_from_phases():
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    first = ang.synchronize(problem.C)
    again = ang.synchronize(problem.C, start=first)
    assert again.iterations == 0
    assert ang.distance(again.z, first.z) < 1e-9
    assert ang.synchronize(problem.C, start=2.5 * first.z).iterations == 0  # any modulus: phases count


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("best", "start must be"),
        (np.ones(3), "length 4"),
        (np.array([1, 1, 0, 1]), r"start\[2\] is 0"),
        (np.array([1, 1, np.nan, 1]), r"start\[2\]"),
        (np.array(["a"] * 4), "numeric"),
    ],
)
def test_bad_starts(start, message):
    with pytest.raises(ang.errors.InputError, match=message):
        ang.synchronize(np.ones((4, 4)), start=start)
