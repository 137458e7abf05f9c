"""The weakest cut: by the Fiedler vector, at a node, at a bridge."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.uncertainty import weakest_cut


def test_a_barbell_is_weakest_at_its_bar():
    k = 12
    a, b = np.triu_indices(k, 1)
    m = ang.Measurements(np.r_[a, a + k, 3], np.r_[b, b + k, 17], np.zeros(2 * a.size + 1))
    found = ang.connectivity_of(m)
    assert found.bridges.tolist() == [2 * a.size]
    assert found.weakest_cut_edges.tolist() == found.bridges.tolist()
    assert found.weakest_cut_side.size == k
    assert found.weakest_cut_ratio == pytest.approx(2 * k / k**2)


def test_a_light_node_and_a_light_bridge_are_seen(monkeypatch):
    # With the Fiedler vector taken away (a constant one gives useless cuts), nodes and bridges are still weighed.
    monkeypatch.setattr(weakest_cut, "_fiedler", lambda pairs, _: (0.0, np.zeros((pairs.n, 2))))
    a, b = np.triu_indices(6, 1)
    weight = np.where((a == 4) | (b == 4), 0.01, 1.0)
    found = ang.connectivity_of(ang.Measurements(a, b, np.zeros(a.size), weight=weight))
    assert found.weakest_cut_found == "node"
    assert found.weakest_cut_side.tolist() == [4]
    m = ang.Measurements(np.r_[a, a + 6, 2], np.r_[b, b + 6, 8], np.zeros(31))
    found = ang.connectivity_of(m)
    assert found.weakest_cut_found == "bridge"
    assert sorted(found.weakest_cut_side.tolist()) in ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11])
    # of two bridges the heavier one is the weaker cut where more hangs on it
    weight = np.r_[np.ones(31), 0.9]
    m = ang.Measurements(np.r_[a, a + 6, 2, 9], np.r_[b, b + 6, 8, 12], np.zeros(32), weight=weight)
    found = ang.connectivity_of(m)
    assert found.bridges.tolist() == [30, 31]
    assert found.weakest_cut_edges.tolist() == [30]


def test_a_square_grid_is_cut_across_although_its_fiedler_vector_is_not_unique():
    found = ang.connectivity_of(ang.simulate.grid(12, 12, 0.1, rng=0).measurements)
    # straight across: 12 edges between halves; a slanted cut has more
    assert found.weakest_cut_side.size == 72
    assert found.weakest_cut_weight <= 14
    assert found.fiedler_value == pytest.approx(2 - 2 * np.cos(np.pi / 12), rel=1e-6)


def test_without_a_factor_the_cut_is_found_by_products(monkeypatch):
    monkeypatch.setattr("angsync.uncertainty.resistance.choice.LARGEST_NODES", -1)
    rng = np.random.default_rng(0)
    a, b = np.triu_indices(40, 1)
    m = ang.Measurements(np.r_[a, a + 40, 0, 1, 2], np.r_[b, b + 40, 40, 41, 42], np.zeros(2 * a.size + 3))
    found = ang.connectivity_of(m)
    assert found.weakest_cut_edges.tolist() == [2 * a.size, 2 * a.size + 1, 2 * a.size + 2]
    assert found.weakest_cut_side.size == 40
    apart = ang.Measurements(np.r_[m.i, m.i + 80], np.r_[m.j, m.j + 80], np.zeros(2 * len(m)), n=161)
    weight = np.r_[np.ones(len(m)), rng.uniform(2, 3, len(m))]
    found = ang.connectivity_of(apart, weight)
    assert found.components == 3
    assert found.weakest_cut_weight == pytest.approx(3)
