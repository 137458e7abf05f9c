"""The cost with full information matrices: derivatives, minima, degrees of freedom."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from pose_graphs import matrix, simulated

from angsync.applications.pose_graph import Landmarks, PoseGraph, simulate
from angsync.applications.pose_graph.information import InformationModel
from angsync.circle import wrap
from angsync.errors import InputError
from angsync.solvers.stopping import Clock


def with_landmarks(seed=3):
    truth, graph = simulated(12, 10, 0.1, seed)
    rng = np.random.default_rng(seed)
    seen = Landmarks([0, 1, 2, 3, 5, 5], [0, 0, 1, 1, 2, 1], rng.normal(size=(6, 2)))
    return truth, PoseGraph(graph.i, graph.j, graph.motion, graph.information, landmarks=seen)


def written_out(graph, nodes):
    """e^T I e with matrices, edge by edge, as g2o has it."""
    total = 0.0
    for k in range(len(graph)):
        i, j, (dx, dy, turn) = graph.i[k], graph.j[k], graph.motion[k]
        gap = matrix(turn).T @ (matrix(nodes[i, 2]).T @ (nodes[j, :2] - nodes[i, :2]) - [dx, dy])
        e = np.array([*gap, wrap(nodes[j, 2] - nodes[i, 2] - turn)])
        total += e @ graph.information[k] @ e
    seen = graph.landmarks
    for k in range(len(seen)):
        i, q = seen.pose[k], nodes[graph.n + seen.landmark[k], :2]
        e = matrix(nodes[i, 2]).T @ (q - nodes[i, :2]) - seen.offset[k]
        total += e @ seen.information[k] @ e
    return total


def test_the_cost_and_its_derivatives():
    truth, graph = with_landmarks()
    model = InformationModel(graph)
    nodes = model.nodes(truth, np.random.default_rng(1).normal(size=(3, 2)))
    assert model.cost(nodes) == pytest.approx(written_out(graph, nodes), rel=1e-12)
    at, step = model.linearized(nodes), 1e-6
    for node in range(model.n):
        for entry in range(3):
            up, down = nodes.copy(), nodes.copy()
            up[node, entry] += step
            down[node, entry] -= step
            slope = np.zeros((model.i.size, 3))
            slope[model.i == node] += at.first[model.i == node][:, :, entry]
            slope[model.j == node] += at.second[model.j == node][:, :, entry]
            assert (model.error(up) - model.error(down)) / (2 * step) == pytest.approx(slope, abs=1e-7)


def test_a_minimum_is_that_of_general_least_squares():
    truth, graph = with_landmarks(4)
    model = InformationModel(graph)
    nodes = model.nodes(truth, graph.best_landmarks(truth))
    found = model.minimized(nodes)

    def residuals(x):
        moved = nodes.copy()
        moved[1:12] = x[:33].reshape(-1, 3)
        moved[12:, :2] = x[33:].reshape(-1, 2)
        return model.whitened(model.error(moved)).ravel()

    start = np.concatenate([nodes[1:12].ravel(), nodes[12:, :2].ravel()])
    other = scipy.optimize.least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert found.converged
    assert found.cost == pytest.approx(2 * other.cost, rel=1e-10)
    # 3 an edge and 2 a sighting, less 3 a pose (one is held) and 2 a landmark
    assert model.freedom == 3 * len(graph) + 2 * 6 - 3 * 11 - 2 * 3


def test_limits_keep_the_best_so_far():
    truth, graph = with_landmarks(5)
    model = InformationModel(graph)
    nodes = model.nodes(truth, graph.best_landmarks(truth))
    stopped = model.minimized(nodes, Clock(0.0))
    assert (stopped.converged, stopped.steps, stopped.cost) == (False, 0, model.cost(nodes))
    one = model.minimized(nodes, most_steps=1)
    assert not one.converged
    assert one.cost < stopped.cost


def test_an_interruption_keeps_the_best_so_far(monkeypatch):
    made = simulate(20, loops=5, rng=1)
    model = InformationModel(made.graph)
    calls = []

    def factor(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return InformationModel.factor(model, *arguments, **options)

    monkeypatch.setattr(model, "factor", factor)
    found = model.minimized(model.nodes(made.graph.odometry, np.empty((0, 2))))
    assert found.interrupted
    assert not found.converged
    assert found.cost < model.cost(model.nodes(made.graph.odometry, np.empty((0, 2))))


def test_an_information_that_is_singular_to_rounding_is_named():
    """What passes the check of the input may still have no root in floating point."""
    made = simulate(12, loops=3, landmarks=2, rng=1)
    made.graph.information[4] = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    with pytest.raises(InputError, match="edge 4 is singular to rounding"):
        InformationModel(made.graph)
