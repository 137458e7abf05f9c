"""A walk over a square field with loops where it comes near itself, and false loops added: truth known."""

from __future__ import annotations

import numpy as np
from pose_graphs import motions

from angsync.applications.pose_graph import PoseGraph

INFORMATION = np.diag([400.0, 400.0, 2500.0])  # 5 cm and 0.02 rad


def walk(seed=0, laps=3, side=12, scale=1.0, information=INFORMATION):
    """A robot that goes round a square of ``side`` steps some times: loops join poses of the same place.

    ``scale``: its noise in units of the stated one.
    """
    rng = np.random.default_rng(seed)
    n = 4 * side * laps
    k = np.arange(n)
    angle = 2 * np.pi * (k % (4 * side)) / (4 * side)
    truth = np.column_stack([side * np.cos(angle), side * np.sin(angle), angle + np.pi / 2])
    loops = np.array([(a, a + 4 * side) for a in range(0, n - 4 * side, 3)]).reshape(-1, 2).astype(int)
    i, j = np.concatenate([np.column_stack([k[:-1], k[1:]]), loops]).T
    noise = scale * np.linalg.solve(np.linalg.cholesky(information).T, rng.standard_normal((3, i.size))).T
    return truth, PoseGraph(i, j, motions(truth, i, j) + noise, np.tile(information, (i.size, 1, 1)))


def with_false(graph, truth, pairs, cluster=1, seed=1):
    """The graph with false loops near each of the pairs, ``cluster`` of them that agree; which edges are false."""
    rng = np.random.default_rng(seed)
    i, j, motion = [], [], []
    for a, b in pairs:
        place = np.array([*rng.uniform(-10, 10, 2), rng.uniform(-np.pi, np.pi)])
        # the second place as it would lie if pose b were at `place`, seen from pose a
        spin = np.exp(1j * (truth[a, 2] + place[2] - truth[b, 2]))
        target = complex(*truth[a, :2]) + np.exp(1j * truth[a, 2]) * complex(*place[:2])
        position = target + spin * ((truth[:, 0] + 1j * truth[:, 1]) - complex(*truth[b, :2]))
        moved = np.column_stack([position.real, position.imag, truth[:, 2] + np.angle(spin)])
        for t in range(cluster):
            both = np.array([truth[a + t], moved[b + t]])
            i.append(a + t)
            j.append(b + t)
            motion.append(motions(both, np.array([0]), np.array([1]))[0] + [0.02, 0.02, 0.01] * rng.standard_normal(3))
    information = np.tile(graph.information[0], (len(i), 1, 1))
    both = PoseGraph(
        np.concatenate([graph.i, i]), np.concatenate([graph.j, j]), np.concatenate([graph.motion, motion]),
        np.concatenate([graph.information, information]),
    )  # fmt: skip
    return both, np.arange(len(both)) >= len(graph)


PAIRS = [(3, 60), (10, 80), (17, 120), (30, 100), (41, 130), (50, 90), (7, 110), (22, 70), (36, 139), (55, 85)]
