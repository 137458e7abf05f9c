"""Loops that are wrong together: groups, and the law of what they disagree by."""

from __future__ import annotations

import numpy as np
import pytest
from false_loops import PAIRS, walk, with_false

from angsync.applications.pose_graph import PoseGraph
from angsync.applications.pose_graph.backbone import backbone, trusted_edges
from angsync.applications.pose_graph.clusters import Clusters, disagreement, groups_of
from angsync.applications.pose_graph.model import PoseModel
from angsync.solvers.stopping import Clock


def test_groups_have_both_ends_near_each_other():
    i, j = np.array([0, 50, 2, 20, 51, 3]), np.array([50, 1, 53, 70, 3, 90])
    assert [sorted(group.tolist()) for group in groups_of(i, j, np.arange(6))] == [[0, 1, 2, 4], [5], [3]]
    assert groups_of(i, j, np.empty(0, dtype=np.int64)) == []
    crowd = groups_of(np.zeros(30, int), np.full(30, 9), np.arange(30))
    assert [group.size for group in crowd] == [12, 12, 6]


@pytest.mark.parametrize("reversed_loop", [False, True])
def test_what_two_loops_of_one_mistaken_place_disagree_by_is_chi_squared(reversed_loop):
    # the noise of the steps, of both loops and nothing else: e' inv(Cov) e is chi-squared with 3 degrees of freedom
    squares = []
    for seed in range(100):
        truth, graph = walk(seed=seed, laps=1)
        given, false = with_false(graph, truth, [(5, 30)], cluster=1, seed=7)
        rng = np.random.default_rng(1000 + seed)
        p = int(np.flatnonzero(false)[0])
        # loop k: the same mistaken place, seen from two poses further on both sides
        a, d = _compose(_between(truth, 7, 5), given.motion[p] - 0), _between(truth, 30, 32)
        clean = _compose(a, d)
        motion = np.array([given.motion[p], clean])
        motion += np.array([0.05, 0.05, 0.02]) * rng.standard_normal((2, 3))
        ends = [(5, 30), (7, 32)]
        if reversed_loop:
            back = np.exp(-1j * motion[1, 2]) * -complex(*motion[1, :2])
            motion[1], ends[1] = [back.real, back.imag, -motion[1, 2]], (32, 7)
        steps = np.arange(truth.shape[0] - 1)
        both = PoseGraph(
            [*graph.i[steps], *(end[0] for end in ends)], [*graph.j[steps], *(end[1] for end in ends)],
            np.concatenate([graph.motion[steps], motion]), np.tile(graph.information[0], (steps.size + 2, 1, 1)),
        )  # fmt: skip
        model = PoseModel(both)
        spine = backbone(both, trusted_edges(both, "odometry"))
        fit = model.fit(spine.edges, spine.poses, steps=1)
        loops = np.flatnonzero(~spine.edges)
        squares.append(disagreement(model, loops[:1], loops[1:], fit)[1][0])
    # mean 3, variance 6: four standard errors
    assert np.mean(squares) == pytest.approx(3, abs=4 * np.sqrt(6 / 100))


def test_only_loops_that_agree_are_worth_more_together():
    truth, graph = walk(seed=3)
    given, false = with_false(graph, truth, PAIRS[:3], cluster=4)
    spine = backbone(given, trusted_edges(given, "odometry"))
    model = PoseModel(given)
    loops = np.flatnonzero(false)
    starts = np.array([0, 4, 8, 12])
    clusters = Clusters(model, starts, loops, model.fit(spine.edges, spine.poses, steps=1), Clock())
    peak = np.full(len(given), 15.0)
    believed = spine.edges.copy()
    worth, scale = clusters.together(peak, believed)
    # three places, each with three loops beside the first; noise on the way takes some nats of each
    assert 9 * 5 < worth < 9 * (15 + 3 * np.log(16))
    assert scale in (1.0, 0.5, 0.25)
    believed[loops] = True
    assert clusters.together(peak, believed) == (0.0, 1.0)
    spoiled = PoseGraph(
        given.i, given.j, given.motion + 5.0 * false[:, None] * np.arange(len(given))[:, None], given.information
    )
    apart = Clusters(PoseModel(spoiled), starts, loops, model.fit(spine.edges, spine.poses, steps=1), Clock())
    assert apart.together(peak, spine.edges)[0] == 0


def _between(poses, i, j):
    way = (complex(*poses[j, :2]) - complex(*poses[i, :2])) * np.exp(-1j * poses[i, 2])
    return np.array([way.real, way.imag, poses[j, 2] - poses[i, 2]])


def _compose(one, other):
    way = complex(*one[:2]) + np.exp(1j * one[2]) * complex(*other[:2])
    return np.array([way.real, way.imag, one[2] + other[2]])
