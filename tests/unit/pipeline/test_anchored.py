"""Anchors and priors: the same answer as the problem with them written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import Verdict
from angsync.errors import InputError


def noisy_grid(seed=0, noise=0.2):
    return ang.simulate.grid(5, 6, noise, rng=seed)


def wrapped(x):
    return np.angle(np.exp(1j * np.asarray(x)))


def test_one_anchor_only_turns_the_answer():
    grid = noisy_grid()
    plain = ang.synchronize(grid.measurements)
    anchored = ang.synchronize(grid.measurements, anchors={7: 1.25})
    assert anchored.angles[7] == pytest.approx(1.25, abs=1e-12)
    assert ang.distance(anchored.z, plain.z, np.inf) < 1e-8
    assert anchored.objective == pytest.approx(plain.objective, rel=1e-12)
    assert anchored.certificate.verdict is Verdict.CERTIFIED
    assert "1 anchor(s)" in anchored.method


def test_anchors_hold_exactly_and_the_rest_is_optimal_given_them():
    grid = noisy_grid()
    known = {0: 0.4, 11: -2.0, 29: 3.0}
    result = ang.synchronize(grid.measurements, anchors=known)
    assert np.abs(wrapped(result.angles[list(known)] - list(known.values()))).max() < 1e-12
    # first order: the gradient vanishes at every node that is free
    gradient = (np.conj(result.z) * (grid.C @ result.z)).imag
    free = np.setdiff1d(np.arange(30), list(known))
    assert np.abs(gradient[free]).max() < 1e-8
    assert np.abs(gradient[list(known)]).max() > 1e-3
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.gauge == "anchors"


def test_exact_data_and_anchors_of_the_truth_give_the_truth():
    grid = noisy_grid(noise=0.0)
    truth = np.angle(grid.z)
    result = ang.synchronize(grid.measurements, anchors={3: truth[3], 20: truth[20]}, priors={9: (truth[9], 2.0)})
    assert np.abs(wrapped(result.angles - truth)).max() < 1e-8


def test_a_prior_is_a_measurement_against_the_ground():
    grid = noisy_grid()
    m = grid.measurements
    priors = {4: (0.5, 2.0), 17: (-1.0, 0.3)}
    result = ang.synchronize(m, priors=priors)
    by_hand = ang.Measurements(
        np.append(m.i, [4, 17]), np.append(m.j, [30, 30]), np.append(m.angle, [0.5, -1.0]),
        weight=np.append(m.weight, [2.0, 0.3]),
    )  # fmt: skip
    expected = ang.synchronize(by_hand, gauge=30)
    assert np.abs(result.z - expected.z[:30]).max() < 1e-8
    assert np.allclose(result.standard_errors(0.2), expected.standard_errors(0.2)[:30], rtol=1e-8)


def test_a_heavy_prior_becomes_an_anchor():
    grid = noisy_grid()
    anchored = ang.synchronize(grid.measurements, anchors={4: 0.5, 17: -1.0})
    heavy = ang.synchronize(grid.measurements, priors={4: (0.5, 1e4), 17: (-1.0, 1e4)})
    # at most four edges of weight 1 pull at a node: a prior gives way by at most 4e-4, and, by the maximum principle,
    # no node moves by more than the two together
    assert 0 < np.abs(wrapped(anchored.angles - heavy.angles)).max() < 8e-4
    # a prior adds a variance of sigma^2 / weight
    assert np.abs(anchored.standard_errors(0.2) ** 2 - heavy.standard_errors(0.2) ** 2).max() < 2 * 0.2**2 / 1e4


def test_standard_errors_shrink_towards_what_is_known():
    path = ang.Measurements(np.arange(9), np.arange(1, 10), np.zeros(9))
    one = ang.synchronize(path, anchors={0: 0.0}).standard_errors(0.1)
    assert one == pytest.approx(0.1 * np.sqrt(np.arange(10)), rel=1e-9, abs=1e-12)  # a random walk
    two = ang.synchronize(path, anchors={0: 0.0, 9: 0.0}).standard_errors(0.1)
    k = np.arange(10)
    assert two == pytest.approx(0.1 * np.sqrt(k * (9 - k) / 9), rel=1e-9, abs=1e-12)  # a bridge
    prior = ang.synchronize(path, priors={0: (0.0, 4.0)}).standard_errors(0.1)
    assert prior == pytest.approx(0.1 * np.sqrt(0.25 + k), rel=1e-9)


def test_labels_matrices_starts_and_moduli():
    truth = np.exp(1j * np.array([0.0, 0.5, 1.5]))
    labeled = ang.Measurements(["a", "b"], ["b", "c"], np.angle(truth[:2] * truth[1:].conj()))
    result = ang.synchronize(labeled, anchors={"c": 2.0})
    assert result.angles == pytest.approx([0.5, 1.0, 2.0])
    assert result.labels == labeled.labels
    C = 3.0 * np.outer(truth, truth.conj())
    from_matrix = ang.synchronize(C, anchors={0: 1.0}, start=truth)
    assert from_matrix.angles == pytest.approx([1.0, 1.5, 2.5])
    assert from_matrix.objective == pytest.approx(27.0)  # of the C given, its diagonal included
    again = ang.synchronize(C, anchors={0: 1.0}, start=from_matrix)
    assert again.iterations == 0
    turned = ang.synchronize(C, anchors={0: 1.0}, start=from_matrix.z * np.exp(0.7j))  # a start has no gauge
    assert turned.iterations == 0
    triangle = np.triu(C, 1)
    assert ang.synchronize(triangle, anchors={0: 1.0}, hermitian="upper").angles == pytest.approx([1.0, 1.5, 2.5])


def test_anchors_join_pieces_and_other_pieces_stay_apart():
    m = ang.Measurements([0, 2, 4], [1, 3, 5], [0.5, 0.25, 0.75])
    with pytest.warns(ang.errors.DisconnectedWarning):
        result = ang.synchronize(m, anchors={1: 0.0, 3: 1.0})
    assert result.angles[:4] == pytest.approx([0.5, 0.0, 1.25, 1.0])
    assert result.components.tolist() == [0, 0, 0, 0, 1, 1]


def test_all_nodes_may_be_known():
    m = ang.Measurements([0, 1], [1, 2], [0.1, 0.2])
    result = ang.synchronize(m, anchors={0: 0.1, 1: 0.2, 2: 0.3})
    assert result.angles == pytest.approx([0.1, 0.2, 0.3])
    assert result.standard_errors(1.0).tolist() == [0, 0, 0]


def test_what_needs_entries_or_another_gauge_is_refused():
    with pytest.raises(InputError, match="need the entries of C"):
        ang.synchronize(aslinearoperator(np.ones((3, 3))), anchors={0: 0.0})
    labeled = ang.Measurements(["a"], ["b"], [0.1])
    with pytest.raises(InputError, match="labels are 'a', 'b'"):
        ang.synchronize(labeled, anchors={0: 0.0})
    result = ang.synchronize(labeled, anchors={"a": 0.0})
    with pytest.raises(InputError, match="leave gauge out"):
        result.standard_errors(0.1, gauge="mean")


def test_residuals_are_those_of_the_problem_with_anchors():
    # a path of three edges between known ends: one degree of freedom, a misfit of 0.3 rad shared by the three
    m = ang.Measurements([0, 1, 2], [1, 2, 3], [0.1, 0.1, 0.1])
    result = ang.synchronize(m, anchors={0: 0.0, 3: 0.0})
    edges = result.edge_residuals()
    assert edges.wrapped == pytest.approx([0.1, 0.1, 0.1])
    assert edges.redundancy == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    # sigma^2 = 0.03 / 1, and each residual has a variance of a third of that
    assert edges.standardized == pytest.approx([1.0, 1.0, 1.0])
    graph = result.connectivity()
    assert graph.bridges.size == 0
    assert [group.tolist() for group in graph.cut_groups] == [[0, 1, 2]]
    assert "bridges       none" in str(graph)
    assert str(graph).startswith("4 nodes, 3 measurements, 1 component")


def test_residuals_between_anchors_and_priors_in_the_order_of_the_input():
    rng = np.random.default_rng(0)
    i = np.array([0, 1, 2, 0, 1, 3])
    j = np.array([3, 2, 3, 1, 3, 4])
    m = ang.Measurements(i, j, 0.1 * rng.standard_normal(6), weight=[1, 2, 3, 4, 5, 6])
    result = ang.synchronize(m, anchors={0: 0.2, 1: 0.1}, priors={2: (0.0, 2.0)})
    edges = result.edge_residuals()
    assert edges.leverage[3] == 0  # between two anchors: nothing is fitted to it
    by_hand = ang.Measurements([3, 3, 0, 3, 1, 0], [1, 0, 1, 1, 2, 3], np.zeros(6), weight=[1, 2, 3, 5, 6, 2])
    information = by_hand.weight
    leverage = ang.uncertainty.leverages(by_hand, information, np.zeros(4, dtype=int))
    assert edges.leverage[[0, 1, 2, 4, 5]] == pytest.approx(leverage[:5])
    sigma = result.grounding.result.edge_residuals()
    sigma = ang.uncertainty.estimate_sigma(sigma.measurements, sigma.z, sigma.components)
    assert edges.standardized[3] == pytest.approx(2 * edges.wrapped[3] / sigma)
    assert np.isnan(edges.standardized[5])  # a bridge
    assert edges.wrapped == pytest.approx(ang.uncertainty.wrapped_residuals(m, result.z))
    graph = result.connectivity()
    assert graph.bridges.tolist() == [5]
    assert graph.measurements.n == 6
    assert len(graph.measurements) == 7  # the prior is the last
    assert (graph.measurements.i[6], graph.measurements.j[6]) == (2, 5)
    assert "3 - 4" in str(graph)
    # without priors the ground is no node, and a side of a cut that holds it holds the anchors
    plain = ang.synchronize(m, anchors={0: 0.2, 4: 0.1}).connectivity()
    assert plain.measurements.n == 5
    assert plain.weakest_cut_side.max() < 5


def test_standardized_residuals_have_unit_variance_with_anchors():
    # 60 grids of 12 x 12 with half of the nodes known: 264 residuals each, so that the mean of their standard
    # deviations is known to 1 / sqrt(2 * 264 * 60) = 0.6 %; five times that
    spread = []
    for seed in range(60):
        grid = ang.simulate.grid(12, 12, 0.1, rng=seed)
        truth = np.angle(grid.z)
        result = ang.synchronize(grid.measurements, anchors={k: float(truth[k]) for k in range(0, 144, 2)})
        spread.append(np.nanstd(result.edge_residuals().standardized))
    assert np.mean(spread) == pytest.approx(1, abs=0.03)


def test_nothing_is_known_of_a_component_without_an_anchor():
    m = ang.Measurements([0, 2], [1, 3], [0.3, 0.2], n=5)
    words = "1 component.* and 1 isolated node.* \\(4\\).* have no anchor"
    with pytest.warns(ang.errors.DisconnectedWarning, match=words):
        result = ang.synchronize(m, anchors={0: 1.0})
    assert result.standard_errors(0.1).tolist() == pytest.approx([0, 0.1, np.inf, np.inf, np.inf])
    intervals = result.confidence_intervals(sigma=0.1)
    assert (intervals[2:, 1] - intervals[2:, 0]).tolist() == pytest.approx([2 * np.pi] * 3)
    assert result.isolated.tolist() == [4]


def test_an_anchored_node_without_measurements_has_its_anchor():
    m = ang.Measurements([0], [1], [0.3], n=3)
    with pytest.warns(ang.errors.DisconnectedWarning, match="1 component.* have no anchor") as caught:
        result = ang.synchronize(m, anchors={2: 1.0})
    assert not any("isolated" in str(one.message) or "ground" in str(one.message) for one in caught)
    assert "isolated" not in result.message
    assert result.angles[2] == pytest.approx(1.0)
    assert result.isolated.size == 0
    assert result.standard_errors(0.1).tolist() == [np.inf, np.inf, 0]


@pytest.mark.parametrize("data", [np.ones((3, 3), dtype=complex), ang.Measurements([0, 1], [1, 2], [0.0, 0.1])])
def test_error_bars_where_all_nodes_are_anchors(data):
    result = ang.synchronize(data, anchors={0: 0.0, 1: 0.0, 2: 0.0})
    assert result.standard_errors().tolist() == [0, 0, 0]
    assert result.confidence_intervals().tolist() == [[0, 0]] * 3
    assert result.edge_residuals().leverage.tolist() == [0] * len(result.measurements)
    assert np.isnan(result.edge_residuals().standardized).all()
    assert result.connectivity().bridges.size == 0


def test_robust_residuals_with_anchors():
    grid = noisy_grid(noise=0.05)
    m = grid.measurements
    angle = m.angle.copy()
    angle[12] += 2.5  # not at a corner, whose two edges would be equally suspect
    truth = np.angle(grid.z)
    result = ang.synchronize(
        ang.Measurements(m.i, m.j, angle, n=m.n), solver=ang.Robust(), anchors={0: truth[0], 29: truth[29]}
    )
    edges = result.edge_residuals()
    assert edges.leverage[12] == 0
    assert abs(edges.standardized[12]) > 10
    assert np.nanmax(np.abs(np.delete(edges.standardized, 12))) < 5
    assert 12 not in result.connectivity().weakest_cut_edges
