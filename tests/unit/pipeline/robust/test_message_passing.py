"""Triangles, each found once, and the scores that messages around them give."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from problems import corrupted

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.message_passing import edge_scores, triangles


@pytest.mark.parametrize("seed", range(3))
def test_every_triangle_is_found_once(seed):
    graph = networkx.gnp_random_graph(25, 0.4, seed=seed)
    i, j = np.array(graph.edges()).T
    flip = np.random.default_rng(seed).random(i.size) < 0.5
    i, j = np.where(flip, j, i), np.where(flip, i, j)
    found = np.stack(triangles(25, i, j, np.random.default_rng(0)))
    nodes = {frozenset(np.concatenate([i[t], j[t]]).tolist()) for t in found.T}
    assert all(len(corner) == 3 for corner in nodes)
    assert len(nodes) == found.shape[1] == sum(networkx.triangles(graph).values()) // 3


def test_parallel_edges_make_triangles_of_their_own():
    i, j = np.array([0, 0, 1, 0]), np.array([1, 2, 2, 1])
    assert triangles(3, i, j, np.random.default_rng(0))[0].size == 2


def test_very_many_triangles_are_sampled(monkeypatch):
    monkeypatch.setattr("angsync.pipeline.robust.message_passing._MOST_WEDGES", 50)
    i, j = np.triu_indices(20, 1)
    assert triangles(20, i, j, np.random.default_rng(0))[0].size == 50


def test_message_passing_separates_good_from_bad():
    problem = corrupted(good=0.6)
    scores = edge_scores(Edges.of(problem.measurements), np.random.default_rng(0))
    good, bad = scores.corruption[~problem.outlier], scores.corruption[problem.outlier]
    assert np.quantile(bad, 0.1) > 5 * np.quantile(good, 0.9)


def test_edges_in_no_triangle_get_the_mean_score():
    # a triangle and a pendant edge: nothing is known against the latter
    edges = Edges.of(ang.Measurements([0, 1, 0, 2], [1, 2, 2, 3], [0.0, 0.0, 0.6, 1.0]))
    scores = edge_scores(edges, np.random.default_rng(0))
    assert scores.unjudged.tolist() == [False, False, False, True]
    assert scores.corruption[3] == pytest.approx(scores.corruption[:3].mean())
    tree = edge_scores(Edges.of(ang.Measurements([0, 1], [1, 2], [0.1, 0.2])), np.random.default_rng(0))
    assert tree.weights().tolist() == [1, 1]
