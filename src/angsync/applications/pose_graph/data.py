r"""The data of a 2-D pose graph, checked, and the phase synchronization problem that it contains.

A pose is a position p (a complex number) and a heading z (a phase). The motion :math:`(d, \delta)` from pose i to pose
j says :math:`p_j \approx p_i + z_i d` and :math:`z_j \approx z_i e^{\mathrm{i}\delta}`. The cost is that of SE-Sync
(Rosen, Carlone, Bandeira and Leonard, IJRR 2019; its rotations are matrices: hence the 2),

.. math:: F = \sum_{i \to j} 2 \kappa\, |z_j - z_i e^{\mathrm{i}\delta}|^2 + \tau\, |p_j - p_i - z_i d|^2,
          \qquad \kappa = I_{33}, \quad \tau = 2 / \mathrm{tr}(I_{xy}^{-1}).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import ArrayLike, NDArray

from angsync.applications.pose_graph.landmarks import (
    Landmarks,
    check_not_infinite,
    checked_landmarks,
    informations,
    isotropic_weight,
    numbers,
    whole_numbers,
)
from angsync.circle import wrap
from angsync.errors import InputError, NotFiniteError, ShapeError, UnitWarning
from angsync.problem.measurements import Measurements
from angsync.problem.operators.schur import SchurOperator
from angsync.problem.pieces import piece_labels


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PoseGraph:
    """Relative motions between the poses 0 .. n-1.

    Parameters
    ----------
    i, j
        First and second pose of every edge.
    motion
        (edges, 3): dx, dy, dtheta of the second pose, seen from the first; meters (or any length) and radians.
    information
        (edges, 3, 3): inverse covariance of every motion, positive definite; identity unless given.
    poses
        (n, 3): x, y, theta as they are known beforehand, NaN where one is not.
    ids
        The number of every pose in its file; 0 .. n-1 unless given.
    fixed
        Poses that stay where they are given. Each connected component can hold one: the first of them that has a
        known pose, or its first pose where there is none.
    lines
        Of the file the graph was read from: everything but the vertices, for writing it again.
    landmarks
        Points that poses saw (:class:`~angsync.applications.pose_graph.landmarks.Landmarks`).
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    motion: NDArray[np.float64]
    information: NDArray[np.float64]
    poses: NDArray[np.float64]
    ids: tuple[int, ...]
    fixed: tuple[int, ...]
    lines: tuple[str, ...] | None
    landmarks: Landmarks

    def __init__(
        self,
        i: ArrayLike,
        j: ArrayLike,
        motion: ArrayLike,
        information: ArrayLike | None = None,
        *,
        poses: ArrayLike | None = None,
        ids: Sequence[int] | None = None,
        fixed: Sequence[int] = (),
        lines: Iterable[str] | None = None,
        landmarks: Landmarks | None = None,
    ) -> None:
        first, second, motions = _edges(i, j, motion)
        if ids is not None:
            n = len(ids)
        elif poses is not None:
            n = int(np.shape(poses)[0])
        else:
            n = int(max(first.max(), second.max())) + 1
        _check_ends(first, second, n)
        known = np.full((n, 3), np.nan) if poses is None else numbers(poses, "poses")
        names = tuple(range(n)) if ids is None else whole_numbers(ids)
        if known.shape != (n, 3):
            raise ShapeError(f"poses must have shape ({n}, 3): x, y, theta of each pose. It is {known.shape}.")
        check_not_infinite(known, "pose")
        if len(set(names)) != n:
            raise InputError("ids must be different from each other.")
        if any(not isinstance(node, (int, np.integer)) or not 0 <= node < n for node in fixed):
            raise InputError(f"fixed must be numbers of poses, 0 to {n - 1}, but it is {tuple(fixed)}.")
        values: dict[str, Any] = {
            "i": first, "j": second, "motion": motions, "information": informations(information, first.size, 3, "edge"),
            "poses": known, "ids": names, "fixed": tuple(int(node) for node in fixed),
            "lines": None if lines is None else tuple(lines),
            "landmarks": checked_landmarks(landmarks, n, names),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.i.size)

    def __repr__(self) -> str:
        seen = self.landmarks
        more = f", landmarks={seen.count}, sightings={len(seen)}" if seen.count else ""
        return f"PoseGraph(n={self.n}, edges={len(self)}{more})"

    def _repr_html_(self) -> str:
        from angsync.applications.pose_graph.cards import graph_card

        return graph_card(self)

    @property
    def n(self) -> int:
        """Number of poses."""
        return len(self.ids)

    @property
    def kappa(self) -> NDArray[np.float64]:
        """Weight of the rotation of each edge."""
        return self.information[:, 2, 2]

    @property
    def tau(self) -> NDArray[np.float64]:
        """Weight of the translation of each edge: 2 / trace(inv(I_xy))."""
        return isotropic_weight(self.information)

    @property
    def components(self) -> NDArray[np.int64]:
        """Label of the connected component of each pose, numbered by first appearance; landmarks join poses too."""
        return self.pieces[: self.n]

    @cached_property
    def pieces(self) -> NDArray[np.int64]:
        """Labels of the components of all points: poses, then landmarks."""
        _, first, second, _, _ = self._displacements
        return piece_labels(self.n + self.landmarks.count, first, second)

    @cached_property
    def _displacements(self) -> tuple[NDArray, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
        """What was measured between points (poses, then landmarks): displacements, both ends, weights, their number."""
        seen = self.landmarks
        return (
            np.concatenate([self.motion[:, 0] + 1j * self.motion[:, 1], seen.offset[:, 0] + 1j * seen.offset[:, 1]]),
            np.concatenate([self.i, seen.pose]),
            np.concatenate([self.j, self.n + seen.landmark]),
            np.concatenate([self.tau, seen.tau]),
            len(self) + len(seen),
        )

    @cached_property
    def references(self) -> NDArray[np.int64]:
        """The pose of each component that is held: the first fixed one whose pose is known, or the first one."""
        nodes = np.unique(self.components, return_index=True)[1].astype(np.int64)
        known = [node for node in self.fixed if np.isfinite(self.poses[node]).all()]
        for node in reversed(known):  # the first named wins
            nodes[self.components[node]] = node
        return nodes

    @property
    def initial_cost(self) -> float | None:
        """The cost of the poses given; None where a pose with edges is not known."""
        seen = self.landmarks
        ends = np.union1d(np.union1d(self.i, self.j), seen.pose)
        if not np.isfinite(self.poses[ends]).all():
            return None
        return self.cost(self.poses, seen.positions if np.isfinite(seen.positions).all() else None)

    @property
    def odometry(self) -> NDArray[np.float64] | None:
        """Poses (n, 3) from the steps 0 to 1, 1 to 2, ... alone, from the origin; None where a step is missing."""
        steps = np.flatnonzero(self.j - self.i == 1)
        begun, which = np.unique(self.i[steps], return_index=True)
        if begun.size != self.n - 1:
            return None
        steps = steps[which]  # where a step was measured twice, the first
        angle = np.concatenate([[0.0], np.cumsum(self.motion[steps, 2])])
        position = np.concatenate(
            [[0.0], np.cumsum(np.exp(1j * angle[:-1]) * (self.motion[steps, 0] + 1j * self.motion[steps, 1]))]
        )
        return np.column_stack([position.real, position.imag, wrap(angle)])

    def cost(self, poses: NDArray[np.float64], positions: NDArray[np.float64] | None = None) -> float:
        """F at poses (n, 3) and positions of landmarks (L, 2; the best ones unless given).

        Summed over the residuals, so that nothing cancels.
        """
        poses = np.asarray(poses, dtype=float)
        if poses.shape != (self.n, 3):
            raise ShapeError(f"poses must have shape ({self.n}, 3): x, y, theta of each pose. It is {poses.shape}.")
        points = poses[:, 0] + 1j * poses[:, 1]
        if self.landmarks.count:
            found = self.best_landmarks(poses) if positions is None else np.asarray(positions, dtype=float)
            if found.shape != (self.landmarks.count, 2):
                raise ShapeError(f"positions must have shape ({self.landmarks.count}, 2), but it is {found.shape}.")
            points = np.concatenate([points, found[:, 0] + 1j * found[:, 1]])
        turn = poses[self.j, 2] - poses[self.i, 2] - self.motion[:, 2]
        d, first, second, tau, _ = self._displacements
        shift = points[second] - points[first] - np.exp(1j * poses[first, 2]) * d
        return self._total(8 * self.kappa * np.sin(turn / 2) ** 2, tau * np.abs(shift) ** 2)

    def best_landmarks(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions (L, 2) of landmarks that cost least for given poses: weighted means of where they were seen."""
        seen = self.landmarks
        d = seen.offset[:, 0] + 1j * seen.offset[:, 1]
        at = poses[seen.pose, 0] + 1j * poses[seen.pose, 1] + np.exp(1j * poses[seen.pose, 2]) * d
        weight = np.bincount(seen.landmark, seen.tau, minlength=seen.count)
        found = seen.positions.copy()
        good = weight > 0
        for axis, part in enumerate((at.real, at.imag)):
            total = np.bincount(seen.landmark, seen.tau * part, minlength=seen.count)
            found[good, axis] = total[good] / weight[good]
        return found

    def cost_of(self, z: NDArray, unknowns: NDArray) -> float:
        """F at phases and eliminated unknowns of the operator: nothing is lost to angles and shifted positions."""
        points = self._points(unknowns)
        turn = z[self.j] - z[self.i] * np.exp(1j * self.motion[:, 2])
        d, first, second, tau, _ = self._displacements
        shift = points[second] - points[first] - z[first] * d
        return self._total(2 * self.kappa * np.abs(turn) ** 2, tau * np.abs(shift) ** 2)

    def _total(self, turns: NDArray[np.float64], shifts: NDArray[np.float64]) -> float:
        return float(np.sum(turns + shifts[: len(self)]) + np.sum(shifts[len(self) :]))

    def _points(self, unknowns: NDArray) -> NDArray[np.complex128]:
        """Positions of poses, then of landmarks, from the eliminated unknowns."""
        points = np.zeros(self.pieces.size, dtype=np.complex128)
        points[self._free] = unknowns
        return points

    def with_edges(self, kept: NDArray[np.int64]) -> PoseGraph:
        """The same poses and landmarks with these edges only."""
        return PoseGraph(
            self.i[kept], self.j[kept], self.motion[kept], self.information[kept],
            poses=self.poses, ids=self.ids, fixed=self.fixed, landmarks=self.landmarks,
        )  # fmt: skip

    def without_landmarks(self) -> PoseGraph:
        """Poses and motions alone."""
        return PoseGraph(
            self.i, self.j, self.motion, self.information, poses=self.poses, ids=self.ids, fixed=self.fixed
        )  # fmt: skip

    def rotations(self) -> Measurements:
        """The rotation part alone, weighted with kappa."""
        labels = None if self.ids == tuple(range(self.n)) else self.ids
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitWarning)  # names settings that pose graphs do not have
            return Measurements(self.i, self.j, -self.motion[:, 2], weight=self.kappa, n=self.n, labels=labels)

    def operator(self) -> SchurOperator:
        r"""C = -Q with :math:`F = z^H Q z` at the best positions for z.

        With one row an edge, :math:`(Rz)_e = z_j - z_i e^{\mathrm{i}\delta}`, and one an edge or a sighting,
        :math:`(Dz)_e = z_i d` and :math:`(Ap)_e = p_j - p_i` (p the positions of poses and landmarks),

        .. math:: K = \begin{pmatrix} 2 R^H \kappa R + D^H \tau D & -D^H \tau A \\
                  -A^T \tau D & A^T \tau A \end{pmatrix}.

        Positions are relative to the first pose of their component, whose column of A is left out: a common shift
        costs nothing, and the rest of :math:`A^T \tau A` is positive definite.
        """
        d, first, second, weights, count = self._displacements

        def matrix(columns: int, *entries: tuple[NDArray, NDArray[np.int64]]) -> scipy.sparse.csr_array:
            """One row a measurement, from values and the columns where they stand."""
            size = entries[0][0].size
            values, ends = (np.concatenate(part) for part in zip(*entries, strict=True))
            places = (np.tile(np.arange(size), len(entries)), ends)
            return scipy.sparse.csr_array((values, places), shape=(size, columns))

        turned = matrix(self.n, (-np.exp(1j * self.motion[:, 2]), self.i), (np.ones(len(self)), self.j))
        moved = matrix(self.n, (d, first))
        between = matrix(self.pieces.size, (-np.ones(count), first), (np.ones(count), second))[:, self._free]
        kappa, tau = (scipy.sparse.diags_array(weight) for weight in (self.kappa, weights))
        corner = 2 * (turned.conj().T @ kappa @ turned) + moved.conj().T @ tau @ moved
        side = -(moved.conj().T @ tau @ between)
        K = scipy.sparse.block_array([[corner, side], [side.conj().T, between.T @ tau @ between]])
        nothing = scipy.sparse.csr_array((len(self), between.shape[1]))
        B = scipy.sparse.block_array([[turned, nothing], [-moved, between]], format="csr")
        B.eliminate_zeros()
        return SchurOperator(K, self.n, (B, np.concatenate([2 * self.kappa, weights])))

    @property
    def _free(self) -> NDArray[np.int64]:
        """Points whose position is an unknown of the operator: all but the first of each component."""
        return np.setdiff1d(np.arange(self.pieces.size), np.unique(self.pieces, return_index=True)[1])

    def placed(self, z: NDArray, unknowns: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Poses (n, 3) and landmarks (L, 2) from headings and eliminated unknowns, every reference where it was."""
        points = self._points(unknowns)
        held = np.nan_to_num(self.poses[self.references])  # the origin where nothing is known
        turn = np.exp(1j * held[:, 2]) * np.conj(z[self.references])
        shift = held[:, 0] + 1j * held[:, 1]
        labels = np.minimum(self.pieces, turn.size - 1)  # landmarks that nobody saw are set below
        points = turn[labels] * (points - points[self.references][labels]) + shift[labels]
        angle = np.angle(turn[self.components] * z)
        poses = np.column_stack([points[: self.n].real, points[: self.n].imag, np.where(angle == -np.pi, np.pi, angle)])
        alone = np.bincount(self.pieces)[self.components] == 1
        poses[alone] = np.nan_to_num(self.poses[alone])  # no measurement: as given, bit for bit
        positions = np.column_stack([points[self.n :].real, points[self.n :].imag])
        positions[self.landmarks.unseen] = self.landmarks.positions[self.landmarks.unseen]
        return poses, positions


def _edges(
    i: ArrayLike, j: ArrayLike, motion: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    first, second, motions = np.array(i), np.array(j), np.array(motion, dtype=float)
    if first.ndim != 1 or first.shape != second.shape or motions.shape != (first.size, 3):
        raise ShapeError(
            f"i, j and motion must have shapes (edges,), (edges,) and (edges, 3), but they are {first.shape}, "
            f"{second.shape} and {motions.shape}."
        )
    if first.size == 0:
        raise InputError("the pose graph has no edges: there is nothing to optimize.")
    if first.dtype.kind not in "iu" or second.dtype.kind not in "iu":
        raise InputError("i and j must be whole numbers.")
    finite = np.isfinite(motions).all(axis=1)
    if not finite.all():
        raise NotFiniteError(f"the motion of edge {int(np.argmin(finite))} is not finite. Mend or remove it.")
    return first.astype(np.int64), second.astype(np.int64), motions


def _check_ends(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> None:
    if min(first.min(), second.min()) < 0 or max(first.max(), second.max()) >= n:
        raise InputError(f"i and j must be numbers of poses, 0 to {n - 1}; the numbers of a file belong into ids.")
    if (first == second).any():
        raise InputError(f"edge {int(np.argmax(first == second))} joins a pose to itself. Remove it.")
