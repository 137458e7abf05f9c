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
    labelled = ang.Measurements(["a", "b"], ["b", "c"], np.angle(truth[:2] * truth[1:].conj()))
    result = ang.synchronize(labelled, anchors={"c": 2.0})
    assert result.angles == pytest.approx([0.5, 1.0, 2.0])
    assert result.labels == labelled.labels
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
    labelled = ang.Measurements(["a"], ["b"], [0.1])
    with pytest.raises(InputError, match="labels are 'a', 'b'"):
        ang.synchronize(labelled, anchors={0: 0.0})
    result = ang.synchronize(labelled, anchors={"a": 0.0})
    with pytest.raises(InputError, match="leave gauge out"):
        result.standard_errors(0.1, gauge="mean")
