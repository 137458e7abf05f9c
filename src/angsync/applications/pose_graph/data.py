r"""The data of a 2-D pose graph, checked, and the phase synchronization problem that it contains.

A pose is a position p (a complex number) and a heading z (a phase). The motion :math:`(d, \delta)` from pose i to pose
j says :math:`p_j \approx p_i + z_i d` and :math:`z_j \approx z_i e^{\mathrm{i}\delta}`. The cost is that of SE-Sync
(Rosen, Carlone, Bandeira and Leonard, IJRR 2019; its rotations are matrices: hence the 2),

.. math:: F = \sum_{i \to j} 2 \kappa\, |z_j - z_i e^{\mathrm{i}\delta}|^2 + \tau\, |p_j - p_i - z_i d|^2,
          \qquad \kappa = I_{33}, \quad \tau = 2 / \mathrm{tr}(I_{xy}^{-1}).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import ArrayLike, NDArray

from angsync.circle import wrap
from angsync.errors import InputError, NotFiniteError, ShapeError
from angsync.problem.measurements import Measurements
from angsync.problem.operators.schur import SchurOperator
from angsync.problem.pieces import piece_labels

NOT_DEFINITE = (
    "is not positive definite (all variances positive, all correlations below 1). Mend it or remove the edge: it "
    "says how certain a measurement is."
)
_DEFINITE = 16 * float(np.finfo(float).eps)  # eigenvalues of a matrix scaled to unit diagonal are known to this


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PoseGraph:
    """Relative motions between the poses 0 .. n-1.

    Parameters
    ----------
    i, j
        First and second pose of every edge.
    motion
        (edges, 3): dx, dy, dtheta of the second pose, seen from the first; metres (or any length) and radians.
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
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    motion: NDArray[np.float64]
    information: NDArray[np.float64]
    poses: NDArray[np.float64]
    ids: tuple[int, ...]
    fixed: tuple[int, ...]
    lines: tuple[str, ...] | None

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
    ) -> None:
        first, second, motions = _edges(i, j, motion)
        if ids is not None:
            n = len(ids)
        elif poses is not None:
            n = int(np.shape(poses)[0])
        else:
            n = int(max(first.max(), second.max())) + 1
        _check_ends(first, second, n)
        known = np.full((n, 3), np.nan) if poses is None else np.array(poses, dtype=float)
        names = tuple(range(n)) if ids is None else tuple(int(name) for name in ids)
        if known.shape != (n, 3):
            raise ShapeError(f"poses must have shape ({n}, 3): x, y, theta of each pose. It is {known.shape}.")
        if len(set(names)) != n:
            raise InputError("ids must be different from each other.")
        if any(not 0 <= node < n for node in fixed):
            raise InputError(f"fixed must be numbers of poses, 0 to {n - 1}, but it is {tuple(fixed)}.")
        values: dict[str, Any] = {
            "i": first, "j": second, "motion": motions, "information": _information(information, first.size),
            "poses": known, "ids": names, "fixed": tuple(int(node) for node in fixed),
            "lines": None if lines is None else tuple(lines),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.i.size)

    def __repr__(self) -> str:
        return f"PoseGraph(n={self.n}, edges={len(self)})"

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
        """Weight of the translation of each edge: 2 / trace(inv(I_xy)) = 2 det(I_xy) / trace(I_xy)."""
        xx, xy, yy = self.information[:, 0, 0], self.information[:, 0, 1], self.information[:, 1, 1]
        return 2 * (xx * yy - xy * xy) / (xx + yy)

    @cached_property
    def components(self) -> NDArray[np.int64]:
        """Label of the connected component of each pose, numbered by first appearance."""
        return piece_labels(self.n, self.i, self.j)

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
        ends = np.union1d(self.i, self.j)
        return self.cost(self.poses) if np.isfinite(self.poses[ends]).all() else None

    @property
    def odometry(self) -> NDArray[np.float64] | None:
        """Poses (n, 3) from the steps 0 to 1, 1 to 2, ... alone, from the origin; None where a step is missing."""
        steps = np.flatnonzero(self.j - self.i == 1)
        begun, which = np.unique(self.i[steps], return_index=True)
        if begun.size != self.n - 1:
            return None
        steps = steps[which]  # where a step was measured twice, the first
        angle = np.concatenate([[0.0], np.cumsum(self.motion[steps, 2])])
        position = np.concatenate([[0.0], np.cumsum(np.exp(1j * angle[:-1]) * self._displacement[steps])])
        return np.column_stack([position.real, position.imag, wrap(angle)])

    def cost(self, poses: NDArray[np.float64]) -> float:
        """F at poses (n, 3), summed over the residuals, so that nothing cancels."""
        turn = poses[self.j, 2] - poses[self.i, 2] - self.motion[:, 2]
        position = poses[:, 0] + 1j * poses[:, 1]
        shift = position[self.j] - position[self.i] - np.exp(1j * poses[self.i, 2]) * self._displacement
        return float(np.sum(8 * self.kappa * np.sin(turn / 2) ** 2 + self.tau * np.abs(shift) ** 2))

    def cost_of(self, z: NDArray, unknowns: NDArray) -> float:
        """F at phases and eliminated unknowns of the operator: nothing is lost to angles and shifted positions."""
        position = np.zeros(self.n, dtype=np.complex128)
        position[self._free] = unknowns
        turn = z[self.j] - z[self.i] * np.exp(1j * self.motion[:, 2])
        shift = position[self.j] - position[self.i] - z[self.i] * self._displacement
        return float(np.sum(2 * self.kappa * np.abs(turn) ** 2 + self.tau * np.abs(shift) ** 2))

    @property
    def _displacement(self) -> NDArray[np.complex128]:
        return self.motion[:, 0] + 1j * self.motion[:, 1]

    def rotations(self) -> Measurements:
        """The rotation part alone, weighted with kappa."""
        labels = None if self.ids == tuple(range(self.n)) else self.ids
        return Measurements(self.i, self.j, -self.motion[:, 2], weight=self.kappa, n=self.n, labels=labels)

    def operator(self) -> SchurOperator:
        r"""C = -Q with :math:`F = z^H Q z` at the best positions for z.

        With one row an edge, :math:`(Rz)_e = z_j - z_i e^{\mathrm{i}\delta}`, :math:`(Dz)_e = z_i d` and
        :math:`(Ap)_e = p_j - p_i`,

        .. math:: K = \begin{pmatrix} 2 R^H \kappa R + D^H \tau D & -D^H \tau A \\
                  -A^T \tau D & A^T \tau A \end{pmatrix}.

        Positions are relative to the first pose of their component, whose column of A is left out: a common shift
        costs nothing, and the rest of :math:`A^T \tau A` is positive definite.
        """
        shape, rows = (len(self), self.n), np.arange(len(self))
        ones = np.ones(len(self))

        def incidence(at_first: NDArray, at_second: NDArray) -> scipy.sparse.csr_array:
            entries = (np.concatenate([at_first, at_second]), (np.tile(rows, 2), np.concatenate([self.i, self.j])))
            return scipy.sparse.csr_array(entries, shape=shape)

        turned = incidence(-np.exp(1j * self.motion[:, 2]), ones)
        moved = incidence(self._displacement, 0 * ones)
        between = incidence(-ones, ones)[:, self._free]
        kappa, tau = (scipy.sparse.diags_array(weight) for weight in (self.kappa, self.tau))
        corner = 2 * (turned.conj().T @ kappa @ turned) + moved.conj().T @ tau @ moved
        side = -(moved.conj().T @ tau @ between)
        K = scipy.sparse.block_array([[corner, side], [side.conj().T, between.T @ tau @ between]])
        nothing = scipy.sparse.csr_array((len(self), between.shape[1]))
        B = scipy.sparse.block_array([[turned, nothing], [-moved, between]], format="csr")
        B.eliminate_zeros()
        return SchurOperator(K, self.n, (B, np.concatenate([2 * self.kappa, self.tau])))

    @property
    def _free(self) -> NDArray[np.int64]:
        """Poses whose position is an unknown of the operator."""
        return np.setdiff1d(np.arange(self.n), np.unique(self.components, return_index=True)[1])

    def placed(self, z: NDArray, unknowns: NDArray) -> NDArray[np.float64]:
        """Poses (n, 3) from headings and eliminated unknowns, every component moved so that its reference stays."""
        position = np.zeros(self.n, dtype=np.complex128)
        position[self._free] = unknowns
        held = np.nan_to_num(self.poses[self.references])  # the origin where nothing is known
        turn = (np.exp(1j * held[:, 2]) * np.conj(z[self.references]))[self.components]
        shift = (held[:, 0] + 1j * held[:, 1])[self.components]
        position = turn * (position - position[self.references][self.components]) + shift
        angle = np.angle(turn * z)
        poses = np.column_stack([position.real, position.imag, np.where(angle == -np.pi, np.pi, angle)])
        alone = np.bincount(self.components)[self.components] == 1
        poses[alone] = np.nan_to_num(self.poses[alone])  # no measurement: as given, bit for bit
        return poses


def first_indefinite(information: NDArray[np.float64]) -> int | None:
    """Index of the first matrix that is not symmetric positive definite; None where all are."""
    variance = np.diagonal(information, axis1=1, axis2=2)
    good = np.asarray(np.isfinite(information).all(axis=(1, 2)) & (variance > 0).all(axis=1))
    # free of units: metres and radians may differ by many orders of magnitude
    scale = 1 / np.sqrt(np.where(good[:, None], variance, 1.0))
    unit = np.where(good[:, None, None], information * scale[:, :, None] * scale[:, None, :], np.eye(3))
    good &= np.abs(unit - unit.transpose(0, 2, 1)).max(axis=(1, 2)) < 1e-9
    good &= np.linalg.eigvalsh(unit)[:, 0] > _DEFINITE
    return None if good.all() else int(np.argmin(good))


def _information(given: ArrayLike | None, edges: int) -> NDArray[np.float64]:
    information = np.tile(np.eye(3), (edges, 1, 1)) if given is None else np.array(given, dtype=float)
    if information.shape != (edges, 3, 3):
        raise ShapeError(f"information must have shape ({edges}, 3, 3), but it is {information.shape}.")
    bad = first_indefinite(information)
    if bad is not None:
        raise InputError(f"the information matrix of edge {bad} {NOT_DEFINITE}")
    return information


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
        raise InputError("the pose graph has no edges: there is nothing to optimise.")
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
