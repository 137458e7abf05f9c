"""Bridges, cuts of two edges and the weakest cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import angsync as ang
from angsync.errors import InputError
from angsync.uncertainty import weakest_cut
from angsync.uncertainty.cycle_labels import bridges_of


def count_components(n, i, j):
    return connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)[0]


def by_removal(m, weight):
    """Bridges and cuts of two edges, by taking edges away."""
    used = np.flatnonzero(weight > 0)
    whole = count_components(m.n, m.i[used], m.j[used])

    def separates(edges):
        rest = np.setdiff1d(used, edges)
        return count_components(m.n, m.i[rest], m.j[rest]) > whole

    bridges = [int(e) for e in used if separates([e])]
    others = [int(e) for e in used if e not in bridges]
    return bridges, [list(pair) for pair in itertools.combinations(others, 2) if separates(pair)]


def random_graph(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    i, j = rng.integers(0, n, (2, int(rng.integers(1, 2 * n))))
    i, j = i[i != j], j[i != j]
    weight = rng.choice([0.0, 1.0, 2.0, 5.0], i.size, p=[0.1, 0.5, 0.2, 0.2])
    return ang.Measurements(i, j, np.zeros(i.size), weight=weight, n=n)


@pytest.mark.parametrize("seed", range(40))
def test_bridges_and_cuts_are_those_found_by_taking_edges_away(seed):
    m = random_graph(seed)
    found = ang.connectivity_of(m)
    bridges, pairs = by_removal(m, m.weight)
    assert found.bridges.tolist() == bridges
    assert sorted(sorted(pair) for pair in found.cut_pairs.tolist()) == pairs
    assert bridges_of(m, m.weight).tolist() == bridges
    assert found.components == count_components(m.n, m.i[m.weight > 0], m.j[m.weight > 0])


@pytest.mark.parametrize("seed", range(40))
def test_the_weakest_cut_is_a_cut_and_its_ratio_is_bounded_by_the_eigenvalue(seed):
    m = random_graph(seed)
    found = ang.connectivity_of(m)
    if not (m.weight > 0).any():
        assert found.weakest_cut_found == "none"
        assert found.weakest_cut_side.size == 0
        return
    used = m.weight > 0
    graph = coo_array((m.weight[used], (m.i[used], m.j[used])), shape=(m.n, m.n))
    components = connected_components(graph, directed=False)[1]
    side = found.weakest_cut_side
    assert np.unique(components[side]).size == 1
    size = int(np.sum(components == components[side[0]]))
    assert 1 <= side.size <= size / 2
    crossing = used & (np.isin(m.i, side) != np.isin(m.j, side))
    assert found.weakest_cut_edges.tolist() == np.flatnonzero(crossing).tolist()
    assert found.weakest_cut_weight == pytest.approx(m.weight[crossing].sum())
    ratio = found.weakest_cut_weight * size / (side.size * (size - side.size))
    assert found.weakest_cut_ratio == pytest.approx(ratio)
    L = np.zeros((m.n, m.n))
    np.add.at(L, (m.i, m.j), -m.weight)
    L = L + L.T
    L -= np.diag(L.sum(axis=0))
    values = np.linalg.eigvalsh(L)
    smallest = values[found.components]  # one zero a component
    assert found.fiedler_value == pytest.approx(smallest, rel=1e-6)
    assert found.weakest_cut_ratio >= smallest * (1 - 1e-9)
    # no single node and no bridge is better
    degree = np.diag(L)
    sizes = np.bincount(components)[components]
    nodes = sizes > 1
    assert found.weakest_cut_ratio <= np.min(degree[nodes] * sizes[nodes] / (sizes[nodes] - 1)) * (1 + 1e-9)


def test_parallel_measurements_are_no_bridge():
    found = ang.connectivity_of(ang.Measurements([0, 1, 1], [1, 0, 2], np.zeros(3)))
    assert found.bridges.tolist() == [2]
    assert found.cut_pairs.tolist() == [[0, 1]]


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


def test_a_long_ring_has_groups_but_too_many_pairs_to_list():
    n = 6000
    found = ang.connectivity_of(ang.simulate.ring(n, 0.1, rng=0).measurements)
    assert found.bridges.size == 0
    assert [group.size for group in found.cut_groups] == [n]
    with pytest.raises(InputError, match="cut_groups"):
        _ = found.cut_pairs
    assert found.weakest_cut_edges.size == 2
    assert found.weakest_cut_side.size == n // 2


def test_a_long_path_is_all_bridges():
    n = 20_000
    found = ang.connectivity_of(ang.Measurements(np.arange(n - 1), np.arange(1, n), np.zeros(n - 1)))
    assert found.bridges.tolist() == list(range(n - 1))
    assert abs(found.weakest_cut_side.size - n // 2) <= 1
    assert found.fiedler_value == pytest.approx(2 - 2 * np.cos(np.pi / n), rel=1e-6)


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


def test_weights_over_twelve_orders_of_magnitude():
    a, b = np.triu_indices(10, 1)
    i, j = np.r_[a, a + 10, 0, 5], np.r_[b, b + 10, 10, 15]
    weight = np.r_[np.full(2 * a.size, 1e6), 1e-6, 2e-6]
    found = ang.connectivity_of(ang.Measurements(i, j, np.zeros(i.size), weight=weight))
    assert found.weakest_cut_weight == pytest.approx(3e-6)
    assert found.weakest_cut_side.size == 10
    assert found.weakest_cut_ratio == pytest.approx(found.fiedler_value, rel=1e-6)


def test_wrong_labels_are_seen_and_drawn_again(monkeypatch):
    # a generator whose first labels are all alike: edges that two others span look like bridges
    class Alike:
        calls = 0

        def __init__(self):
            self.rng = np.random.default_rng(5)

        def integers(self, low, high, size, **options):
            Alike.calls += 1
            if Alike.calls == 1:
                return np.full(size, 7, dtype=np.uint64)
            return self.rng.integers(low, high, size, **options)

    m = ang.simulate.grid(4, 5, 0.1, rng=0).measurements
    expected = ang.connectivity_of(m).cut_pairs.tolist()
    real = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Alike() if seed == 1 else real(seed))
    assert ang.connectivity_of(m).cut_pairs.tolist() == expected
    assert Alike.calls == 2


def test_the_text_names_nodes_by_their_labels():
    m = ang.Measurements(["oslo", "rome", "bern", "bern"], ["rome", "bern", "oslo", "kiel"], np.zeros(4))
    text = str(ang.synchronize(m).connectivity())
    assert text.splitlines()[0] == "4 nodes, 4 measurements, 1 component"
    assert "1 edge: 'bern' - 'kiel'" in text
    assert "3 edges in 1 group" in text
    assert "best found" in text
    numbers = str(ang.connectivity_of(ang.simulate.grid(8, 8, 0.1, rng=0).measurements))
    assert "none: every edge is checked by others" in numbers
    assert "and 2 more" in numbers
    alone = ang.connectivity_of(ang.Measurements([], [], [], n=3))
    assert str(alone).splitlines()[0] == "3 nodes, 0 measurements, 3 components"


def test_the_result_uses_the_information_of_the_edges():
    C = np.zeros((4, 4), dtype=complex)
    for a, b, w in ((0, 1, 3.0), (1, 2, 3.0), (2, 3, 3.0), (3, 0, 0.5), (1, 3, 0.5)):
        C[a, b] = C[b, a] = w
    found = ang.synchronize(C).connectivity()
    # {0, 1} against {2, 3}: 3 + 0.5 + 0.5, ratio 4 * 4 / (2 * 2) = 4; the lightest node, 0, has 3.5 * 4 / 3 = 4.7
    assert found.weakest_cut_weight == pytest.approx(4, abs=1e-9)
    assert found.weakest_cut_ratio == pytest.approx(4, abs=1e-9)


def test_wrong_weights_are_refused():
    with pytest.raises(InputError, match="one entry for each of the 1 edges"):
        ang.connectivity_of(ang.Measurements([0], [1], [0.0]), np.ones(2))
