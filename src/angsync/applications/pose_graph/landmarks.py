r"""Landmarks: points without a heading, seen from poses.

A sighting of landmark l from pose i measures the offset s of the landmark in the frame of the pose, that is
:math:`q_l \approx p_i + z_i s`: an edge whose second end has no heading. It joins the cost of the motions
(:mod:`angsync.applications.pose_graph.data`) as

.. math:: \tau\, |q_l - p_i - z_i s|^2, \qquad \tau = 2 / \mathrm{tr}(I^{-1}),

so landmarks are eliminated exactly, like the positions of the poses, and the certificate is about all of them.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, NotFiniteError, ShapeError

NOT_DEFINITE = (
    "is not positive definite (all variances positive, all correlations below 1). Mend it or remove the edge: it "
    "says how certain a measurement is."
)
_DEFINITE = 16 * float(np.finfo(float).eps)  # eigenvalues of a matrix scaled to unit diagonal are known to this


class Landmarks:
    """Points seen from the poses of a graph.

    Parameters
    ----------
    pose, landmark
        Which pose saw which landmark (0 .. L-1): one entry a sighting.
    offset
        (sightings, 2): where the landmark was seen, in the frame of the pose, in the unit of the motions.
    information
        (sightings, 2, 2): inverse covariance of every offset, positive definite; identity unless given.
    positions
        (L, 2): x, y as they are known beforehand, NaN where they are not. A landmark that nobody saw stays there.
    ids
        The number of every landmark in its file; poses and landmarks share one set of numbers.
    """

    def __init__(
        self,
        pose: ArrayLike,
        landmark: ArrayLike,
        offset: ArrayLike,
        information: ArrayLike | None = None,
        *,
        positions: ArrayLike | None = None,
        ids: Sequence[int] | None = None,
    ) -> None:
        self.pose, self.landmark, self.offset = _sightings(pose, landmark, offset)
        if ids is not None:
            count = len(ids)
        elif positions is not None:
            count = int(np.shape(positions)[0])
        else:
            count = int(self.landmark.max(initial=-1)) + 1
        self.positions = np.full((count, 2), np.nan) if positions is None else numbers(positions, "positions")
        if self.positions.shape != (count, 2):
            raise ShapeError(
                f"positions must have shape ({count}, 2): x, y of each landmark, not {self.positions.shape}."
            )
        if self.landmark.size and not 0 <= int(self.landmark.min()) <= int(self.landmark.max()) < count:
            raise InputError(f"landmark must be numbers of landmarks, 0 to {count - 1}; the numbers of a file are ids.")
        self.information = informations(information, len(self), 2, "sighting")
        self.ids = None if ids is None else whole_numbers(ids)
        check_not_infinite(self.positions, "landmark")
        unseen = self.unseen[~np.isfinite(self.positions[self.unseen]).all(axis=1)]
        if unseen.size:
            raise InputError(
                f"landmark {int(unseen[0])} is seen from no pose and has no position. Remove it, or say where it is."
            )

    def __len__(self) -> int:
        return int(self.pose.size)

    def __repr__(self) -> str:
        return f"Landmarks(count={self.count}, sightings={len(self)})"

    @property
    def count(self) -> int:
        """Number of landmarks."""
        return int(self.positions.shape[0])

    @property
    def unseen(self) -> NDArray[np.int64]:
        """Landmarks that nobody saw."""
        return np.flatnonzero(np.bincount(self.landmark, minlength=self.count) == 0)

    @property
    def tau(self) -> NDArray[np.float64]:
        """Weight of each sighting."""
        return isotropic_weight(self.information)

    @classmethod
    def none(cls) -> Landmarks:
        """No landmarks at all."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 2)))


def numbers(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """An array of floats, of whatever shape."""
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers in rows of one length, but they are not.") from None


def whole_numbers(ids: Sequence[int]) -> tuple[int, ...]:
    """Ids of poses or landmarks."""
    try:
        return tuple(operator.index(name) for name in ids)
    except TypeError:
        raise InputError("ids must be whole numbers, as they are in g2o files.") from None


def check_not_infinite(places: NDArray[np.float64], what: str) -> None:
    """NaN says that a place is not known; infinity says nothing."""
    wrong = np.isinf(places).any(axis=1)
    if wrong.any():
        raise NotFiniteError(f"{what} {int(np.argmax(wrong))} is infinite. Give NaN where it is not known.")


def isotropic_weight(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight of a displacement: 2 / trace(inv(I_xy)) = 2 det(I_xy) / trace(I_xy)."""
    xx, xy, yy = information[:, 0, 0], information[:, 0, 1], information[:, 1, 1]
    return np.asarray(2 * (xx * yy - xy * xy) / (xx + yy))


def first_indefinite(information: NDArray[np.float64]) -> int | None:
    """Index of the first matrix that is not symmetric positive definite; None where all are."""
    size = information.shape[1]
    variance = np.diagonal(information, axis1=1, axis2=2)
    good = np.asarray(np.isfinite(information).all(axis=(1, 2)) & (variance > 0).all(axis=1))
    # free of units: meters and radians may differ by many orders of magnitude
    scale = 1 / np.sqrt(np.where(good[:, None], variance, 1.0))
    unit = np.where(good[:, None, None], information * scale[:, :, None] * scale[:, None, :], np.eye(size))
    good &= np.abs(unit - unit.transpose(0, 2, 1)).max(axis=(1, 2)) < 1e-9
    good &= np.linalg.eigvalsh(unit)[:, 0] > _DEFINITE
    return None if good.all() else int(np.argmin(good))


def informations(given: ArrayLike | None, count: int, size: int, what: str) -> NDArray[np.float64]:
    """Checked inverse covariances (count, size, size); identity unless given. ``what`` is one measurement."""
    information = np.tile(np.eye(size), (count, 1, 1)) if given is None else np.array(given, dtype=float)
    if information.shape != (count, size, size):
        raise ShapeError(
            f"information must have shape ({count}, {size}, {size}), a matrix for each {what}, but it is "
            f"{information.shape}."
        )
    bad = first_indefinite(information) if count else None
    if bad is not None:
        raise InputError(f"the information matrix of {what} {bad} {NOT_DEFINITE}")
    return information


def _sightings(
    pose: ArrayLike, landmark: ArrayLike, offset: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    first, second, seen = np.array(pose), np.array(landmark), np.array(offset, dtype=float)
    if first.size == 0 and seen.size == 0:  # empty lists are floats to NumPy
        first, second, seen = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 2))
    if seen.shape == (first.size, 3):
        raise ShapeError(
            f"offset has shape {seen.shape}: a landmark has no heading, so a sighting is x and y only, shape "
            f"({first.size}, 2)."
        )
    if first.ndim != 1 or first.shape != second.shape or seen.shape != (first.size, 2):
        raise ShapeError(
            "pose, landmark and offset must have shapes (sightings,), (sightings,) and (sightings, 2), but they are "
            f"{first.shape}, {second.shape} and {seen.shape}."
        )
    if first.dtype.kind not in "iu" or second.dtype.kind not in "iu":
        raise InputError("pose and landmark must be whole numbers.")
    finite = np.isfinite(seen).all(axis=1)
    if not finite.all():
        raise NotFiniteError(f"the offset of sighting {int(np.argmin(finite))} is not finite. Mend or remove it.")
    return first.astype(np.int64), second.astype(np.int64), seen


def checked_landmarks(given: Any, n: int, pose_ids: tuple[int, ...]) -> Landmarks:
    """The landmarks of a graph of n poses, with ids."""
    if given is None:
        landmarks = Landmarks.none()
    elif isinstance(given, Landmarks):
        landmarks = given
    else:
        raise InputError(f"landmarks must be pose_graph.Landmarks(...), but it is a {type(given).__name__}.")
    if len(landmarks) and not 0 <= int(landmarks.pose.min()) <= int(landmarks.pose.max()) < n:
        raise InputError(f"landmarks: pose must be numbers of poses, 0 to {n - 1}; the numbers of a file are ids.")
    if landmarks.ids is None:
        landmarks = copy.copy(landmarks)  # the caller's stays as it is
        landmarks.ids = tuple(range(max(pose_ids) + 1, max(pose_ids) + 1 + landmarks.count))
    clash = set(landmarks.ids) & set(pose_ids)
    if clash:
        raise InputError(
            f"{min(clash)} is the id of a pose and of a landmark; they share one set of numbers. Give one of them "
            "another id."
        )
    if len(set(landmarks.ids)) != landmarks.count:
        raise InputError("the ids of landmarks must be different from each other.")
    return landmarks
