"""Bridges, cuts of two edges and the weakest cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import angsync as ang
from angsync.errors import InputError
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


def test_weights_over_twelve_orders_of_magnitude():
    a, b = np.triu_indices(10, 1)
    i, j = np.r_[a, a + 10, 0, 5], np.r_[b, b + 10, 10, 15]
    weight = np.r_[np.full(2 * a.size, 1e6), 1e-6, 2e-6]
    found = ang.connectivity_of(ang.Measurements(i, j, np.zeros(i.size), weight=weight))
    assert found.weakest_cut_weight == pytest.approx(3e-6)
    assert found.weakest_cut_side.size == 10
    assert found.weakest_cut_ratio == pytest.approx(found.fiedler_value, rel=1e-6)


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


def test_the_short_form_is_one_line_without_arrays():
    square = ang.Measurements([0, 1, 2, 3, 0], [1, 2, 3, 0, 4], np.zeros(5))
    shown = repr(ang.connectivity_of(square))
    assert shown.startswith("Connectivity(5 nodes, 1 component, 1 bridge, 4 edges in cuts of two, weakest cut")
    assert "array" not in shown
