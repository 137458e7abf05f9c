"""Marginal covariances: against dense inverses, against simulated errors, and where they must not be believed."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest

from angsync.applications.pose_graph import Landmarks, PoseGraph, optimize, simulate
from angsync.applications.pose_graph.information import InformationModel
from angsync.applications.pose_graph.marginals import Marginals
from angsync.errors import DisconnectedWarning, ErrorBarWarning, InputError, OutputError


def dense(result, held):
    """(J^T W J)^-1 J^T W I^-1 W J (J^T W J)^-1 written out, with the unknowns of the landmarks' headings left out."""
    graph = result.graph
    model = InformationModel(graph, np.array([held]))
    at = model.linearized(model.nodes(result.poses, result.landmarks))
    J = np.zeros((3 * model.i.size, 3 * model.n))
    for k in range(model.i.size):
        J[3 * k : 3 * k + 3, 3 * model.i[k] : 3 * model.i[k] + 3] += at.first[k]
        J[3 * k : 3 * k + 3, 3 * model.j[k] : 3 * model.j[k] + 3] += at.second[k]
    stated = np.zeros((3 * model.i.size, 3 * model.i.size))
    weights = np.zeros_like(stated)
    tau, kappa = np.concatenate([graph.tau, graph.landmarks.tau]), np.ones(model.i.size)
    kappa[: len(graph)] = 2 * graph.kappa
    for k in range(model.i.size):
        here = slice(3 * k, 3 * k + 3)
        stated[here, here] = model.information[k]
        weights[here, here] = np.diag([tau[k], tau[k], kappa[k]]) if result.polish is None else model.information[k]
    columns = [c for c in range(3 * model.n) if c // 3 != held and not (c >= 3 * graph.n and c % 3 == 2)]
    J = J[:, columns]
    back = np.linalg.inv(J.T @ weights @ J) @ J.T @ weights
    full = np.zeros((3 * model.n, 3 * model.n))
    full[np.ix_(columns, columns)] = back @ np.linalg.inv(stated) @ back.T
    return full


@pytest.mark.parametrize("cost", ["isotropic", "information"])
def test_they_are_those_of_the_dense_inverse(cost):
    information = np.linalg.inv([[4e-3, 1e-3, 2e-4], [1e-3, 9e-3, 0], [2e-4, 0, 1e-3]])
    made = simulate(12, loops=8, landmarks=3, information=information, rng=8)
    result = optimize(made.graph, cost=cost)
    for reference in (None, 7):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ErrorBarWarning)
            poses = result.covariances(reference=reference)
            landmarks = result.landmark_covariances(reference=reference)
        full = dense(result, reference or 0)
        for k in range(12):
            assert poses[k] == pytest.approx(full[3 * k : 3 * k + 3, 3 * k : 3 * k + 3], rel=1e-6, abs=1e-12)
        for k in range(landmarks.shape[0]):
            at = 36 + 3 * k
            assert landmarks[k] == pytest.approx(full[at : at + 2, at : at + 2], rel=1e-6, abs=1e-12)
        assert not poses[reference or 0].any()


@pytest.mark.parametrize("cost", ["isotropic", "information"])
def test_simulated_errors_are_what_they_say(cost):
    """One pose and one landmark of each of 80 graphs, so that the draws are independent."""
    inside = marked = 0
    for seed in range(500, 580):
        made = simulate(30, loops=12, landmarks=3, rng=seed)
        result = optimize(made.graph, cost=cost, certify=False)
        marginals = Marginals(
            made.graph, result.poses, result.landmarks, made.graph.references, is_information_cost=cost == "information"
        )  # fmt: skip
        matrix, mark = marginals.covariances(np.array([20, 30]))
        mark = mark[:2, :2]
        error = result.poses[20] - made.poses[20]
        error[2] = np.angle(np.exp(1j * error[2]))
        inside += error @ np.linalg.solve(matrix, error) < 7.8147  # 95 % of chi-square with 3 degrees
        error = result.landmarks[0] - made.landmarks[0]
        marked += error @ np.linalg.solve(mark, error) < 5.9915
    # binomial, p = 0.95: 76 +- 1.95 of 80, four standard deviations below
    assert min(inside, marked) >= 76 - 4 * 1.95


def test_large_noise_is_a_warning():
    made = simulate(60, loops=3, information=np.diag([0.5, 0.5, 1.2]), rng=11)
    with pytest.warns(ErrorBarWarning, match="noise is too large"):
        optimize(made.graph, on_failure="ignore").covariances([30])


def test_what_is_not_proved_is_a_warning():
    made = simulate(20, loops=5, rng=12)
    with pytest.warns(ErrorBarWarning, match="not proved to be the best"):
        optimize(made.graph, certify=False).covariances([3])


def test_wrong_informations_are_a_warning():
    graph = simulate(40, loops=20, rng=13).graph
    scaled = PoseGraph(graph.i, graph.j, graph.motion, graph.information * 16)
    with pytest.warns(ErrorBarWarning, match="chi-square is .* the informations they stand on are wrong"):
        optimize(scaled).covariances([3])


def test_a_good_graph_has_no_warning():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        optimize(simulate(40, loops=20, rng=14).graph).covariances()
    assert told == []


@pytest.mark.parametrize("poses", [[-1], [20], [0.5], [[1, 2]]])
def test_places_that_are_none(poses):
    with pytest.raises(InputError, match="places of poses, 0 to 19"):
        optimize(simulate(20, loops=5, rng=15).graph).covariances(poses)


def test_a_reference_that_is_none():
    with pytest.raises(InputError, match="there is no pose 99"):
        optimize(simulate(20, loops=5, rng=15).graph).covariances(reference=99)


def test_they_can_be_written(tmp_path):
    made = simulate(20, loops=8, landmarks=2, rng=16)
    seen = made.graph.landmarks
    marks = Landmarks(seen.pose, seen.landmark, seen.offset, seen.information, positions=[*made.landmarks, [1, 1]])
    graph = PoseGraph(made.graph.i, made.graph.j, made.graph.motion, made.graph.information, landmarks=marks)
    with pytest.warns(match="nobody saw"):
        result = optimize(graph)
    result.save_covariances(tmp_path / "cov.csv")
    with open(tmp_path / "cov.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 20 + marks.count
    assert float(rows[5]["ytheta"]) == result.covariances([5])[0, 1, 2]
    assert (rows[-1]["kind"], rows[-1]["xx"], rows[-1]["xtheta"]) == ("landmark", "nan", "")
    with pytest.raises(OutputError, match="csv"):
        result.save_covariances(tmp_path / "cov.txt")


def test_only_the_believed_edges_count():
    graph = simulate(40, loops=20, rng=17).graph
    motion = graph.motion.copy()
    motion[-1] += [4.0, -3.0, 1.5]
    wrong = PoseGraph(graph.i, graph.j, motion, graph.information)
    result = optimize(wrong, robust=True, trusted="odometry")
    assert result.distrusted.nonzero()[0].tolist() == [len(graph) - 1]
    assert result.credible == result.robust.credible
    kept = optimize(graph.with_edges(np.arange(len(graph) - 1)))
    assert result.covariances([20]) == pytest.approx(kept.covariances([20]), rel=1e-6)


def test_no_poses_have_no_covariances():
    assert optimize(simulate(30, loops=15, rng=1).graph).covariances([]).shape == (0, 3, 3)


def test_a_pose_without_edges_has_no_covariance(tmp_path):
    graph = simulate(30, loops=15, rng=1).graph
    more = PoseGraph(graph.i, graph.j, graph.motion, graph.information, ids=range(31))
    with pytest.warns(DisconnectedWarning):
        result = optimize(more)
    assert np.isnan(result.covariances([30, 3])).all(axis=(1, 2)).tolist() == [True, False]
    result.save_covariances(tmp_path / "all.csv")
    rows = list(csv.reader((tmp_path / "all.csv").open()))
    assert rows[31][:3] == ["30", "pose", "nan"]
