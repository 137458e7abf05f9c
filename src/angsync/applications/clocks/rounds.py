"""Several rounds of the same links: single measurements that are off, the slope of each link, its mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_OUTLYING = 6.0  # robust standard deviations of a link's measurements about its line
_FEWEST = 5  # measurements of a link from which single ones are judged by the others
_FEWEST_PAIRS = 10  # with repeats, from which errors that repeats share are looked for
_SHARED = 3.0  # the typical mean of a pair over its standard error: independent repeats have less than 1.5
_OF_NORMAL = 1.4826  # the standard deviation of a normal law over its median absolute deviation


@dataclass(frozen=True, eq=False)
class Rounds:
    """Measurements by pair of clocks, i < j, values turned accordingly; ``pair`` says which one each belongs to."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    pair: NDArray[np.int64]
    value: NDArray[np.float64]
    """Unwrapped along time where there is a period."""
    weight: NDArray[np.float64]
    """1 / sigma^2, or 1; 0 for single measurements that are off."""
    time: NDArray[np.float64]
    outlying: NDArray[np.bool_]
    scatter: float
    """Of measurements about the line of their link, in units of the stated sigma; NaN without three of one link."""
    freedom: int = 0
    """Degrees of freedom of the scatter."""

    def mean(self, of: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted mean for every pair."""
        total = np.bincount(self.pair, self.weight)
        return np.bincount(self.pair, self.weight * of) / total

    def slopes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope of every pair over time, and its variance for unit noise; infinite where there is one time only."""
        away = self.time - self.mean(self.time)[self.pair]
        spread = np.bincount(self.pair, self.weight * away**2)
        # times that differ by rounding only are one time
        known = spread > 1e-12 * max(float(spread.max(initial=0.0)), 1e-300)
        moment = np.bincount(self.pair, self.weight * away * (self.value - self.mean(self.value)[self.pair]))
        slope = np.divide(moment, spread, out=np.zeros(spread.size), where=known)
        return slope, np.divide(1.0, spread, out=np.full(spread.size, np.inf), where=known)

    def steps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From each measurement of a pair to the next: how far in value, and in time (above 0)."""
        order = np.lexsort((self.time, self.pair))
        lapse = np.diff(self.time[order])
        following = (np.diff(self.pair[order]) == 0) & (lapse > 0)
        return np.abs(np.diff(self.value[order]))[following], lapse[following]


def is_repeated(n: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> bool:
    """Whether a typical pair has enough measurements to be judged by each other."""
    count = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_counts=True)[1]
    return bool(np.median(count) >= _FEWEST)


def is_shared(
    n: int, i: NDArray[np.int64], j: NDArray[np.int64], residual: NDArray[np.float64], sigma: NDArray[np.float64]
) -> bool:
    """Whether repeats of a pair agree with each other far better than with the other pairs.

    Medians over the pairs, which a few wrong links do not move. Of independent repeats the means of the residuals are
    as large as their scatter about the mean says, or less.
    """
    pair = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_inverse=True)[1]
    turned = np.where(i < j, residual, -residual) / sigma
    count = np.bincount(pair)
    mean = np.bincount(pair, turned) / count
    several = count > 1
    if np.count_nonzero(several) < _FEWEST_PAIRS:
        return False
    square = np.bincount(pair, (turned - mean[pair]) ** 2)[several] / ((count - 1) * count)[several]
    return bool(np.median(np.abs(mean[several])) > _SHARED * np.sqrt(np.median(square)))


def rounds_of(
    n: int,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    value: NDArray[np.float64],
    sigma: NDArray[np.float64] | None,
    time: NDArray[np.float64],
    period: float | None,
    robust: bool,
) -> Rounds:
    """Sort measurements into pairs, and find single ones that are off."""
    keys, pair = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_inverse=True)
    low, high = keys // n, keys % n
    turned = np.where(i < j, value, -value)
    if period is not None:
        turned = _unwrapped(pair, time, turned, period) if np.ptp(time) > 0 else _gathered(pair, turned, period)
    sigma = np.ones(value.size) if sigma is None else sigma
    count = np.bincount(pair)
    line = _middle_line(pair, time, turned)
    away = np.abs(turned - line) / sigma
    judged = count[pair] >= _FEWEST
    outlying = np.zeros(value.size, dtype=bool)
    if robust and judged.any():
        own = np.zeros(count.size)
        _set_medians(own, pair, away)
        scale = _OF_NORMAL * np.maximum(own, np.median(away[judged]))  # a noisy link is noisy, not wrong
        outlying = judged & (away > _OUTLYING * scale[pair]) & (scale[pair] > 0)
    found = Rounds(low, high, pair, turned, np.where(outlying, 0.0, sigma**-2.0), time, outlying, np.nan)
    slope, variance = found.slopes()
    rest = turned - found.mean(turned)[pair] - slope[pair] * (time - found.mean(time)[pair])
    freedom = int((~outlying).sum()) - keys.size - int(np.isfinite(variance).sum())
    scatter = float(np.sqrt(np.sum(found.weight * rest**2) / freedom)) if freedom > 0 else np.nan
    return Rounds(low, high, pair, turned, found.weight, time, outlying, scatter, freedom)


def _unwrapped(
    pair: NDArray[np.int64], time: NDArray[np.float64], value: NDArray[np.float64], period: float
) -> NDArray[np.float64]:
    """Whole periods added so that each measurement is within half a period of the one before it."""
    order = np.lexsort((time, pair))
    step = np.diff(value[order], prepend=0.0)
    begins = np.diff(pair[order], prepend=-1) != 0
    jump = np.where(begins, 0.0, -np.rint(step / period))
    total = np.cumsum(jump)
    total = total - np.repeat(total[begins], np.diff(np.append(np.flatnonzero(begins), order.size)))
    found = np.empty(value.size)
    found[order] = value[order] + period * total
    return found


def _gathered(pair: NDArray[np.int64], value: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """Whole periods added so that each measurement is within half a period of the mean direction of its pair."""
    turn = 2 * np.pi * value / period
    middle = np.arctan2(np.bincount(pair, np.sin(turn)), np.bincount(pair, np.cos(turn)))[pair] * period / (2 * np.pi)
    return np.asarray(value - period * np.rint((value - middle) / period), dtype=np.float64)


def _middle_line(pair: NDArray[np.int64], time: NDArray[np.float64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    """A line through the measurements of each pair that single wrong ones hardly move, at every measurement.

    The slope is the median of those between a measurement of the first half and its partner in the second (Theil's
    abbreviated method), the height the median of what is left.
    """
    order = np.lexsort((time, pair))
    count = np.bincount(pair)
    begin = np.concatenate([[0], np.cumsum(count)[:-1]])
    place = np.arange(order.size) - begin[pair[order]]
    first = np.flatnonzero(place < (count // 2)[pair[order]])
    second = first + (count - count // 2)[pair[order[first]]]
    one, other = order[first], order[second]
    lapse = time[other] - time[one]
    moved = lapse > 0
    slope = np.zeros(count.size)
    _set_medians(slope, pair[one][moved], (value[other] - value[one])[moved] / lapse[moved])
    middle = np.zeros(count.size)
    _set_medians(middle, pair, value - slope[pair] * time)
    return middle[pair] + slope[pair] * time


def _set_medians(into: NDArray[np.float64], group: NDArray[np.int64], value: NDArray[np.float64]) -> None:
    """The median of every group that has members."""
    order = np.lexsort((value, group))
    found, begin, count = np.unique(group[order], return_index=True, return_counts=True)
    upper, lower = value[order][begin + count // 2], value[order][begin + (count - 1) // 2]
    into[found] = 0.5 * (upper + lower)
