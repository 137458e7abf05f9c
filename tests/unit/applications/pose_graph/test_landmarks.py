"""Landmarks: the joint problem against general least squares and known truth, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from pose_graphs import matrix, motions, simulated

import angsync as ang
from angsync.applications.pose_graph import Landmarks, PoseGraph, optimize, simulate
from angsync.errors import AngsyncWarning, DisconnectedWarning, ErrorBarWarning, InputError, NotFiniteError, ShapeError


def seen_from(poses, marks, pose, mark):
    """Where landmarks are in the frames of poses."""
    way = (marks[mark] - poses[pose, :2]) @ [1, 1j] * np.exp(-1j * poses[pose, 2])
    return np.column_stack([way.real, way.imag])


def squares(graph, poses, marks):
    """F written out with rotation matrices, as residuals."""
    parts = []
    for k in range(len(graph)):
        i, j = graph.i[k], graph.j[k]
        turn = [matrix(angle) for angle in (poses[i, 2], poses[j, 2], graph.motion[k, 2])]
        parts.append(np.sqrt(graph.kappa[k]) * (turn[1] - turn[0] @ turn[2]).ravel())
        parts.append(np.sqrt(graph.tau[k]) * (poses[j, :2] - poses[i, :2] - turn[0] @ graph.motion[k, :2]))
    seen = graph.landmarks
    for k in range(len(seen)):
        i, tau = seen.pose[k], 2 / np.trace(np.linalg.inv(seen.information[k]))
        gap = marks[seen.landmark[k]] - poses[i, :2] - matrix(poses[i, 2]) @ seen.offset[k]
        parts.append(np.sqrt(tau) * gap)
    return np.concatenate(parts)


@pytest.mark.parametrize("seed", [3, 4])
def test_no_least_squares_from_the_truth_is_better(seed):
    information = np.array([[30.0, 10.0], [10.0, 50.0]])
    made = simulate(20, loops=8, landmarks=5, sighting_information=information, rng=seed)
    result = optimize(made.graph)
    count = made.landmarks.shape[0]

    def residuals(x):
        poses = np.concatenate([[[0, 0, 0]], x[: -2 * count].reshape(-1, 3)])
        return squares(made.graph, poses, x[-2 * count :].reshape(-1, 2))

    start = np.concatenate([made.poses[1:].ravel(), made.landmarks.ravel()])
    found = scipy.optimize.least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.cost == pytest.approx(2 * found.cost, rel=1e-9)
    assert result.cost == pytest.approx(-result.sync.objective, rel=1e-9)
    assert result.cost == pytest.approx(made.graph.cost(result.poses, result.landmarks), rel=1e-9)
    assert result.cost == pytest.approx(made.graph.cost(result.poses), rel=1e-9)  # the best landmarks for these poses
    assert result.landmarks == pytest.approx(found.x[-2 * count :].reshape(-1, 2), abs=1e-5)
    assert "headings, positions and landmarks together" in str(result)


def test_exact_sightings_give_the_truth():
    truth, _ = simulated(8, 0, 0.0, seed=6)
    marks = np.random.default_rng(1).normal(size=(4, 2))
    i, j = np.arange(7), np.arange(1, 8)
    pose, mark = np.array([0, 3, 5, 1, 1, 7, 2]), np.array([0, 0, 0, 1, 2, 2, 3])
    seen = Landmarks(pose, mark, seen_from(truth, marks, pose, mark))
    result = optimize(PoseGraph(i, j, motions(truth, i, j), poses=truth, landmarks=seen))
    assert result.landmarks == pytest.approx(marks, abs=1e-10)
    assert result.cost < 1e-20


def test_landmarks_join_parts_that_no_motion_joins():
    truth, _ = simulated(10, 0, 0.0, seed=7)
    marks = np.random.default_rng(2).normal(size=(3, 2))
    i, j = np.array([0, 1, 2, 3, 5, 6, 7, 8]), np.array([1, 2, 3, 4, 6, 7, 8, 9])  # 0 .. 4 and 5 .. 9
    pose, mark = np.array([0, 2, 4, 5, 7, 9]), np.array([0, 1, 2, 0, 1, 2])
    motion = motions(truth, i, j)
    seen = Landmarks(pose, mark, seen_from(truth, marks, pose, mark))
    graph = PoseGraph(i, j, motion, poses=truth, landmarks=seen)
    assert graph.components.max() == 0
    result = optimize(graph)
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.poses[:, :2] == pytest.approx(truth[:, :2], abs=1e-8)
    # one common landmark is a hinge
    hinge = PoseGraph(i, j, motion, landmarks=Landmarks(pose[[0, 3]], mark[[0, 3]], seen.offset[[0, 3]]))
    with pytest.warns(DisconnectedWarning, match="joined by landmarks only, and by too few"):
        optimize(hinge)


def test_a_pose_that_only_sees():
    """Without a motion its heading is free where it sees one landmark; nothing breaks."""
    truth, graph = simulated(5, 3, 0.0, seed=8)
    marks = np.array([[1.0, 1.0]])
    pose, mark = np.array([0, 5]), np.array([0, 0])
    truth = np.concatenate([truth, [[2.0, 2.0, 0.3]]])
    seen = Landmarks(pose, mark, seen_from(truth, marks, pose, mark))
    whole = PoseGraph(graph.i, graph.j, graph.motion, graph.information, poses=truth, landmarks=seen)
    with pytest.warns(DisconnectedWarning):
        result = optimize(whole)
    assert result.landmarks == pytest.approx(marks, abs=1e-9)
    assert np.isfinite(result.poses).all()


def test_a_landmark_that_nobody_saw_stays():
    made = simulate(12, loops=3, rng=1)
    seen = Landmarks([0], [0], [[1.0, 0.0]], positions=[[9.0, 9.0], [4.0, 5.0]], ids=[70, 71])
    graph = PoseGraph(made.graph.i, made.graph.j, made.graph.motion, landmarks=seen)
    with pytest.warns(AngsyncWarning, match="nobody saw stay where they are: 71"):
        result = optimize(graph)
    assert result.landmarks == pytest.approx(np.array([[1.0, 0.0], [4.0, 5.0]]))
    with pytest.warns(ErrorBarWarning):
        assert np.isnan(result.landmark_covariances()[1]).all()
    with pytest.warns(AngsyncWarning, match="nobody saw"):
        assert optimize(graph, cost="information").landmarks[1].tolist() == [4.0, 5.0]


def test_a_robust_search_believes_sightings_and_says_so():
    made = simulate(40, loops=20, landmarks=6, rng=17)
    motion = made.graph.motion.copy()
    motion[-1] += [4.0, -3.0, 1.5]
    graph = PoseGraph(made.graph.i, made.graph.j, motion, made.graph.information, landmarks=made.graph.landmarks)
    result = optimize(graph, robust=True, trusted="odometry")
    assert result.distrusted.nonzero()[0].tolist() == [len(graph) - 1]
    assert result.credible is None
    assert "sightings of landmarks were all believed" in " ".join(result.robust.reasons)
    assert np.abs(result.landmarks - made.landmarks).max() < 1.0  # meters; a sighting has 0.1


@pytest.mark.parametrize(
    ("arguments", "details", "error", "words"),
    [
        (([0], [0], [[1.0, 0.0, 0.5]]), {}, ShapeError, "a landmark has no heading"),
        (([0], [0, 1], [[1.0, 0.0]]), {}, ShapeError, "must have shapes"),
        (([0], [0], [[1.0, np.nan]]), {}, NotFiniteError, "sighting 0 is not finite"),
        (([0.5], [0], [[1.0, 0.0]]), {}, InputError, "whole numbers"),
        (([0], [1], [[1.0, 0.0]]), {}, InputError, "landmark 0 is seen from no pose and has no position"),
        (([0], [-1], [[1.0, 0.0]]), {}, InputError, "numbers of landmarks"),
        (([0], [0], [[1.0, 0.0]], [np.eye(3)]), {}, ShapeError, "shape \\(1, 2, 2\\), a matrix for each sighting"),
        (([0], [0], [[1.0, 0.0]], [[[1, 1], [1, 1]]]), {}, InputError, "sighting 0 is not positive definite"),
        (([0], [0], [[1.0, 0.0]]), {"positions": [[0, 0, 0]]}, ShapeError, "shape \\(1, 2\\): x, y"),
    ],
)
def test_bad_landmarks_are_refused(arguments, details, error, words):
    with pytest.raises(error, match=words):
        Landmarks(*arguments, **details)


@pytest.mark.parametrize(
    ("landmarks", "words"),
    [
        (Landmarks([7], [0], [[1.0, 0.0]]), "numbers of poses, 0 to 2"),
        (Landmarks([0], [0], [[1.0, 0.0]], ids=[2]), "2 is the id of a pose and of a landmark"),
        (Landmarks([0, 0], [0, 1], [[1.0, 0.0], [0, 1]], ids=[5, 5]), "different from each other"),
        ([[0, 0, 1, 0]], "must be pose_graph.Landmarks"),
    ],
)
def test_landmarks_that_do_not_fit_the_graph(landmarks, words):
    with pytest.raises(InputError, match=words):
        PoseGraph([0, 1], [1, 2], [[1, 0, 0], [1, 0, 0]], landmarks=landmarks)
