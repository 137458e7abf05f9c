"""Answers that agree better than chance, and of which parts are elsewhere all the same."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import angsync as ang
from angsync.errors import CorruptionWarning
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.nodes_decided import nodes_decided
from angsync.solvers.stopping import Clock


def geometric(n: int, a_node: float, wrong: float, sigma: float, seed: int):
    rng = np.random.default_rng(seed)
    graph = nx.random_geometric_graph(n, math.sqrt(2 * a_node / (math.pi * n)), seed=seed)
    graph = nx.convert_node_labels_to_integers(graph.subgraph(max(nx.connected_components(graph), key=len)))
    i, j = np.array(graph.edges()).T
    theta = 2 * np.pi * rng.random(graph.number_of_nodes())
    bad = rng.random(i.size) < wrong
    angle = np.where(bad, 2 * np.pi * rng.random(i.size), theta[i] - theta[j] + sigma * rng.standard_normal(i.size))
    return ang.Measurements(i, j, angle), np.exp(1j * theta)


def mean_error(z, truth) -> float:
    return float(np.degrees(np.mean(np.abs(np.angle(ang.align(z, truth) * truth.conj())))))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.filterwarnings("ignore::angsync.errors.CorruptionWarning")
def test_local_graphs_with_half_of_the_measurements_wrong_are_not_believed(seed):
    measurements, truth = geometric(400, 5.2, 0.5, 0.01, seed)
    result = ang.synchronize(measurements, solver=ang.Robust())
    assert mean_error(result.z, truth) > 10  # or this test says nothing
    assert result.robust.credible is not True
    assert "not decided by the measurements" in result.robust.note


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_decided_stays_believed(seed):
    measurements, truth = geometric(250, 12, 0.4, 0.05, seed)
    result = ang.synchronize(measurements, solver=ang.Robust())
    assert mean_error(result.z, truth) < 3
    assert result.robust.credible is True


def test_a_node_with_as_many_votes_for_either_place_is_named():
    # a complete graph of 30 nodes and a further one, labeled "far": two neighbors put it here, two there
    rng = np.random.default_rng(5)
    i, j = np.triu_indices(30, 1)
    angle = 0.01 * rng.standard_normal(i.size)
    i, j = np.append(i, [30] * 4), np.append(j, [0, 1, 2, 3])
    angle = np.append(angle, [0.0, 0.002, 1.5, 1.502])
    names = [f"n{k}" for k in range(30)] + ["far"]
    result = ang.synchronize(ang.Measurements(i, j, angle, labels=names), solver=ang.Robust())
    assert result.robust.credible is True
    assert "1 phase is not decided by the measurements (far)" in result.robust.note


def test_the_expected_distance_is_that_of_the_posterior():
    # One node with three votes: 0, 0 and 1 rad. Deviations s and a share p of good ones: the node is at 0 with weight
    # (1 + r)^2 sqrt(pi) s, r = p sqrt(2 pi) / ((1 - p) s), at 1 with (1 + r) sqrt(2 pi) s, anywhere with 2 pi.
    s, p = 0.01, 0.6
    edges = Edges.of(ang.Measurements([0, 0, 0], [1, 2, 3], [0.0, 0.0, 1.0]))
    r = p * math.sqrt(2 * math.pi) / ((1 - p) * s)
    here, there, nowhere = (1 + r) ** 2 * math.sqrt(math.pi) * s, (1 + r) * math.sqrt(2 * math.pi) * s, 2 * math.pi
    expected = math.degrees((there + nowhere * math.pi / 2) / (here + there + nowhere))
    # the others have one vote each: right with p r' against nothing at all
    alone = (1 + r) * math.sqrt(2 * math.pi) * s
    single = math.degrees(nowhere * math.pi / 2 / (alone + nowhere))
    # the third neighbor is where the hub and its vote put it: 1 rad away from where it stands
    moved = math.degrees((alone * 1.0 + nowhere * math.pi / 2) / (alone + nowhere))
    decided = nodes_decided(edges, np.ones(4, dtype=complex), s, p, Clock(None))
    assert decided.turn == pytest.approx((expected + 2 * single + moved) / 4, rel=0.02)


def test_without_time_nothing_is_said():
    measurements, truth = geometric(100, 12, 0.1, 0.05, 1)
    assert nodes_decided(Edges.of(measurements), truth, 0.05, 0.9, Clock(0.0)) is None


def test_the_warning_names_the_nodes():
    measurements, truth = geometric(400, 5.2, 0.6, 0.2, 3)
    with pytest.warns(CorruptionWarning, match="not decided by the measurements|no better than random"):
        result = ang.synchronize(measurements, solver=ang.Robust())
    assert result.robust.credible is False
    assert mean_error(result.z, truth) > 10
