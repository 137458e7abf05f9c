"""Pose graphs with known truth: a robot that wanders through a square, recognizes places and sees landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.landmarks import Landmarks, informations
from angsync.circle import wrap
from angsync.errors import InputError

_INFORMATION = np.diag([400.0, 400.0, 2500.0])  # 5 cm and 1.1 degrees
_SEEN = np.diag([100.0, 100.0])  # 10 cm
_APART = 10  # steps between the two ends of a loop, at least


@dataclass(frozen=True, eq=False)
class Simulated:
    """A graph and the truth that it measures."""

    graph: PoseGraph
    poses: NDArray[np.float64]
    """x, y, theta; the first is the origin, and held."""
    landmarks: NDArray[np.float64]


def simulate(
    n: int = 200,
    *,
    loops: int = 60,
    landmarks: int = 0,
    sight: float = 6.0,
    information: ArrayLike | None = None,
    sighting_information: ArrayLike | None = None,
    rng: Any = None,
) -> Simulated:
    """A walk of n poses, one meter each, with loops between poses near each other and sightings of landmarks.

    Noise is normal with exactly the informations that the graph states ((3, 3) for motions, (2, 2) for sightings;
    meters and radians): in the axes of the second pose for motions, of the pose for sightings. Landmarks lie anywhere
    in the square; one is seen from a pose within ``sight`` meters every third time.

    Examples
    --------
    >>> from angsync.applications import pose_graph
    >>> simulated = pose_graph.simulate(30, loops=8, rng=0)
    >>> len(simulated.graph), simulated.poses.shape
    (37, (30, 3))
    """
    for name, number in (("n", n), ("loops", loops), ("landmarks", landmarks)):
        if not isinstance(number, (int, np.integer)) or number < 0:
            raise InputError(f"{name} must be a whole number, not negative, but it is {number!r}.")
    if not sight > 0:
        raise InputError(f"sight must be a positive length, but it is {sight!r}.")
    if n < 2:
        raise InputError(f"n must be at least 2, but it is {n}.")
    rng = np.random.default_rng(rng)
    motion_information = _one(_INFORMATION if information is None else information, 3, "motion")
    seen_information = _one(_SEEN if sighting_information is None else sighting_information, 2, "sighting")
    side = 1.5 * np.sqrt(n)
    poses = _walk(n, side, rng)
    position = poses[:, 0] + 1j * poses[:, 1]
    near = cKDTree(poses[:, :2]).query_pairs(sight, output_type="ndarray").astype(np.int64)
    near = near[near[:, 1] - near[:, 0] >= _APART]
    near = near[np.lexsort((near[:, 1], near[:, 0]))]
    chosen = near[np.sort(rng.permutation(len(near))[:loops])]
    i, j = np.concatenate([np.column_stack([np.arange(n - 1), np.arange(1, n)]), chosen]).T
    motion = _measured(poses, i, j, _noise(motion_information, i.size, rng))
    marks, seen = np.empty((0, 2)), None
    if landmarks:
        box = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
        marks = rng.uniform(*box, (landmarks, 2))
        way = (marks[:, 0] + 1j * marks[:, 1]) - position[:, None]
        pose, mark = np.nonzero((np.abs(way) < sight) & (rng.random(way.shape) < 1 / 3))
        kept, mark = np.unique(mark, return_inverse=True)  # only what is seen at all
        marks, way = marks[kept], way[:, kept]
        offset = way[pose, mark] * np.exp(-1j * poses[pose, 2])
        noise = _noise(seen_information, pose.size, rng)
        seen = Landmarks(
            pose, mark, np.column_stack([offset.real, offset.imag]) - noise,
            np.tile(seen_information, (pose.size, 1, 1)),
        )  # fmt: skip
    graph = PoseGraph(i, j, motion, np.tile(motion_information, (i.size, 1, 1)), landmarks=seen)
    return Simulated(graph, poses, marks)


def _one(information: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    """One checked information matrix."""
    return informations(np.array(information, dtype=float)[None], 1, size, what)[0]


def _walk(n: int, side: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """One meter at a time, turning a little, and back to the middle where the square ends."""
    poses = np.zeros((n, 3))
    heading, at = 0.0, 0j
    for k in range(1, n):
        at += np.exp(1j * heading)
        heading += rng.normal(0.0, 0.4)
        if max(abs(at.real), abs(at.imag)) > side / 2:
            heading = float(np.angle(-at)) + rng.normal(0.0, 0.3)
        poses[k] = at.real, at.imag, wrap(np.array([heading]))[0]
    return poses


def _noise(information: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    root = np.linalg.cholesky(information)
    return np.asarray(np.linalg.solve(root.T, rng.standard_normal((information.shape[0], count))).T)


def _measured(
    poses: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64], error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Motions M with M^-1 X_i^-1 X_j = error exactly: the true motion, then the error taken off."""
    position = poses[:, 0] + 1j * poses[:, 1]
    way = (position[j] - position[i]) * np.exp(-1j * poses[i, 2])
    turn = poses[j, 2] - poses[i, 2] - error[:, 2]
    d = way - np.exp(1j * turn) * (error[:, 0] + 1j * error[:, 1])
    return np.column_stack([d.real, d.imag, wrap(turn)])
