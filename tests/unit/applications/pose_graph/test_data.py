"""The data of a pose graph: its operator and cost against dense formulas, odometry, where poses lie, bad arrays."""

from __future__ import annotations

import numpy as np
import pytest
from pose_graphs import close, motions, moved_to_the_origin, residuals, simulated, with_poses

import angsync as ang
from angsync.applications.pose_graph import Landmarks, PoseGraph, optimize
from angsync.errors import (
    AngsyncWarning,
    ContradictionWarning,
    DisconnectedWarning,
    InputError,
    NotFiniteError,
    ShapeError,
    UnitWarning,
)


def test_the_operator_is_the_published_cost():
    _, graph = simulated(9, 8, 0.3, seed=1)
    edges, rows = len(graph), np.arange(len(graph))
    turn = np.zeros((edges, 9), dtype=complex)
    turn[rows, graph.j], turn[rows, graph.i] = 1, -np.exp(1j * graph.motion[:, 2])
    moved, between = np.zeros((edges, 9), dtype=complex), np.zeros((edges, 9))
    moved[rows, graph.i] = graph.motion[:, 0] + 1j * graph.motion[:, 1]
    between[rows, graph.j], between[rows, graph.i] = 1, -1
    T = np.diag([2 / np.trace(np.linalg.inv(information[:2, :2])) for information in graph.information])
    laplacian = turn.conj().T @ np.diag(graph.information[:, 2, 2]) @ turn
    projection = T - T @ between @ np.linalg.pinv(between.T @ T @ between) @ between.T @ T
    Q = 2 * laplacian + moved.conj().T @ projection @ moved
    assert graph.operator().to_dense() == pytest.approx(-Q, abs=1e-10 * np.abs(Q).max())
    ang.testing.check_operator(graph.operator())


def test_the_cost_is_written_out():
    truth, graph = simulated(8, 6, 0.5, seed=2)
    assert graph.cost(truth) == pytest.approx(float(np.sum(residuals(graph, truth) ** 2)), rel=1e-12)


def test_the_odometry_is_the_product_of_the_steps():
    truth, _ = simulated(9, 0, 0.0, seed=18)
    i, j = np.array([4, 0, 3, 1, 2, 7, 6, 5, 0, 1]), np.array([5, 1, 4, 2, 3, 8, 7, 6, 8, 2])
    motion = motions(truth, i, j)
    motion[-1] += 1  # the step from 1 to 2 measured again: the first one counts
    close(PoseGraph(i, j, motion).odometry, moved_to_the_origin(truth), 1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (([0], [1, 2], [[1, 0, 0]]), {}, ShapeError, r"they are \(1,\), \(2,\) and \(1, 3\)"),
        (([0], [1], [[1, 0]]), {}, ShapeError, r"\(1, 2\)"),
        (([], [], np.zeros((0, 3))), {}, InputError, "no edges"),
        (([0.5], [1], [[1, 0, 0]]), {}, InputError, "whole numbers"),
        (([0], [0], [[1, 0, 0]]), {}, InputError, "edge 0 joins a pose to itself"),
        (([-1], [0], [[1, 0, 0]]), {}, InputError, "numbers of poses, 0 to 0"),
        (([0], [7], [[1, 0, 0]]), {"ids": [6, 7]}, InputError, "0 to 1; the numbers of a file belong into ids"),
        (([0], [1], [[1, 0, np.inf]]), {}, NotFiniteError, "motion of edge 0"),
        (([0], [1], [[1, 0, 0]]), {"information": np.eye(3)}, ShapeError, r"\(1, 3, 3\)"),
        (([0], [1], [[1, 0, 0]]), {"information": [np.diag([1, 1, 0])]}, InputError, "of edge 0 is not positive"),
        (([0], [1], [[1, 0, 0]]), {"information": [np.full((3, 3), np.nan)]}, InputError, "of edge 0 is not positive"),
        (
            ([0], [1], [[1, 0, 0]]),
            {"information": [[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]]},
            InputError,
            "of edge 0 is not positive",
        ),
        (([0], [1], [[1, 0, 0]]), {"poses": np.zeros((2, 2))}, ShapeError, r"\(2, 3\)"),
        (([0], [1], [[1, 0, 0]]), {"ids": [4, 4]}, InputError, "different"),
        (([0], [1], [[1, 0, 0]]), {"fixed": [2]}, InputError, "0 to 1"),
    ],
)
def test_arrays_that_are_refused(arguments, options, error, words):
    with pytest.raises(error, match=words):
        PoseGraph(*arguments, **options)


def test_a_graph_does_not_change_with_the_arrays_it_was_made_of():
    motion = np.array([[1.0, 0, 0]])
    graph = PoseGraph([0], [1], motion)
    motion[:] = 7
    assert graph.motion.tolist() == [[1, 0, 0]]
    assert repr(graph) == "PoseGraph(n=2, edges=1)"


def test_the_first_pose_stays_where_it_was_given():
    truth, graph = simulated(8, 8, 0.1, seed=7)
    free = optimize(graph)
    assert free.poses[0].tolist() == [0, 0, 0]
    assert free.initial_cost is None
    held = optimize(with_poses(graph, truth))
    assert held.poses[0] == pytest.approx(truth[0], abs=1e-15)
    assert held.initial_cost == pytest.approx(graph.cost(truth), rel=1e-15)
    assert held.cost == pytest.approx(free.cost, rel=1e-9)
    close(moved_to_the_origin(held.poses), free.poses, 1e-9)


def test_a_fixed_pose_stays_where_it_was_given():
    truth, graph = simulated(8, 8, 0.1, seed=7)
    result = optimize(with_poses(graph, truth, fixed=[5]))
    assert result.poses[5] == pytest.approx(truth[5], abs=1e-14)
    assert np.abs(result.poses[0] - truth[0]).max() > 1e-3
    with pytest.warns(AngsyncWarning, match="several poses of one component are fixed, but only one"):
        again = optimize(with_poses(graph, truth, fixed=[5, 2]))
    assert np.array_equal(again.poses, result.poses)
    unknown = truth.copy()
    unknown[5] = np.nan  # nothing to hold it at
    assert optimize(with_poses(graph, unknown, fixed=[5])).poses[0] == pytest.approx(truth[0], abs=1e-14)


def test_pieces_are_solved_apart_and_lonely_poses_stay():
    first_truth, first = simulated(6, 5, 0.2, seed=8)
    second_truth, second = simulated(5, 4, 0.2, seed=9)
    lonely = [[3.0, 4.0, 7.0]]
    graph = PoseGraph(
        np.concatenate([first.i, second.i + 7]),
        np.concatenate([first.j, second.j + 7]),
        np.concatenate([first.motion, second.motion]),
        np.concatenate([first.information, second.information]),
        poses=np.concatenate([first_truth, lonely, second_truth]),
        ids=range(20, 32),
    )
    with pytest.warns(
        DisconnectedWarning, match=r"2 component\(s\) with edges and 1 pose\(s\) without edges \(26\)"
    ) as seen:
        result = optimize(graph)
    assert len(seen) == 1
    assert "(26)" in result.sync.message
    assert result.sync.labels == tuple(range(20, 32))
    assert result.poses[6].tolist() == lonely[0]
    parts = [optimize(with_poses(first, first_truth)), optimize(with_poses(second, second_truth))]
    close(result.poses[:6], parts[0].poses, 1e-9)
    close(result.poses[7:], parts[1].poses, 1e-9)
    assert result.cost == pytest.approx(parts[0].cost + parts[1].cost, rel=1e-10)
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED


def test_headings_are_in_the_usual_range():
    truth, graph = simulated(30, 10, 0.1, seed=10)
    turned = truth + np.array([0, 0, 100 * np.pi])
    result = optimize(with_poses(graph, turned))
    assert (np.abs(result.theta) <= np.pi).all()
    close(result.poses[:1], truth[:1], 1e-12)
    assert (result.x.tolist(), result.y.tolist()) == (result.poses[:, 0].tolist(), result.poses[:, 1].tolist())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"poses": [[0, 0, 0], [np.inf, 0, 0]]}, "pose 1 is infinite"),
        ({"poses": [["a", 0, 0], [1, 0, 0]]}, "poses must be numbers"),
        ({"ids": [0.5, 1.5]}, "ids must be whole numbers"),
        ({"ids": ["a", "b"]}, "ids must be whole numbers"),
        ({"fixed": ["a"]}, "fixed must be numbers of poses"),
        ({"fixed": [0.5]}, "fixed must be numbers of poses"),
    ],
)
def test_bad_poses_and_ids_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        PoseGraph([0], [1], [[1, 0, 0]], **given)


def test_landmarks_are_checked_as_poses_are():
    with pytest.raises(InputError, match="ids must be whole numbers"):
        Landmarks([0], [0], [[1, 0]], ids=[2.5])
    with pytest.raises(InputError, match="landmark 0 is infinite"):
        Landmarks([0], [0], [[1, 0]], positions=[[np.inf, 0]])


def test_the_cost_of_poses_of_a_wrong_shape_is_refused():
    graph = PoseGraph([0], [1], [[1, 0, 0]], landmarks=Landmarks([0], [0], [[1, 0]]))
    with pytest.raises(InputError, match=r"poses must have shape \(2, 3\)"):
        graph.cost(np.zeros((1, 3)))
    with pytest.raises(InputError, match=r"positions must have shape \(1, 2\)"):
        graph.cost(np.zeros((2, 3)), np.zeros((2, 2)))
    assert graph.cost([[0, 0, 0], [1, 0, 0]], [[1, 0]]) == 0


def test_turns_that_look_like_degrees_are_told_without_a_setting_that_is_not_there():
    graph = PoseGraph([0, 1, 2], [1, 2, 0], [[1, 0, 119.0], [1, 0, 121.0], [1, 0, 120.0]])
    with pytest.warns(UnitWarning, match="radians") as said:
        optimize(graph)
    assert len(said) == 1
    assert "unit" not in str(said[0].message)


def test_parallel_edges_are_told_in_the_convention_of_pose_graphs():
    with pytest.warns(ContradictionWarning, match=r"theta_j - theta_i") as said:
        optimize(PoseGraph([0, 0], [1, 1], [[1, 0, 0.0], [1, 0, np.pi]]))
    assert len(said) == 1
    assert "theta_i - theta_j" not in str(said[0].message)
