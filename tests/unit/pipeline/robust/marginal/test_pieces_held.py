"""Bridges of the believed graph, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.pieces_held import Bridges, _BlockTree
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged
from angsync.pipeline.robust.marginal.search import Task


@pytest.mark.parametrize("seed", range(5))
def test_bridges_and_crossing_edges(seed):
    graph = nx.gnm_random_graph(30, 34, seed=seed)
    i, j = np.array(graph.edges()).T
    model = Rotations(Edges.of(ang.Measurements(i, j, np.zeros(i.size), n=30)))
    rng = np.random.default_rng(seed)
    believed = np.ones(i.size, dtype=bool)
    inside_cycles = [k for k in range(i.size) if (i[k], j[k]) not in set(nx.bridges(graph))]
    believed[rng.choice(inside_cycles)] = False
    best = judged(model, believed, np.zeros(30), 0.1)
    tree = _BlockTree(model, best)
    left = nx.Graph(graph)
    left.remove_edges_from([(i[k], j[k]) for k in np.flatnonzero(~believed)])
    assert {frozenset((int(i[k]), int(j[k]))) for k in tree.bridge[tree.bridge >= 0]} == {
        frozenset(pair) for pair in nx.bridges(left)
    }
    crossing = tree.crossing(np.flatnonzero(~believed), np.ones(i.size))
    for node in np.flatnonzero(tree.bridge >= 0):
        cut = nx.Graph(left)
        k = tree.bridge[node]
        cut.remove_edge(int(i[k]), int(j[k]))
        side = nx.node_connected_component(cut, int(node))
        assert tree.below[node] == len(side)
        assert crossing[node] == sum((i[k] in side) != (j[k] in side) for k in np.flatnonzero(~believed))


def test_a_tail_is_expected_to_be_wrong_as_often_as_the_others_are():
    n = 20
    i, j = np.array([*[(k, k + 1) for k in range(n - 1)], *[(k, k + 2) for k in range(9)]]).T
    model = Rotations(Edges.of(ang.Measurements(i, j, np.zeros(i.size), n=n)))
    believed = np.ones(i.size, dtype=bool)
    believed[[20, 22]] = False
    nothing = np.zeros(i.size, dtype=bool)
    task = Task(model, believed, nothing, None, (0.1,), single_edges([]), single_edges([]))
    found = Bridges.of(task, judged(model, believed, np.zeros(n), 0.1))
    assert found.share.size == 9
    np.testing.assert_allclose(found.wrong, 3 / (i.size + 2))  # (wrong + 1) / (all + 2)
    np.testing.assert_allclose(np.sort(found.share), np.arange(1, 10) / n)
