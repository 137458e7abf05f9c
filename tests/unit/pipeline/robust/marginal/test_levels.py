"""Angles on few levels agree by chance; angles of any value do not seem to lie on levels."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.levels import evidence_on_levels, levels_of
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged


def graph(rng):
    n = int(rng.integers(8, 25))
    m = int(0.9 * n)
    return np.r_[np.arange(n - 1), rng.integers(0, n // 3, m)], np.r_[np.arange(1, n), rng.integers(n // 2, n, m)], n


@pytest.mark.filterwarnings("ignore::angsync.errors.CorruptionWarning")
@pytest.mark.parametrize(
    ("seed", "count", "jitter"), [(19, 6, 1e-4), (20, 6, 1e-9), (24, 24, 1e-9), (26, 24, 1e-4), (37, 2, 0.01)]
)
def test_random_angles_on_levels_are_not_credible(seed, count, jitter):
    rng = np.random.default_rng(seed)  # all five were credible where wrong ones are taken for uniform
    i, j, n = graph(rng)
    rng.choice(7), rng.choice(4), rng.random()
    angle = 2 * np.pi / count * rng.integers(0, count, i.size) + jitter * rng.standard_normal(i.size)
    report = ang.synchronize(ang.Measurements(i, j, angle, n=n), solver=ang.Robust()).robust
    assert report.credible is not True
    assert report.credible is False or "levels" in report.note


def belief(angle, i, j, n, wrong, theta):
    model = Rotations(Edges.of(ang.Measurements(i, j, angle, n=n)))
    return model, judged(model, ~wrong, theta)


@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 0.05])
def test_wrong_angles_of_any_value_have_no_levels(sigma):
    rng = np.random.default_rng(3)
    i, j = np.triu_indices(20, 1)
    wrong = rng.random(i.size) < 0.3
    for field in (rng.uniform(-3, 3, 20), np.zeros(20)):  # angles of any value, and all near 0
        angle = field[i] - field[j] + sigma * rng.standard_normal(i.size)
        angle[wrong] = rng.uniform(-np.pi, np.pi, int(wrong.sum()))
        model, best = belief(angle, i, j, 20, wrong, field)
        assert levels_of(model, best) == math.inf


@pytest.mark.parametrize("count", [2, 4, 12])
def test_levels_are_counted(count):
    rng = np.random.default_rng(count)
    i, j = np.triu_indices(20, 1)
    wrong = rng.random(i.size) < 0.3
    angle = np.where(wrong, 2 * np.pi / count * rng.integers(1, count, i.size), 0) + 1e-3 * rng.standard_normal(i.size)
    model, best = belief(angle, i, j, 20, wrong, np.zeros(20))
    # 55 errors, 1500 pairs of which 2/k coincide: known to a tenth; half of the levels of even k lie alone
    assert count / 2 <= levels_of(model, best) <= 1.5 * count
    # 134 + 1 - 20 cycles close by one in k
    assert evidence_on_levels(model, best, count) == pytest.approx(
        best.cycles * math.log(count) + model.log_prior(~wrong)
    )


@pytest.mark.filterwarnings("error")
def test_signs_that_agree_are_credible_where_there_are_cycles_enough():
    # 190 signs, 19 of them flipped: 152 cycles close, by chance with probability 2^-152
    rng = np.random.default_rng(1)
    i, j = np.triu_indices(20, 1)
    sign = np.pi * rng.integers(0, 2, 20)
    angle = sign[i] - sign[j] + 1e-3 * rng.standard_normal(i.size)
    angle[rng.choice(i.size, 19, replace=False)] += np.pi
    report = ang.synchronize(ang.Measurements(i, j, angle), solver=ang.Robust(loss="evidence")).robust
    assert report.credible is True
    assert report.distrusted.sum() == 19
