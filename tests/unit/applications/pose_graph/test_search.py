"""The search for the edges to believe: false loops found, good ones kept, limits."""

from __future__ import annotations

import numpy as np
import pytest
from false_loops import PAIRS, walk, with_false
from pose_graphs import motions

from angsync.applications.pose_graph import PoseGraph
from angsync.applications.pose_graph.backbone import backbone, trusted_edges
from angsync.applications.pose_graph.model import PoseModel
from angsync.applications.pose_graph.search import Groups, Search
from angsync.solvers.stopping import Clock


def searched(graph, trusted="odometry", scale=None, clock=None):
    spine = backbone(graph, trusted_edges(graph, trusted))
    search = Search(PoseModel(graph), spine, scale, clock or Clock())
    search.run()
    return search


@pytest.mark.parametrize("cluster", [1, 5])
@pytest.mark.parametrize("trusted", ["odometry", None])
def test_false_loops_are_found_and_good_ones_kept(cluster, trusted):
    truth, graph = walk(seed=5, scale=0.3)
    given, false = with_false(graph, truth, PAIRS, cluster=cluster)
    found = searched(given, trusted).finished()
    assert np.array_equal(found.believed, ~false)
    # 3 x 32 cycles: sqrt(1 / (2 x 96)) = 0.07 relative, four of them
    assert found.scale == pytest.approx(0.3, rel=0.29)


def test_a_wrong_step_is_found_where_nothing_is_trusted():
    _, graph = walk(seed=6)
    motion = graph.motion.copy()
    motion[70] += [1.0, 1.0, 0.5]
    spoiled = type(graph)(graph.i, graph.j, motion, graph.information)
    found = searched(spoiled, None).finished()
    # steps 69, 70 and 71 lie between two loops: which of them is wrong cannot be told
    assert np.flatnonzero(~found.believed).tolist() in ([69], [70], [71])
    assert searched(spoiled, "odometry").finished().believed[70]


def test_evidence_is_the_same_for_every_tree():
    # sum of peaks - log det / 2: the poses take up whatever the edges of a tree say
    _, graph = walk(seed=1, laps=2)
    search = searched(graph)
    values = []
    for trusted in (None, [100], [99, 105]):
        tree = backbone(graph, trusted_edges(graph, trusted))
        assert int(tree.edges.sum()) == graph.n - 1
        fit = search.model.fit(tree.edges, tree.poses, steps=1)
        values.append(search._belief(tree.edges, fit, 1.0).evidence)
    assert np.ptp(values) < 1e-6


def test_loops_of_a_mistaken_place_that_all_but_fit_stay_wrong_together():
    # one of five fits by itself, and then three more do: they agree with each other far better than with the map
    truth, graph = walk(seed=12)
    first, second = np.arange(10, 15), np.arange(33, 38)
    moved = truth + np.array([0.9, 0.9, 0.0])
    ends = np.stack([truth[first], moved[second]], axis=1).reshape(-1, 3)
    motion = motions(ends, np.arange(0, 10, 2), np.arange(1, 10, 2))
    motion += [0.005, 0.005, 0.002] * np.random.default_rng(0).standard_normal((5, 3))
    spoiled = PoseGraph(
        [*graph.i, *first], [*graph.j, *second], [*graph.motion, *motion], [*graph.information, *graph.information[:5]]
    )
    search = searched(spoiled)
    one_by_one = search.ascend(
        search.best.believed, search.best.fit.poses, search.best.scale, Groups.single(search.groups.edges)
    )
    assert one_by_one.believed[len(graph) :].sum() == 4
    assert np.flatnonzero(~search.finished().believed).tolist() == list(range(len(graph), len(graph) + 5))


def test_a_given_scale_stays():
    truth, graph = walk(seed=2)
    given, false = with_false(graph, truth, PAIRS)
    search = searched(given, scale=1.0)
    assert search.finished().scale == 1.0
    assert np.array_equal(search.finished().believed, ~false)


def test_the_time_limit_leaves_the_backbone():
    truth, graph = walk(seed=2)
    given, _ = with_false(graph, truth, PAIRS)
    search = searched(given, clock=Clock(0.0))
    best = search.finished()
    assert search.backbone.edges[best.believed].size == best.believed.sum()
    assert best.fit.poses.shape == (graph.n, 3)


def test_left_out_margins_are_differences_of_evidence():
    # the linear prediction against a fit without the edge, which is exact but for curvature
    _, graph = walk(seed=4)
    search = searched(graph, scale=1.0)
    belief = search.finished()
    edges = search.groups.edges[:5]
    margins = search.judged(belief, Groups.single(edges), search=False).margin
    for edge, margin in zip(edges.tolist(), margins.tolist(), strict=True):
        without = belief.believed.copy()
        without[edge] = False
        fit = search.model.fit(without, belief.fit.poses, steps=20)
        alone = search._belief(without, fit, 1.0).evidence
        whole = search._belief(belief.believed, belief.fit, 1.0).evidence
        assert margin == pytest.approx(whole - alone, abs=0.05)
