"""The options of a call: what each may be, and the message for everything else, before any work."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import (
    InputError,
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": "fast"}, "solver must be"),
        ({"solver": ang.GPM}, r"GPM\(\) instead of GPM"),
        ({"solver": 3}, "init and step"),
        ({"on_failure": "explode"}, "on_failure must be"),
        ({"hermitian": "both"}, "hermitian must be"),
        ({"start": "middle"}, "start must be"),
        ({"rng": -1}, "rng must be"),
        ({"rng": "seed"}, "rng must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        ang.synchronize(np.ones((3, 3)), **arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stopping": 1e-10}, r"stopping must be ang.Stopping\(tolerance=...\), but it is 1e-10"),
        ({"callback": 3}, "callback must be a function"),
        ({"anchors": [1]}, r"anchors must be a dictionary \{node: angle\}"),
        ({"priors": 2.0}, r"priors must be a dictionary \{node: \(angle, weight\)\}"),
        ({"solver": 3}, "init and step, which 3 has not"),
    ],
)
def test_options_of_another_kind_are_named(options, message):
    with pytest.raises(InputError, match=message):
        ang.synchronize(np.eye(3), **options)


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
