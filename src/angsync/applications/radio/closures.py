"""Closure phases: sums of phases around triangles of stations, which no gain of a station changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from angsync.applications.radio.models import Ring
from angsync.applications.radio.visibilities import Visibilities
from angsync.errors import InputError

_ALL_TRIANGLES_UP_TO = 12  # stations; with more, the triangles of one station, which hold the same information
_COARSE_DEGREES = 20  # of the first look at position angles; the misfit of a dipole varies over tens of degrees
_STEPS_DEGREES = (5.0, 0.5, 0.1)  # of parabolas around the best angle; the last is far below what data tell


@dataclass(frozen=True, eq=False)
class Closures:
    """Closure phases in degrees, one a triangle of a slot: arg V_ij + arg V_jk + arg V_ki for stations i < j < k."""

    slot: NDArray[np.int64]
    stations: NDArray[np.int64]
    """Places of the stations, three a triangle."""
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
    """Three a triangle: ij, jk and ik; the last is passed backwards."""
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
    misfits = _misfits(triangles, *(np.where(data.flagged, 0, part) for part in ring.parts(data.u, data.v)))
    coarse = np.arange(0, 180, _COARSE_DEGREES)
    both = np.array([misfits(float(angle)) for angle in coarse])
    place, turned = np.unravel_index(int(np.argmin(both)), both.shape)
    return ring.turned(_lowest(lambda angle: misfits(angle)[0], float(coarse[place]) + 180 * float(turned)) % 360)


def _misfits(
    triangles: Triangles, even: NDArray[np.float64], east: NDArray[np.float64], north: NDArray[np.float64]
) -> Callable[[float], tuple[float, float]]:
    """The misfit of closure phases, less a constant, as a function of the position angle; and that of the opposite one.

    Visibilities are E + i O with O = sin(angle) east + cos(angle) north: the three sides of a triangle, the last passed
    backwards, multiply to (E1 E2 E3 - E1 O2 O3 - ...) + i (E1 E2 O3 + ... - O1 O2 O3), two forms in sine and cosine
    whose coefficients are worked out once. At the opposite angle O, and so the imaginary part, has the other sign.
    """
    values = (even.astype(np.complex128), 1j * east.astype(np.complex128), 1j * north.astype(np.complex128))
    sides = [triangles.averaged(part)[triangles.baselines.T] for part in values]
    E, S, D = sides[0].real, sides[1].imag, sides[2].imag
    S[2], D[2] = -S[2], -D[2]
    real, imaginary = [E[0] * E[1] * E[2]], []
    for odd in ([S], [S, D], [D]):  # what sine^2, sine cosine and cosine^2 multiply
        first, second = odd[0], odd[-1]
        pairs = sum(E[k] * first[k - 1] * second[k - 2] for k in range(3))
        if len(odd) == 2:
            pairs = pairs + sum(E[k] * second[k - 1] * first[k - 2] for k in range(3))
        real.append(-pairs)
    for odd_part in (S, D):
        imaginary.append(sum(odd_part[k] * E[k - 1] * E[k - 2] for k in range(3)))
    mixed = [sum(A[k] * B[k - 1] * B[k - 2] for k in range(3)) for A, B in ((D, S), (S, D))]
    imaginary += [-S[0] * S[1] * S[2], -mixed[0], -mixed[1], -D[0] * D[1] * D[2]]
    along, across = np.stack(real), np.stack(imaginary)
    wanted = np.conj(triangles.bispectrum) / triangles.variance
    x, y = wanted.real.copy(), wanted.imag.copy()

    def misfits(degrees: float) -> tuple[float, float]:
        s, c = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
        a = np.array([1, s * s, s * c, c * c]) @ along
        b = np.array([s, c, s**3, s * s * c, s * c * c, c**3]) @ across
        size = np.sqrt(a * a + b * b)
        over = 1 / np.where(size > 0, size, 1)
        # |a - b|^2 = 2 - 2 Re(conj(a) b) of unit numbers: less the constant
        p, q = float(x @ (a * over)), float(y @ (b * over))
        return -2 * (p - q), -2 * (p + q)

    return misfits


def _lowest(misfit: Callable[[float], float], angle: float) -> float:
    """The angle of the least misfit near one: walks to where both neighbors are higher, then takes the parabola
    through the three, with shorter steps each time."""
    lowest = misfit(angle)
    for step in _STEPS_DEGREES:
        below, above = misfit(angle - step), misfit(angle + step)
        while min(below, above) < lowest:
            if below < above:
                angle, lowest, below, above = angle - step, below, misfit(angle - 2 * step), lowest
            else:
                angle, lowest, below, above = angle + step, above, lowest, misfit(angle + 2 * step)
        bend = below + above - 2 * lowest
        if bend > 0:
            middle = angle + step / 2 * (below - above) / bend
            found = misfit(middle)
            if found < lowest:
                angle, lowest = middle, found
    return angle
