"""Rows and gaps: what is counted as held, and how it is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync.study.reproduce
from angsync import simulate
from angsync.problem import objective
from angsync.study.reproduce.rows import Inequalities, frequency, mean_and_error, with_error
from angsync.study.reproduce.runs import objective_gap


def test_inequalities():
    checked = Inequalities()
    assert not checked.held  # nothing was checked
    checked.add([1.0, 2.0], [2.0, 2.0])
    assert checked.held
    assert checked.shares == [pytest.approx(1.0)]
    checked.add(math.nan, 1.0)
    assert checked.violations == 1
    checked.add(1.001, 1.0)
    assert (checked.violations, checked.cases) == (2, 4)
    assert "2 of 4 inequalities violated" in str(checked)


def test_means_and_frequencies_carry_their_errors():
    mean, error = mean_and_error([1.0, 2.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert with_error([1.0, 2.0, 3.0]) == "2.00 +- 0.58"
    assert with_error([1.0]) == "1"
    assert frequency(0, 300) == "0 of 300 (below 0.01 with 95 % confidence)"
    assert frequency(50, 100) == "50 of 100 (0.5 +- 0.05)"


def test_gap_is_that_of_f_where_f_can_tell_and_quadratic_where_it_cannot():
    problem = simulate.gaussian(30, 0.5, rng=4)
    zhat = angsync.synchronize(problem.C).z
    for turn in (0.3, 1e-7):
        z = zhat * np.exp(1j * turn * np.cos(np.arange(30.0)))
        gap, rounding = objective_gap(problem.C, z * np.exp(0.7j), zhat)
        if turn > 0.1:
            assert gap == pytest.approx(objective.objective(problem.C, zhat) - objective.objective(problem.C, z))
        else:
            assert 0.5 < gap / (30 * turn**2 * 15) < 2  # f itself has an eps of 2e-13, the gap is 4e-12
        assert rounding < 1e-3 * gap
