"""What a robust fit starts from: trusted edges as they may be given, and a tree."""

from __future__ import annotations

import numpy as np
import pytest
from pose_graphs import close, simulated

from angsync.applications.pose_graph import PoseGraph
from angsync.applications.pose_graph.backbone import backbone, odometry_edges, trusted_edges
from angsync.errors import InputError


def graph_of(pairs, **details):
    i, j = np.array(pairs).T
    return PoseGraph(i, j, np.tile([1.0, 0.0, 0.1], (i.size, 1)), **details)


def test_odometry_is_the_first_step_between_neighbors_in_either_direction():
    graph = graph_of([(0, 1), (2, 1), (2, 3), (3, 2), (0, 3)])
    assert odometry_edges(graph).tolist() == [True, True, True, False, False]
    # a step that was measured twice is not trusted: which of the two is odometry is not known
    assert trusted_edges(graph, "odometry").tolist() == [True, True, False, False, False]


def test_booleans_and_places_mean_the_same():
    graph = graph_of([(0, 1), (1, 2), (2, 3)])
    assert trusted_edges(graph, [True, False, True]).tolist() == trusted_edges(graph, [2, 0]).tolist()
    # from the end, as synchronize() and lists count
    assert trusted_edges(graph, [-1]).tolist() == [False, False, True]
    assert not trusted_edges(graph, None).any()
    assert not trusted_edges(graph, []).any()


@pytest.mark.parametrize(
    ("trusted", "words"),
    [
        ("steps", "'odometry'"),
        ([True, False], "has 2 booleans for 3 measurements"),
        ([0.5, 1.0], "must be booleans"),
        ([[0]], "must be booleans"),
        ([7], "names measurement 7, but they are numbered from 0 to 2"),
        ([-4], "names measurement -4"),
    ],
)
def test_anything_else_is_refused(trusted, words):
    with pytest.raises(InputError, match=words):
        trusted_edges(graph_of([(0, 1), (1, 2), (2, 3)]), trusted)


def test_odometry_has_to_be_there():
    with pytest.raises(InputError, match="no edge joins two poses that follow each other"):
        trusted_edges(graph_of([(0, 2), (2, 4), (4, 1), (1, 3)]), "odometry")


def test_trusted_edges_come_first_and_the_rest_is_a_tree():
    graph = graph_of([(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3), (0, 1)])
    spine = backbone(graph, trusted_edges(graph, [4, 5]))
    # one more edge joins pose 2, and a step is taken before a loop
    assert np.flatnonzero(spine.edges).tolist() in ([1, 4, 5], [2, 4, 5])
    loop = backbone(graph, trusted_edges(graph, [3, 4, 5, 6]))
    assert loop.edges[[3, 4, 5, 6]].all()


def test_exact_motions_give_the_truth_along_the_backbone():
    truth, graph = simulated(12, 9, 0.0, seed=3)
    graph = PoseGraph(graph.i, graph.j, graph.motion, graph.information, poses=truth)
    close(backbone(graph, trusted_edges(graph, None)).poses, truth, 1e-12)
    close(backbone(graph, trusted_edges(graph, range(11, 20))).poses, truth, 1e-12)


def test_pieces_and_poses_without_edges_stay_where_they_are_given():
    given = np.array([[5.0, 5.0, 0.0], [np.nan] * 3, [7.0, 7.0, 1.0], [np.nan] * 3, [1.0, 2.0, 3.0]])
    graph = PoseGraph([0, 2], [1, 3], [[1, 0, 0], [1, 0, 0]], poses=given)
    poses = backbone(graph, trusted_edges(graph, None)).poses
    assert poses[:, 0] == pytest.approx([5, 6, 7, 7 + np.cos(1), 1])
    assert poses[4] == pytest.approx(given[4])
