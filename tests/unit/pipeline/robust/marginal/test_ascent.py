"""Gains of groups of edges against evidence reckoned anew."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.ascent import GroupTable, ascend, group_gains, with_bonds
from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged
from angsync.solvers.stopping import Clock


def graph(seed=0, n=12, extra=10, sigma=0.05, bad=()):
    """A path with further edges of small noise; the edges ``bad`` are off by a radian."""
    rng = np.random.default_rng(seed)
    i = np.concatenate([np.arange(n - 1), rng.integers(0, n - 4, extra)])
    j = np.concatenate([np.arange(1, n), i[n - 1 :] + rng.integers(2, 4, extra)])
    theta = rng.uniform(-np.pi, np.pi, n)
    angle = theta[i] - theta[j] + sigma * rng.standard_normal(i.size)
    angle[list(bad)] += 1.0
    model = Rotations(Edges.of(ang.Measurements(i, j, angle, rng.uniform(0.5, 2, i.size), n)))
    model.kinds = np.full(model.edges, -1)  # the prior is left out
    return model, theta


def test_the_gain_of_a_subset_is_the_difference_of_evidence():
    model, theta = graph()
    believed = np.ones(model.edges, dtype=bool)
    believed[[13, 15]] = False
    scale = 0.05
    belief = judged(model, believed, theta, scale)
    group = np.array([[12, 13, 15, 17, -1]])
    table = GroupTable(model, belief, group, scale)
    base = table.moved_to(table.believed)[0]
    for subset in itertools.product([False, True], repeat=4):
        wanted = believed.copy()
        wanted[group[0, :4]] = subset
        exact = judged(model, wanted, theta, scale).evidence - belief.evidence
        # the ridge s^2 / 2 pi w = 4e-4 stands beside leverages of the order of 1
        assert table.moved_to(np.array([[*subset, False]]))[0] - base == pytest.approx(exact, abs=3e-3)
    gains, chosen = group_gains(model, belief, group, scale)
    assert gains[0] >= 0
    assert not chosen[0, 4]


def test_sweeping_in_and_out_leaves_the_table_as_it_was():
    model, theta = graph(1)
    belief = judged(model, np.ones(model.edges, dtype=bool), theta, 0.05)
    table = GroupTable(model, belief, np.array([[11, 14, 16]]), 0.05)
    table.moved_to(np.zeros((1, 3), dtype=bool))
    before = table._M.copy()
    for place in (0, 2, 2, 0):
        table._sweep(np.array([place]), np.array([True]))
    np.testing.assert_allclose(table._M, before, atol=1e-9)


def test_an_edge_that_alone_holds_a_piece_gains_nothing():
    model, theta = graph(extra=0)
    belief = judged(model, np.ones(model.edges, dtype=bool), theta, 0.05)
    table = GroupTable(model, belief, single_edges(np.arange(model.edges)), 0.05)
    np.testing.assert_allclose(table.moved_to(table.believed), 0, atol=2e-3)


def test_the_ascent_finds_the_wrong_edges():
    model, theta = graph(3, bad=(14, 18))
    belief = judged(model, np.ones(model.edges, dtype=bool), theta)
    found = ascend(model, belief, single_edges(np.arange(11, model.edges)), scale=None, clock=Clock(None))
    assert np.flatnonzero(~found.believed).tolist() == [14, 18]
    assert found.evidence > belief.evidence


def test_bonds_hold_what_would_fall_apart():
    model, theta = graph(extra=0)
    believed = np.ones(model.edges, dtype=bool)
    believed[4] = False
    assert with_bonds(model, believed, theta)[4]
