"""Elimination and the selected inverse, against dense and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from problems import last_of_each

import angsync as ang
from angsync.uncertainty.resistance import choice, collect_pairs, dissection, node_variances, pair_resistances
from angsync.uncertainty.resistance.dissection import dissect
from angsync.uncertainty.resistance.elimination import Elimination


@pytest.mark.parametrize("leaf", [3, 40])
def test_the_selected_inverse_is_the_inverse(network, graph_name, leaf, monkeypatch):
    monkeypatch.setattr(dissection, "_LEAF_NODES", leaf)
    monkeypatch.setattr("angsync.uncertainty.resistance.elimination._NO_PANELS_UP_TO_ORDER", 4 if leaf == 3 else 96)
    monkeypatch.setattr("angsync.uncertainty.resistance.elimination._PANEL_COLUMNS", 5)
    monkeypatch.setattr("angsync.uncertainty.resistance.elimination._WIDE_PANELS_ABOVE_ORDER", 30)
    pairs, components, inverse = network(graph_name)
    diagonal = np.diag(inverse)
    found, method = node_variances(pairs, components, None)
    assert method.name == "selected inverse"
    assert method.accuracy == 0
    assert found == pytest.approx(diagonal, rel=1e-8, abs=1e-12)
    references = last_of_each(components)
    against = references[components]
    expected = diagonal + diagonal[against] - 2 * inverse[np.arange(pairs.n), against]
    assert node_variances(pairs, components, references)[0] == pytest.approx(expected, rel=1e-8, abs=1e-11)
    expected = diagonal[pairs.low] + diagonal[pairs.high] - 2 * inverse[pairs.low, pairs.high]
    assert pair_resistances(pairs, components)[0] == pytest.approx(expected, rel=1e-8)
    solve = choice.pseudo_inverse(pairs, components)
    right = np.random.default_rng(2).standard_normal(pairs.n)
    assert solve(right) == pytest.approx(inverse @ right, rel=1e-8, abs=1e-9)


def test_weights_over_twenty_four_orders_of_magnitude_keep_their_digits(monkeypatch):
    # against rational arithmetic: nothing is lost, although the condition number is beyond 1e24
    monkeypatch.setattr(dissection, "_LEAF_NODES", 4)
    rng = np.random.default_rng(3)
    n = 20
    i = np.r_[np.arange(n - 1), rng.integers(0, n, 15)]
    j = np.r_[np.arange(1, n), rng.integers(0, n, 15)]
    i, j = i[i != j], j[i != j]
    weight = 10 ** rng.uniform(-12, 12, i.size)
    Z = rational_inverse(n, i, j, weight)
    rows = [sum(row) / n for row in Z]
    mean = [float(Z[a][a] - 2 * rows[a] + sum(rows) / n) for a in range(n)]
    pairs, one = collect_pairs(n, i, j, weight), np.zeros(n, dtype=np.int64)
    assert node_variances(pairs, one, None)[0] == pytest.approx(mean, rel=1e-12)
    grounded = [float(Z[a][a]) for a in range(n)]
    assert node_variances(pairs, one, np.array([0]))[0] == pytest.approx(grounded, rel=1e-12)
    ends = zip(pairs.low, pairs.high, strict=True)
    expected = [float(Z[a][a] + Z[b][b] - 2 * Z[a][b]) for a, b in ends]
    assert pair_resistances(pairs, one)[0] == pytest.approx(expected, rel=1e-12)


def rational_inverse(n, i, j, weight):
    """Inverse of the Laplacian without node 0, by elimination of fractions; row and column 0 are zeros."""
    L = [[Fraction(0)] * (2 * n) for _ in range(n)]
    for a, b, w in zip(i.tolist(), j.tolist(), map(Fraction, weight.tolist()), strict=True):
        for x, y, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            L[x][y] += sign * w
    for a in range(1, n):
        L[a][n + a] = Fraction(1)
    for column in range(1, n):
        L[column] = [x / L[column][column] for x in L[column]]
        for row in range(1, n):
            if row != column and L[row][column]:
                L[row] = [x - L[row][column] * y for x, y in zip(L[row], L[column], strict=True)]
    return [[Fraction(0)] * n] + [[Fraction(0), *L[a][n + 1 :]] for a in range(1, n)]


def test_a_weakly_tied_anchor_costs_no_digits(monkeypatch):
    # The heaviest node hangs by 1e-13 from a grid of weight 1: from there all resistances are 1e13, and the variances
    # against the mean, 1e13 (2 / 402)^2 in the grid, lose four or five digits. A second elimination, anchored at the
    # node of least variance, keeps them.
    grid = ang.simulate.grid(20, 20, 0.1, rng=0).measurements
    i, j = np.r_[grid.i, 399, 400], np.r_[grid.j, 400, 401]
    pairs = collect_pairs(402, i, j, np.r_[np.ones(len(grid)), 1e-13, 1e6])
    one = np.zeros(402, dtype=np.int64)
    assert choice.heaviest(pairs, one)[0] >= 400
    found = node_variances(pairs, one, None)[0]
    monkeypatch.setattr(choice, "_WORST_CANCELLATION", np.inf)
    assert found != pytest.approx(node_variances(pairs, one, None)[0], rel=1e-12)
    smallest = np.array([np.argmin(found)])
    monkeypatch.setattr(choice, "heaviest", lambda *_: smallest)
    assert found == pytest.approx(node_variances(pairs, one, None)[0], rel=1e-12)


def test_solves_with_several_right_hand_sides(network):
    pairs, _, _ = network("grid")
    graph = pairs.adjacency()
    ground = np.zeros(pairs.n)
    ground[5] = 2.0
    factor = Elimination(graph, ground, dissect(graph, largest=1000))
    matrix = scipy.sparse.diags_array(graph.sum(axis=1) + ground) - graph
    right = np.random.default_rng(0).standard_normal((pairs.n, 3))
    assert matrix @ factor.solve(right) == pytest.approx(right, abs=1e-9)
    assert factor.solve(right[:, 1]) == pytest.approx(factor.solve(right)[:, 1])
