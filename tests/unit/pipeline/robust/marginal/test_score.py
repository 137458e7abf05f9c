"""Evidence against integrals done by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged


def triangle(error=0.02, weight=(1.0, 1.0, 1.0)):
    model = Rotations(Edges.of(ang.Measurements([0, 1, 0], [1, 2, 2], [0.3, 0.4, 0.7 + error], list(weight), 3)))
    model.kinds = np.full(3, -1)  # the prior is left out
    return model


def test_a_tree_has_no_evidence():
    model = triangle()
    assert judged(model, np.array([True, True, False]), np.zeros(3), 0.1).evidence == pytest.approx(0, abs=1e-12)


def test_a_closed_triangle_has_that_of_its_misclosure():
    s, error, weight = 0.05, 0.02, (1.0, 4.0, 0.25)
    model = triangle(error, weight)  # the median weight is the unit
    found = judged(model, np.ones(3, dtype=bool), np.zeros(3), s)
    variance = s**2 * sum(1 / w for w in weight)
    density = math.exp(-(error**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    assert found.evidence == pytest.approx(math.log(density * 2 * math.pi), abs=1e-9)
    assert found.cycles == 1


def test_an_unknown_scale_is_integrated_out():
    model = triangle(0.02)
    grid = np.geomspace(model.least_scale, model.largest_scale, 301)
    values = [judged(model, np.ones(3, dtype=bool), np.zeros(3), s).evidence for s in grid]
    density = np.exp(values) / np.log(grid[-1] / grid[0])
    exact = math.log(float(np.sum(density[1:] + density[:-1]) / 2 * np.log(grid[1] / grid[0])))
    # the closed form runs from 0 to infinity: what lies beyond the largest scale, here 0.02 of it, is the difference
    assert judged(model, np.ones(3, dtype=bool), np.zeros(3)).evidence == pytest.approx(exact, abs=0.03)


def test_the_prior_of_all_sets_adds_up_to_one():
    model = triangle()
    model.kinds = np.array([0, 0, 1])
    sets = [np.array([a, b, c]) for a in (False, True) for b in (False, True) for c in (False, True)]
    assert sum(math.exp(model.log_prior(some)) for some in sets) == pytest.approx(2**3)


def test_the_odds_are_the_ratio_of_priors():
    model = triangle()
    model.kinds = np.zeros(3, dtype=np.int64)
    two, three = np.array([True, True, False]), np.ones(3, dtype=bool)
    between = model.log_prior(three) - model.log_prior(two)
    assert model.log_odds(two)[2] <= between <= model.log_odds(three)[2]
