"""Nested dissection: an order with all its fill, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.uncertainty.resistance import (
    collect_pairs,
)
from angsync.uncertainty.resistance.dissection import dissect


def test_a_dissection_is_an_order_with_all_its_fill(network, graph_name):
    pairs, _, _ = network(graph_name)
    graph = pairs.adjacency()
    form = dissect(graph, largest=10_000)
    assert sorted(form.order.tolist()) == list(range(pairs.n))
    # eliminate symbolically, node by node: every neighbor must be among the rows of the block
    place = np.argsort(form.order)
    neighbors = [set(place[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]]) for v in form.order]
    for block, rows in enumerate(form.rows):
        begin, end = form.starts[block], form.starts[block + 1]
        assert rows[-1] == pairs.n
        for here in range(begin, end):
            later = {p for p in neighbors[here] if p > here}
            assert {p for p in later if p >= end} <= set(rows.tolist())
            for p in later:
                neighbors[p] |= later - {p}


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


def test_the_work_is_counted(network):
    # one dense block of k nodes and the anchor: 2 m^2 for m = 1 ... k, twice; less by terms of order k^2
    pairs, _, _ = network("complete")
    form = dissect(pairs.adjacency(), largest=100)
    assert len(form.rows) == 1
    assert form.work == pytest.approx(4 * np.sum(np.arange(61) ** 2), rel=0.05)


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
