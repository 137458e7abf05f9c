"""Closure phases: sums of phases around triangles of stations, which no gain of a station changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from angsync.applications.radio.models import Ring
from angsync.applications.radio.visibilities import Visibilities
from angsync.errors import InputError

_ALL_TRIANGLES_UP_TO = 12  # stations; with more, the triangles of one station, which hold the same information
_COARSE_DEGREES = 20  # of the first look at position angles; the misfit of a dipole varies over tens of degrees
_FINE_DEGREES = 0.02  # far below what any data tell


@dataclass(frozen=True, eq=False)
class Closures:
    """Closure phases in degrees, one a triangle of a slot: arg V_ij + arg V_jk + arg V_ki for stations i < j < k."""

    slot: NDArray[np.int64]
    stations: NDArray[np.int64]
    """(count, 3): places of the stations."""
    phase: NDArray[np.float64]
    """Of the visibilities."""
    standard_error: NDArray[np.float64]
    """From the sigmas, for small noise."""
    model: NDArray[np.float64]

    @property
    def residual(self) -> NDArray[np.float64]:
        """Visibilities less model, in (-180, 180]."""
        return -((self.model - self.phase + 180) % 360 - 180)

    def __len__(self) -> int:
        return int(self.slot.size)


@dataclass(frozen=True, eq=False)
class Triangles:
    """Which baselines form the triangles; baselines are the pairs of a slot, several rows of one averaged."""

    slot: NDArray[np.int64]
    stations: NDArray[np.int64]
    baselines: NDArray[np.int64]
    """(count, 3): ij, jk and ik; the last is passed backwards."""
    bispectrum: NDArray[np.complex128]
    """Of the visibilities, modulus 1."""
    variance: NDArray[np.float64]
    row_baseline: NDArray[np.int64]
    """The baseline of each row, -1 where it is flagged."""
    row_share: NDArray[np.float64]
    """Its part in the average."""
    backwards: NDArray[np.bool_]
    """Rows whose first station comes second in the baseline."""
    count: int
    """Of baselines."""

    def averaged(self, rows: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Values of rows, averaged to baselines."""
        used = self.row_baseline >= 0
        turned = np.where(self.backwards, np.conj(rows), rows)[used] * self.row_share[used]
        if self.count == turned.size:  # one row a baseline, the usual case
            found: NDArray[np.complex128] = np.empty_like(turned)
            found[self.row_baseline[used]] = turned
            return found
        real, imaginary = (
            np.bincount(self.row_baseline[used], part, self.count) for part in (turned.real, turned.imag)
        )
        return real + 1j * imaginary

    def around(self, rows: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Unit numbers with the closure phases of these values of rows."""
        sides = self.averaged(rows)[self.baselines]
        product = sides[:, 0] * sides[:, 1] * np.conj(sides[:, 2])
        size = np.abs(product)
        return np.where(size > 0, product / np.where(size > 0, size, 1), np.nan)


def triangles_of(data: Visibilities, *, independent: bool = False) -> Triangles:
    """All triangles; with many stations, or where only ``independent`` ones are wanted, those of the station that is
    there most often."""
    n = len(data.station)
    used = ~data.flagged
    low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
    key = np.where(used, (data.slot * n + low) * n + high, -1)
    keys, row_baseline = np.unique(key[used], return_inverse=True)
    weight = 1 / data.sigma[used] ** 2
    total = np.bincount(row_baseline, weights=weight, minlength=keys.size)
    share, place = np.zeros(len(data)), np.full(len(data), -1)
    share[used], place[used] = weight / total[row_baseline], row_baseline
    where = np.full((data.time.size, n, n), -1)
    where.ravel()[keys] = np.arange(keys.size)
    corners = np.array(list(combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3)
    if independent or n > _ALL_TRIANGLES_UP_TO:
        busiest = int(np.argmax(np.bincount(np.concatenate([data.first[used], data.second[used]]), minlength=n)))
        corners = corners[(corners == busiest).any(axis=1)]
    sides = np.stack([where[:, corners[:, a], corners[:, b]] for a, b in ((0, 1), (1, 2), (0, 2))], axis=-1)
    slot, which = np.nonzero((sides >= 0).all(axis=-1))
    found = Triangles(
        slot, corners[which], sides[slot, which], np.empty(0, dtype=np.complex128), np.empty(0), place, share,
        data.first > data.second, keys.size,
    )  # fmt: skip
    strength = np.abs(found.averaged(data.value)) ** 2 * total  # signal to noise of a baseline, squared
    variance = np.sum(1 / strength[found.baselines], axis=1)
    return Triangles(**{**vars(found), "bispectrum": found.around(data.value), "variance": variance})


def closures(triangles: Triangles, model: NDArray[np.complex128]) -> Closures:
    """Closure phases of the visibilities and of the model, whose values are given for every row."""
    degrees = [np.rad2deg(np.angle(values)) for values in (triangles.bispectrum, triangles.around(model))]
    error = np.rad2deg(np.sqrt(triangles.variance))
    return Closures(triangles.slot, triangles.stations, degrees[0], error, degrees[1])


def with_position_angle(ring: Ring, data: Visibilities) -> Ring:
    r"""The ring turned to where closure phases fit best: least :math:`\sum 2 (1 - \cos r) / s^2` over the triangles."""
    triangles = triangles_of(data, independent=True)
    if triangles.slot.size == 0:
        triangles = triangles_of(data)
    if triangles.slot.size == 0:
        raise InputError(
            "the position angle of the ring cannot be found: no slot has a triangle of stations. Give position_angle."
        )
    from scipy.optimize import minimize_scalar

    even, east, north = (np.where(data.flagged, 0, part) for part in ring.parts(data.u, data.v))
    # the sides of the triangles, once for all angles: even part, and what sine and cosine of the angle multiply
    sides, sine, cosine = (
        triangles.averaged(part)[triangles.baselines.T] for part in (even + 0j, 1j * east, 1j * north)
    )
    wanted = np.conj(triangles.bispectrum) / triangles.variance

    def misfit(degrees: float) -> float:
        first, second, third = sides + np.sin(np.deg2rad(degrees)) * sine + np.cos(np.deg2rad(degrees)) * cosine
        product = first * second * np.conj(third)
        size = np.abs(product)
        # |a - b|^2 = 2 - 2 Re(conj(a) b) of unit numbers: less the constant
        return -2 * float(np.sum((wanted * product).real / np.where(size > 0, size, 1)))

    coarse = np.arange(0, 360, _COARSE_DEGREES)
    best = float(coarse[np.argmin([misfit(float(angle)) for angle in coarse])])
    fine = minimize_scalar(
        misfit, bounds=(best - _COARSE_DEGREES, best + _COARSE_DEGREES), method="bounded",
        options={"xatol": _FINE_DEGREES},
    )  # fmt: skip
    return ring.turned(float(fine.x) % 360 if fine.fun < misfit(best) else best)
