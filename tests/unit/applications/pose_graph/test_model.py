"""The least-squares model of whole pose graphs: derivatives, fits, covariances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from pose_graphs import simulated

from angsync.applications.pose_graph import PoseGraph
from angsync.applications.pose_graph.equations import minimum_degree
from angsync.applications.pose_graph.model import PoseModel


def test_derivatives_are_those_of_the_residuals():
    truth, graph = simulated(8, 6, 0.2, seed=1)
    model = PoseModel(graph)
    everything = np.ones(len(graph), dtype=bool)
    fit = model.fit(everything, truth, steps=0)
    step = 1e-6
    for node, entry in ((0, 0), (3, 1), (5, 2)):
        moved = np.array([truth, truth])
        moved[:, node, entry] += [step, -step]
        slope = (model.residuals(moved[0]) - model.residuals(moved[1])) / (2 * step)
        expected = (
            fit.first[:, :, entry] * (graph.i == node)[:, None] + fit.second[:, :, entry] * (graph.j == node)[:, None]
        )
        # differences of the second order: the step squared, and rounding over the step, times weights up to 10
        assert slope == pytest.approx(expected, abs=1e-7)


def test_a_fit_is_the_least_squares_solution_of_the_edges_believed():
    truth, graph = simulated(10, 12, 0.05, seed=2)
    model = PoseModel(graph)
    believed = np.ones(len(graph), dtype=bool)
    believed[-3:] = False
    fit = model.fit(believed, truth, steps=30)
    found = scipy.optimize.least_squares(
        lambda free: model.residuals(np.concatenate([truth[:1], free.reshape(-1, 3)]))[believed].ravel(),
        truth[1:].ravel(), xtol=1e-14, ftol=1e-14, gtol=1e-14,
    )  # fmt: skip
    assert fit.chi2 == pytest.approx(2 * found.cost, rel=1e-4)
    assert fit.chi2 == pytest.approx(np.sum(fit.residuals[believed] ** 2), rel=1e-12)
    J = found.jac.reshape(-1, 27)
    # taken at poses that differ by what a last step of a thousandth of a radian moves
    assert fit.factor.log_determinant == pytest.approx(np.linalg.slogdet(J.T @ J)[1], abs=0.1)


def test_covariances_are_the_leverages():
    truth, graph = simulated(10, 12, 0.05, seed=3)
    model = PoseModel(graph)
    believed = np.ones(len(graph), dtype=bool)
    fit = model.fit(believed, truth, steps=5)
    edges = np.arange(len(graph))
    H = model.covariances(fit, np.arange(len(graph) + 1), edges).reshape(-1, 3, 3)
    # the trace of a hat matrix is the number of unknowns
    assert np.trace(H, axis1=1, axis2=2).sum() == pytest.approx(27, rel=1e-9)


def test_edges_that_do_not_span_have_no_fit():
    truth, graph = simulated(6, 0, 0.0, seed=4)
    believed = np.ones(len(graph), dtype=bool)
    believed[2] = False
    assert PoseModel(graph).fit(believed, truth, steps=3) is None


def test_edges_that_do_not_span_have_no_fit_by_rounding():
    i, j = np.arange(19), np.arange(1, 20)
    for seed in range(40):  # the last pivot of the second part is rounding: it was positive for 10 of these
        rng = np.random.default_rng(seed)
        loops = np.concatenate([rng.integers(0, 5, 6), rng.integers(10, 15, 6)])
        ends = np.concatenate([rng.integers(5, 10, 6), rng.integers(15, 20, 6)])
        motion, information = rng.standard_normal((31, 3)), np.tile(np.diag([44.7, 44.7, 1000.0]), (31, 1, 1))
        graph = PoseGraph(np.concatenate([i, loops]), np.concatenate([j, ends]), motion, information)
        poses = np.column_stack([rng.uniform(-50, 50, (20, 2)), rng.uniform(-3, 3, 20)])
        assert PoseModel(graph).fit(np.arange(31) != 9, poses, steps=0) is None


def test_pieces_are_held_at_one_pose_each():
    graph = PoseGraph([0, 1, 3, 3], [1, 2, 4, 4], [[1, 0, 0], [1, 0, 0], [1, 0, 0], [3, 0, 0]], ids=range(6))
    fit = PoseModel(graph).fit(np.ones(4, dtype=bool), np.zeros((6, 3)), steps=9)
    assert fit.poses[:, 0] == pytest.approx([0, 1, 2, 0, 2, 0], abs=1e-9)


def test_an_order_is_a_permutation_also_without_nodes():
    assert minimum_degree(0, np.empty(0, int), np.empty(0, int)).size == 0
    order = minimum_degree(5, np.array([0, 1, 2]), np.array([1, 2, 3]))
    assert sorted(order) == [0, 1, 2, 3, 4]


def test_a_chain_is_not_eliminated_from_its_ends():
    n = 200
    place = np.argsort(minimum_degree(n, np.arange(n - 1), np.arange(1, n)))
    # node by node, joining what a node leaves behind: how many eliminations each has to wait for
    joined = [{k for k in (a - 1, a + 1) if 0 <= k < n} for a in range(n)]
    waits = np.zeros(n, dtype=int)
    for node in np.argsort(place).tolist():
        later = joined[node]
        for one in later:
            waits[one] = max(waits[one], waits[node] + 1)
            joined[one] = (joined[one] | later) - {node, one}
    assert waits.max() < 20  # of the order of log2(200); 100 from the ends
