"""Pose graphs of known truth for tests, and their cost written out."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.pose_graph import PoseGraph


def simulated(n, extra, noise, seed, **details):
    """A path through random poses with further edges in both directions; the truth and the graph."""
    rng = np.random.default_rng(seed)
    truth = np.column_stack([rng.uniform(-5, 5, (n, 2)), rng.uniform(-np.pi, np.pi, n)])
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(extra)], dtype=np.int64).reshape(-1, 2)
    i, j = np.concatenate([np.column_stack([np.arange(n - 1), np.arange(1, n)]), pairs]).T
    motion = motions(truth, i, j) + noise * rng.standard_normal((i.size, 3))
    root = rng.standard_normal((i.size, 3, 3))
    return truth, PoseGraph(i, j, motion, root @ root.transpose(0, 2, 1) + np.eye(3), **details)


def motions(poses, i, j):
    position, heading = poses[:, 0] + 1j * poses[:, 1], np.exp(1j * poses[:, 2])
    seen = (position[j] - position[i]) * heading[i].conj()
    return np.column_stack([seen.real, seen.imag, np.angle(heading[j] * heading[i].conj())])


def residuals(graph, poses):
    """F as a sum of squares, written out with rotation matrices: independent of what the library does."""
    parts = []
    for k in range(len(graph)):
        i, j, information = graph.i[k], graph.j[k], graph.information[k]
        turn = [matrix(angle) for angle in (poses[i, 2], poses[j, 2], graph.motion[k, 2])]
        parts.append(np.sqrt(information[2, 2]) * (turn[1] - turn[0] @ turn[2]).ravel())
        tau = 2 / np.trace(np.linalg.inv(information[:2, :2]))
        parts.append(np.sqrt(tau) * (poses[j, :2] - poses[i, :2] - turn[0] @ graph.motion[k, :2]))
    return np.concatenate(parts)


def matrix(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def close(a, b, tolerance):
    """Poses agree; angles are compared on the circle."""
    assert a[:, :2] == pytest.approx(b[:, :2], abs=tolerance)
    assert np.abs(np.angle(np.exp(1j * (a[:, 2] - b[:, 2])))).max() < tolerance


def moved_to_the_origin(poses):
    back = matrix(-poses[0, 2])
    return np.column_stack([(poses[:, :2] - poses[0, :2]) @ back.T, poses[:, 2] - poses[0, 2]])


def with_poses(graph, poses, fixed=()):
    return PoseGraph(graph.i, graph.j, graph.motion, graph.information, poses=poses, fixed=fixed)
