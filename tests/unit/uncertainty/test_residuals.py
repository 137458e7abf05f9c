"""Residuals of edges: order, direction, leverage, redundancy, standardized residuals."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import uncertainty


def test_leverages_sum_to_the_number_of_fitted_phases(weighted_graph, graph_laplacian):
    i, j, w = weighted_graph()
    result = ang.synchronize(ang.Measurements(i, j, np.zeros(i.size), weight=w))
    leverage = result.edge_residuals().leverage
    assert leverage.sum() == pytest.approx(11)
    L = graph_laplacian(12, i, j, w)
    G = np.linalg.pinv(L)
    assert leverage == pytest.approx(w * (G[i, i] + G[j, j] - 2 * G[i, j]), rel=1e-9)


def test_a_bridge_has_leverage_one_and_no_standardized_residual():
    m = ang.Measurements([0, 1, 2, 2], [1, 2, 0, 3], [0.1, 0.1, 0.1, 1.0])
    residuals = ang.synchronize(m).edge_residuals()
    assert residuals.leverage[3] == pytest.approx(1)
    assert np.isnan(residuals.standardized[3])
    assert np.isfinite(residuals.standardized[:3]).all()
    assert residuals.wrapped[:3] == pytest.approx([0.1, 0.1, 0.1])
    assert residuals.wrapped[3] == pytest.approx(0, abs=1e-12)


def test_residuals_come_in_the_order_and_direction_of_the_input():
    truth = np.array([0.0, 1.0, 2.5, -2.0])
    i, j = np.array([3, 0, 1, 2, 0]), np.array([0, 1, 2, 3, 2])
    angle = truth[i] - truth[j]
    angle[1] += 0.2
    residuals = ang.synchronize(ang.Measurements(i, j, angle)).edge_residuals().wrapped
    assert residuals[1] == pytest.approx(np.abs(residuals).max(), rel=1e-9)  # and that of the next edge of its cycle
    flipped = ang.synchronize(ang.Measurements(j, i, -angle)).edge_residuals().wrapped
    assert flipped == pytest.approx(-residuals, abs=1e-9)


def test_an_outlier_stands_out():
    problem = ang.simulate.erdos_renyi(40, 0.4, 0.05, rng=0)
    m = problem.measurements
    angle = m.angle.copy()
    angle[17] += 1.0
    residuals = ang.synchronize(ang.Measurements(m.i, m.j, angle)).edge_residuals()
    assert np.argmax(np.abs(residuals.standardized)) == 17


def test_standardized_residuals_have_unit_spread():
    for problem in (
        ang.simulate.phase_noise(60, 0.1, rng=0).measurements,
        ang.simulate.gaussian(60, 0.3, rng=0).C,
    ):
        spread = np.std(ang.synchronize(problem).edge_residuals().standardized)
        # 1770 residuals: standard error of the spread 1/sqrt(3540) = 1.7 %; five of them
        assert spread == pytest.approx(1, abs=0.085)


def test_standardized_residuals_allow_for_leverage():
    # a triangle: every leverage is 2/3, sigma^2 = sum r^2 / 1, so r / (sigma sqrt(1/3)) = 1 for equal residuals
    residuals = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.1, 0.1])).edge_residuals()
    assert residuals.standardized == pytest.approx([1, 1, 1])
    assert repr(residuals) == "EdgeResiduals(3 measurements, rms 0.1 rad)"


def test_redundancy_is_what_leverage_leaves(weighted_graph):
    i, j, w = weighted_graph()
    residuals = ang.synchronize(ang.Measurements(i, j, np.zeros(i.size), weight=w)).edge_residuals()
    assert residuals.redundancy == pytest.approx(1 - residuals.leverage, abs=1e-15)
    assert residuals.redundancy.sum() == pytest.approx(i.size - 11)
    tree = ang.synchronize(ang.Measurements([0, 1, 1], [1, 2, 3], [0.1, 0.2, 0.3], weight=[1e-7, 3.0, 0.1]))
    assert tree.edge_residuals().leverage.tolist() == [1, 1, 1]  # exactly
    assert tree.edge_residuals().redundancy.tolist() == [0, 0, 0]


def test_a_bridge_between_rings_has_leverage_exactly_one(monkeypatch):
    ring = np.arange(7)
    i, j = np.r_[ring, ring + 7, 3], np.r_[(ring + 1) % 7, (ring + 1) % 7 + 7, 11]
    weight = np.r_[np.full(14, 1e-6), 0.3]
    leverage = ang.synchronize(ang.Measurements(i, j, np.zeros(15), weight=weight)).edge_residuals().leverage
    assert leverage[14] == 1
    assert leverage[:14] == pytest.approx(6 / 7, rel=1e-12)
    # sampled leverages of light bridges in a chain of rings would scatter around 1
    monkeypatch.setattr("angsync.uncertainty.resistance.choice.LARGEST_NODES", -1)
    first = 7 * np.arange(8)
    i = np.r_[(first[:, None] + ring).ravel(), first[:-1] + 3]
    j = np.r_[(first[:, None] + (ring + 1) % 7).ravel(), first[1:]]
    m = ang.Measurements(i, j, np.zeros(i.size), weight=np.r_[np.ones(56), np.full(7, 0.01)])
    assert uncertainty.leverages(m, m.weight, np.zeros(56, dtype=np.int64))[56:].tolist() == [1] * 7
