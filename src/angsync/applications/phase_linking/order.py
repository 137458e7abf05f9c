"""In which order of dates the model behind the error bars fits the coherences, and whether it fits at all.

The model (:func:`angsync.kernels.batch.bars_reference.coherence_model`) knows dates by their order: decay with the lag,
and one event. Two interleaved tracks are not of that kind, but one after the other they are: the step from the first to
the second is the event."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_linking.tiles import Images, Tile, without_data
from angsync.errors import InputError
from angsync.kernels.batch.bars_reference import coherence_model

_PLACES = 4  # rows and columns of places in the images that are looked at
_MATRICES = 32  # that are looked at: their mean squares are then known to 0.01 from 100 looks each
_ENTRIES = 1 << 19  # of all those matrices, at most: of hundreds of dates fewer are looked at
_LEAST_MISS = 0.02  # of squared coherences, rms: what the model must miss them by before two groups are tried
_LARGEST_MISS = 0.05  # and before it is said that it does not fit
_VARIANCE = 0.3  # of a squared coherence from L looks, times L, at most: 2 g (1 - g)^2 for the square g
_GAIN = 0.5  # of the miss that another order must leave at most, to be taken


class Sample(NamedTuple):
    """Coherences (count, n, n) of a few pixels that have data at all dates, and their looks."""

    coherence: NDArray[np.complex128]
    looks: NDArray[np.float64]

    @property
    def size(self) -> NDArray[np.float64]:
        """The moduli of the coherences."""
        return np.abs(self.coherence)


class Order(NamedTuple):
    """The order of dates that error bars are worked out in, and what there is to say about it."""

    order: NDArray[np.int64] | None
    """None: as they are."""
    note: str


def spread(count: int, n: int) -> NDArray[np.int64]:
    """Numbers of some of so many matrices of order n, evenly spread."""
    most = max(1, min(_MATRICES, _ENTRIES // n**2))
    return np.unique((np.arange(most) + 0.5) * count // most).astype(np.int64) if count else np.arange(0)


def sample_of(C: NDArray, looks: NDArray[np.float64]) -> Sample:
    """Those of these coherences that have data at all dates."""
    good = (np.einsum("kii->ki", C).real > 0).all(axis=1) & (looks >= 2)
    return Sample(C[good].astype(np.complex128), looks[good])


def sample_of_images(images: Images) -> Sample:
    """Coherences of pixels at places that do not depend on how the images are read: two at each of sixteen."""
    n, *sides = images.data.shape
    matrices, looks = [], []
    rows, columns = (np.unique((np.arange(_PLACES) + 0.5) * side // _PLACES).astype(int).tolist() for side in sides)
    for row, column in product(rows, columns):
        last = (min(sides[0], row + images.window[0] + 1), min(sides[1], column + images.window[1] + 1))
        try:
            part, out, inside = images.read(Tile(row, last[0], column, last[1]))
        except InputError:
            continue  # whoever needs this part for its phases says what is wrong with it
        bare, constant = without_data(part, out)
        # a window apart: they share no looks
        ends = {(inside.first_row, inside.first_column), (inside.last_row - 1, inside.last_column - 1)}
        for r, c in sorted(ends):
            C, own = images.coherences(part, Tile(r, r + 1, c, c + 1), bare, constant)
            matrices.append(C)
            looks.append(own)
    if not matrices:
        return Sample(np.empty((0, n, n), np.complex128), np.empty(0))
    some = spread(len(matrices), n)
    return sample_of(np.concatenate(matrices)[some], np.concatenate(looks)[some])


def order_of(sample: Sample) -> Order:
    """As they are, where the model fits so; else in two groups, where it fits so."""
    count, n = sample.looks.size, sample.size.shape[1]
    if not count or n < 3:
        return Order(None, "")
    observed = _observed(sample)
    apart = ~np.eye(n, dtype=bool)
    off = np.where(apart, observed - _fitted(sample), 0)
    chance = 2 * np.sqrt(_VARIANCE * np.sum(1 / sample.looks)) / count
    miss = _rms(off[apart])
    if miss <= _LEAST_MISS + chance:
        return Order(None, "")
    found = min((_in_groups(sample, vector > 0) for vector in _splits(observed, off)), key=lambda one: one[0])
    if found[0] <= min(_LARGEST_MISS + chance, _GAIN * miss):
        names = " and ".join(_listed(np.flatnonzero(found[1] == group)) for group in (False, True))
        return Order(
            np.argsort(found[1], kind="stable"),
            f"the images are of two kinds (tracks?), numbers {names} from 0: error bars take one after the other.",
        )
    if miss <= _LARGEST_MISS + chance:
        return Order(None, "")
    return Order(
        None,
        "coherences are not as error bars take them to be (a factor a date, a decay with the lag, one event): the "
        f"model misses their squares by {miss:.2f}, and error bars may be wrong. Sort the images by time; link images "
        "of unlike kinds (tracks, seasons) apart.",
    )


def _splits(observed: NDArray[np.float64], off: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Vectors whose signs may tell two groups: pairs within one are above what the model says and pairs across below it
    (the leading eigenvector of what is left), or above and below the mean (the second one of the coherences)."""
    return [np.linalg.eigh(off)[1][:, -1], np.linalg.eigh(observed)[1][:, -2]]


def _in_groups(sample: Sample, second: NDArray[np.bool_]) -> tuple[float, NDArray[np.bool_]]:
    """What the model misses where the dates of one group come after those of the other, and which do."""
    second = second != second[0]
    order = np.argsort(second, kind="stable")
    grouped = Sample(sample.coherence[:, order][:, :, order], sample.looks)
    apart = ~np.eye(second.size, dtype=bool)
    return _rms((_observed(grouped) - _fitted(grouped))[apart]), second


def _observed(sample: Sample) -> NDArray[np.float64]:
    """Mean of the squared coherences, without bias."""
    floor = (1 / sample.looks)[:, None, None]
    found: NDArray[np.float64] = np.mean((sample.size**2 - floor) / (1 - floor), axis=0)
    return found


def _fitted(sample: Sample) -> NDArray[np.float64]:
    there = np.ones(sample.size.shape[:2], dtype=bool)
    found: NDArray[np.float64] = np.mean(coherence_model(sample.size, there, sample.looks) ** 2, axis=0)
    return found


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _listed(numbers: NDArray[np.int64]) -> str:
    """At most six of them."""
    words = ", ".join(str(int(k)) for k in numbers[:6])
    return words if numbers.size <= 6 else f"{words}, ... ({numbers.size})"
