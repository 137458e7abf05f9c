"""The noise of turns against that of displacements: estimated from the believed edges, where they show it."""

from __future__ import annotations

import numpy as np
import pytest
from false_loops import walk

from angsync.applications.pose_graph import PoseGraph, optimize
from angsync.applications.pose_graph.balance import balanced, spread
from angsync.applications.pose_graph.model import PoseModel

STATED = np.diag([4.0, 4.0, 2500.0])  # half a meter and 0.02 rad
TRUE = STATED * np.diag([16.0, 16.0, 1 / 1.5**2])


def unevenly(seed):
    """A walk whose noise is not as stated: a quarter of it in the displacements, 1.5 times in the turns."""
    truth, graph = walk(seed=seed, laps=4, information=TRUE)
    return truth, PoseGraph(graph.i, graph.j, graph.motion, np.tile(STATED, (len(graph), 1, 1)))


def test_free_numbers_are_three_a_cycle():
    truth, graph = unevenly(1)
    model = PoseModel(graph)
    believed = np.ones(len(graph), dtype=bool)
    fit = model.fit(believed, truth, steps=10)
    squares, free = spread(model, believed, fit)
    assert free.sum() == pytest.approx(3 * (len(graph) - graph.n + 1))
    assert squares.sum() == pytest.approx(fit.chi2)


def test_the_weight_of_turns_is_found():
    logs = []
    for seed in range(20):
        truth, graph = unevenly(seed)
        model = PoseModel(graph)
        believed = np.ones(len(graph), dtype=bool)
        balanced(model, believed, model.fit(believed, truth, steps=10))
        logs.append(np.log(model.turn_weight))
    # 48 cycles: about 96 and 48 free numbers, a deviation of sqrt(1/192 + 1/96) = 0.125 of one, 0.028 of the mean of
    # twenty; the stated balance, which counts as ten numbers, pulls by about as many parts of 48: 0.17 log 6
    assert np.mean(logs) == pytest.approx(np.log(1 / 6), abs=0.3 + 4 * 0.028)
    assert np.std(logs) < 2 * 0.125


def test_motions_that_agree_exactly_leave_the_weights_alone():
    n = 8
    k = np.arange(n)
    graph = PoseGraph(k, (k + 1) % n, np.tile([1.0, 0.0, 2 * np.pi / n], (n, 1)))
    result = optimize(graph, robust=True, trusted="odometry")
    assert not result.robust.distrusted.any()
    assert result.cost == pytest.approx(0, abs=1e-20)


def test_small_wrong_displacements_are_seen_where_displacements_are_better_than_stated():
    # with one common factor of the noise, about 1 for turns of 1.5, a loop that is 4 stated deviations off was believed
    for seed in range(3):
        _, graph = unevenly(100 + seed)
        motion = graph.motion.copy()
        wrong = len(graph) - np.array([3, 20, 35])
        motion[wrong, :2] += [1.5, 1.5]
        spoiled = PoseGraph(graph.i, graph.j, motion, graph.information)
        report = optimize(spoiled, robust=True, trusted="odometry", certify=False).robust
        assert report.distrusted[wrong].all()
        assert report.distrusted.sum() <= wrong.size + 1
