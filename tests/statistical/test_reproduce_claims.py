"""The claims of the reproduction run that need many draws, and the run as users start it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from angsync import simulate
from angsync.circle import distance
from angsync.study.reproduce import CLAIMS, FULL, QUICK, run_experiments
from angsync.study.reproduce.efficiency import _predicted, cramer_rao
from angsync.study.reproduce.rows import mean_and_error
from angsync.study.reproduce.runs import maximizer


def test_the_control_variate_has_the_bound_as_its_mean():
    n, sigma = 15, 0.8
    values = [_predicted(simulate.gaussian(n, sigma, rng=seed)) for seed in range(3000)]
    mean, error = mean_and_error(values)
    assert abs(mean - cramer_rao(n, sigma)) < 4 * error
    assert error < 0.02 * mean


def test_the_control_variate_follows_the_error():
    """It is the error up to the third order: what is left is smaller by the square of the noise."""
    n = 100
    for noise in (0.02, 0.04):
        left = []
        for seed in range(40):
            problem = simulate.gaussian(n, noise * math.sqrt(n), rng=seed)
            error = distance(maximizer(problem.C, problem.z), problem.z) ** 2
            left.append((error - _predicted(problem)) / cramer_rao(n, problem.sigma))
        assert np.abs(left).max() < 10 * noise**2


def test_sizes_are_those_that_were_promised():
    assert FULL.theorems >= 1000
    assert FULL.convergence >= 200
    assert QUICK.theorems >= 200
    assert QUICK.convergence >= 40
    assert FULL.bound_order == QUICK.bound_order == 1000


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_quick_run_holds_every_row(seed):
    results = run_experiments(quick=True, seed=seed)
    assert results.violated == []
    assert [row.id for row in results.rows] == list(CLAIMS)
    rows = {entry["method"]: entry for entry in results.series["efficiency"] if entry["n"] == 1000}
    # state evolution: the phases of c z* + noise g with c the mean cosine of their own error give 1.036 and 1.058
    assert abs(rows["gpm"]["ratio"] - 1.036) < 4 * rows["gpm"]["standard_error"] + 0.003
    assert abs(rows["eigenvector"]["ratio"] - 1.058) < 4 * rows["eigenvector"]["standard_error"] + 0.003
    if seed == 0:
        assert_same_but_for_rounding((DOCS / "_parts" / "reproduction.md").read_text(), results.markdown())


DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:\.\d+)?(?:e[+-]?\d+)?")
ROUNDING = 1e-8  # what is smaller is the rounding of one machine


def assert_same_but_for_rounding(committed, measured):
    """Compare the table of the theory page, which `angsync reproduce --quick` wrote, with a run of today."""
    assert NUMBER.sub("#", committed) == NUMBER.sub("#", measured)
    for before, now in zip(NUMBER.findall(committed), NUMBER.findall(measured), strict=True):
        small = max(float(before), float(now)) < ROUNDING
        assert small or float(now) == pytest.approx(float(before), rel=0.02), (before, now)
