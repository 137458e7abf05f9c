"""Effective resistances: elimination, selected inverse, probing, against dense and exact arithmetic."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import connected_components

import angsync as ang
from angsync.errors import ConvergenceWarning
from angsync.uncertainty.resistance import (
    choice,
    collect_pairs,
    dissection,
    node_variances,
    pair_resistances,
    plan,
    sampling,
)
from angsync.uncertainty.resistance.dissection import dissect
from angsync.uncertainty.resistance.elimination import Elimination


def graphs():
    rng = np.random.default_rng(0)
    k = np.arange(1, 255)
    clique = np.triu_indices(40, 1)
    rim = np.arange(1, 120)
    a, b = rng.integers(0, 200, (2, 150))
    apart = a != b
    grid = ang.simulate.grid(17, 23, 0.1, rng=0).measurements
    chords = rng.integers(0, 150, (2, 60))
    chords = chords[:, chords[0] != chords[1]]
    ring = np.arange(150)
    return {
        "pair": (2, [0], [1]),
        "path": (90, np.arange(89), np.arange(1, 90)),
        "star": (90, np.zeros(89, int), np.arange(1, 90)),
        "binary tree": (255, k, (k - 1) // 2),
        "ring with chords": (150, np.r_[ring, chords[0]], np.r_[(ring + 1) % 150, chords[1]]),
        "wheel": (120, np.r_[np.zeros(119, int), rim], np.r_[rim, np.r_[rim[1:], 1]]),
        "lollipop": (100, np.r_[clique[0], np.arange(39, 99)], np.r_[clique[1], np.arange(40, 100)]),
        "grid": (391, grid.i, grid.j),
        "complete": (60, *np.triu_indices(60, 1)),
        "pieces and isolated nodes": (210, a[apart], b[apart]),
    }


def network(name):
    n, i, j = graphs()[name]
    weight = np.random.default_rng(1).uniform(0.3, 3, len(i))
    pairs = collect_pairs(n, np.asarray(i), np.asarray(j), weight)
    components = connected_components(pairs.adjacency(), directed=False)[1].astype(np.int64)
    conductance = pairs.adjacency().toarray()
    return pairs, components, np.linalg.pinv(np.diag(conductance.sum(0)) - conductance, hermitian=True)


def last_of_each(components):
    return np.array([np.flatnonzero(components == c)[-1] for c in range(components.max() + 1)])


@pytest.mark.parametrize("leaf", [3, 40])
@pytest.mark.parametrize("name", graphs())
def test_the_selected_inverse_is_the_inverse(name, leaf, monkeypatch):
    monkeypatch.setattr(dissection, "_LEAF", leaf)
    monkeypatch.setattr("angsync.uncertainty.resistance.elimination._DIRECT", 4 if leaf == 3 else 96)
    monkeypatch.setattr("angsync.uncertainty.resistance.elimination._PANEL", 5)
    monkeypatch.setattr("angsync.uncertainty.resistance.elimination._LARGE", 30)
    pairs, components, inverse = network(name)
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
    monkeypatch.setattr(dissection, "_LEAF", 4)
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
    monkeypatch.setattr(choice, "_LOST", np.inf)
    assert found != pytest.approx(node_variances(pairs, one, None)[0], rel=1e-12)
    smallest = np.array([np.argmin(found)])
    monkeypatch.setattr(choice, "heaviest", lambda *_: smallest)
    assert found == pytest.approx(node_variances(pairs, one, None)[0], rel=1e-12)


@pytest.mark.parametrize("name", ["ring with chords", "grid", "complete", "pieces and isolated nodes", "star"])
def test_probing_keeps_to_its_law(name, monkeypatch):
    # Relative standard deviation f sqrt(2/k) <= 0.1 with f the 99th percentile. Errors of nodes may be as good as
    # equal (a ring: one wave dominates), so their root mean square is bounded by four standard deviations of one.
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    pairs, components, inverse = network(name)
    diagonal = np.diag(inverse)
    size = np.bincount(components)[components]
    found, method = node_variances(pairs, components, None)
    assert method.name == "probing"
    assert 0 <= method.accuracy <= 0.1 + 1e-9
    joined = size > 1
    assert found[~joined] == pytest.approx(0)
    error = found[joined] / diagonal[joined] - 1
    assert np.sqrt(np.mean(error**2)) < 0.4
    references = last_of_each(components)
    against = references[components]
    expected = diagonal + diagonal[against] - 2 * inverse[np.arange(pairs.n), against]
    found, _ = node_variances(pairs, components, references)
    assert found[references].tolist() == [0] * references.size
    others = joined & (np.arange(pairs.n) != against)
    assert np.sqrt(np.mean((found[others] / expected[others] - 1) ** 2)) < 0.4
    expected = diagonal[pairs.low] + diagonal[pairs.high] - 2 * inverse[pairs.low, pairs.high]
    found, _ = pair_resistances(pairs, components)
    assert np.sqrt(np.mean((found / expected - 1) ** 2)) < 0.4
    assert np.array_equal(found, pair_resistances(pairs, components)[0])  # the same every time


def test_probing_is_unbiased_for_every_node(monkeypatch):
    # 16 samples a call and 60 seeds are 960 samples: relative standard deviation of a mean sqrt(2/960) = 4.6 % of the
    # sampled share; the largest of 25 nodes and 40 pairs stays below 4.5 of them with probability 0.9995
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    monkeypatch.setattr(sampling, "ACCURACY", 10.0)
    grid = ang.simulate.grid(5, 5, 0.1, rng=0).measurements
    weight = np.random.default_rng(0).uniform(0.3, 3, len(grid))
    pairs, one = collect_pairs(25, grid.i, grid.j, weight), np.zeros(25, dtype=np.int64)
    sums = [0.0, 0.0, 0.0]
    references = np.array([7])
    for seed in range(60):
        monkeypatch.setattr(sampling, "_SEED", seed)
        sums[0] = sums[0] + node_variances(pairs, one, None)[0] / 60
        sums[1] = sums[1] + node_variances(pairs, one, references)[0] / 60
        sums[2] = sums[2] + pair_resistances(pairs, one)[0] / 60
    monkeypatch.setattr(choice, "LARGEST_NODES", 1000)
    exact = [
        node_variances(pairs, one, None)[0],
        node_variances(pairs, one, references)[0],
        pair_resistances(pairs, one)[0],
    ]
    for found, expected in zip(sums, exact, strict=True):
        assert found == pytest.approx(expected, rel=4.5 * np.sqrt(2 / 960))


def test_probing_of_the_smallest_components(monkeypatch):
    # A pair has nothing that is known without samples in the mean gauge, (1 - 2/n)/d = 0, and a triangle of weight 1
    # has 1/6 of its 2/9; 960 samples as above. Edges of trees are exact.
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    monkeypatch.setattr(sampling, "ACCURACY", 10.0)
    pairs = collect_pairs(5, np.array([0, 2, 3, 4]), np.array([1, 3, 4, 2]), np.array([4.0, 1, 1, 1]))
    components = np.array([0, 0, 1, 1, 1])
    total = np.zeros(5)
    for seed in range(60):
        monkeypatch.setattr(sampling, "_SEED", seed)
        total += node_variances(pairs, components, None)[0] / 60
    assert total == pytest.approx([1 / 16, 1 / 16, 2 / 9, 2 / 9, 2 / 9], rel=4.5 * np.sqrt(2 / 960))
    assert pair_resistances(pairs, components)[0][0] == 0.25
    path, one, _ = network("path")
    assert pair_resistances(path, one)[0] == pytest.approx(1 / path.conductance, rel=1e-14)


def test_the_better_connected_the_fewer_samples(monkeypatch):
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    pairs, components, _ = network("complete")
    assert "16 samples" in node_variances(pairs, components, None)[1].reason
    pairs, components, _ = network("grid")
    _, method = node_variances(pairs, components, None)
    assert 32 <= int(method.reason.split()[0]) <= 208
    assert "probing, variances to about" in str(method)


def test_solves_that_do_not_finish_say_so(monkeypatch):
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    monkeypatch.setattr(sampling, "_STEPS", 5)
    pairs, components, _ = network("ring with chords")
    with pytest.warns(ConvergenceWarning, match="energy norm"):
        node_variances(pairs, components, None)


@pytest.mark.parametrize("name", graphs())
def test_a_dissection_is_an_order_with_all_its_fill(name):
    pairs, _, _ = network(name)
    graph = pairs.adjacency()
    form = dissect(graph, largest=10_000)
    assert sorted(form.order.tolist()) == list(range(pairs.n))
    # eliminate symbolically, node by node: every neighbour must be among the rows of the block
    place = np.argsort(form.order)
    neighbours = [set(place[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]]) for v in form.order]
    for block, rows in enumerate(form.rows):
        begin, end = form.starts[block], form.starts[block + 1]
        assert rows[-1] == pairs.n
        for here in range(begin, end):
            later = {p for p in neighbours[here] if p > here}
            assert {p for p in later if p >= end} <= set(rows.tolist())
            for p in later:
                neighbours[p] |= later - {p}


def test_the_fill_of_a_grid_is_that_of_nested_dissection():
    # n log n: George (1973) has 31/4 n log2 n for his separators. From 1600 to 25600 nodes the fill per node may grow
    # by 31/4 * 4 = 31; with blocks of up to 40 columns it starts above his.
    fill = []
    for side in (40, 160):
        grid = ang.simulate.grid(side, side, 0.1, rng=0).measurements
        graph = collect_pairs(side**2, grid.i, grid.j, np.ones(len(grid))).adjacency()
        form = dissect(graph, largest=10_000)
        fill.append(form.fill / side**2)
        assert form.largest_front < 4 * side
    assert fill[1] - fill[0] < 31
    assert fill[1] < 80


def test_a_thin_place_is_found():
    # two grids, 40 and 60 % of the nodes, joined by a path: the separator, which is eliminated last, is one node
    a, b = (ang.simulate.grid(rows, 15, 0.1, rng=0).measurements for rows in (14, 21))
    link = np.r_[209, np.arange(525, 531), 210]
    i = np.r_[a.i, b.i + 210, link[:-1]]
    j = np.r_[a.j, b.j + 210, link[1:]]
    form = dissect(collect_pairs(531, i, j, np.ones(i.size)).adjacency(), largest=1000)
    assert np.diff(form.starts)[-1] == 1


def test_what_is_too_full_is_refused_before_it_is_factorised(monkeypatch):
    pairs, components, _ = network("complete")
    monkeypatch.setattr(choice, "LARGEST_FRONT", 20)
    assert plan(pairs, components).name == "probing"
    assert "no small separators" in plan(pairs, components).reason
    monkeypatch.setattr(choice, "LARGEST_FRONT", 2000)
    assert "the factor holds 3540 numbers" in plan(pairs, components).reason  # 59 columns of 60
    monkeypatch.setattr(choice, "LARGEST_FILL", 3539)
    assert "too many" in plan(pairs, components).reason


def test_the_work_is_counted():
    # one dense block of k nodes and the anchor: 2 m^2 for m = 1 ... k, twice; less by terms of order k^2
    pairs, _, _ = network("complete")
    form = dissect(pairs.adjacency(), largest=100)
    assert len(form.rows) == 1
    assert form.work == pytest.approx(4 * np.sum(np.arange(61) ** 2), rel=0.05)


def test_solves_with_several_right_hand_sides():
    pairs, _, _ = network("grid")
    graph = pairs.adjacency()
    ground = np.zeros(pairs.n)
    ground[5] = 2.0
    factor = Elimination(graph, ground, dissect(graph, largest=1000))
    matrix = scipy.sparse.diags_array(graph.sum(axis=1) + ground) - graph
    right = np.random.default_rng(0).standard_normal((pairs.n, 3))
    assert matrix @ factor.solve(right) == pytest.approx(right, abs=1e-9)
    assert factor.solve(right[:, 1]) == pytest.approx(factor.solve(right)[:, 1])


@pytest.mark.parametrize("probing", [False, True])
def test_memory_stays_far_below_a_square_matrix(probing, monkeypatch):
    # n = 10000: a square matrix takes 800 MB. The factor has about 52 numbers a node (4 MB), fronts and index arrays
    # some more; sampling holds blocks of 16 vectors (1.3 MB each).
    n = 10_000
    grid = ang.simulate.grid(100, 100, 0.1, rng=0).measurements
    pairs, one = collect_pairs(n, grid.i, grid.j, np.ones(len(grid))), np.zeros(n, dtype=np.int64)
    if probing:
        monkeypatch.setattr(choice, "LARGEST_NODES", -1)
        monkeypatch.setattr(sampling, "ACCURACY", 10.0)
    tracemalloc.start()
    try:
        _, method = node_variances(pairs, one, None)
        pair_resistances(pairs, one)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert method.name == ("probing" if probing else "selected inverse")
    assert peak < 60e6


@pytest.mark.parametrize("spokes", [1, 2])
def test_hubs_do_not_fill_the_factor(spokes):
    # wheels: hubs that are joined to every node of a rim of 3000. Cut across the rim, with the hubs last, blocks of 40
    # have some 40 columns of 40 + 4 + hubs rows; a breadth-first separator alone would hold a large part of the rim.
    rim = np.arange(3000)
    hubs = np.repeat(3000 + np.arange(spokes), 3000)
    i, j = np.r_[rim, np.tile(rim, spokes)], np.r_[(rim + 1) % 3000, hubs]
    pairs = collect_pairs(3000 + spokes, i, j, np.ones(i.size))
    form = dissect(pairs.adjacency(), largest=10_000)
    assert form.largest_front < 80
    assert form.fill < 80 * pairs.n
