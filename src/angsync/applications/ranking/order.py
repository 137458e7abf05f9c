"""An order from phases: where the circle is cut, which way round it is read, and the ranks that follow."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

EQUAL = 1e-9  # radians: nearer phases are one rank
# Standard errors of a difference beyond which a player counts as better or worse, for rank intervals of 95 %. Each pair
# on its own would need 1.96; but the error of the player himself is common to all his pairs, and those of the others
# average out: 1.39 if theirs did entirely. Chosen by simulation, on other seeds than those of the benchmark.
_APART = 1.5
_NORMAL = 1.959963984540054  # the quantile where the noise is known
_AT_ONCE = 4_000_000  # differences of scores in memory


class Cut(NamedTuple):
    """Phases of one component as numbers on a line, the largest best."""

    height: NDArray[np.float64]
    shift: int
    """Players that were moved from the top of the circle, cut at its widest gap, to the bottom."""
    orientation: int
    """-1 where the circle had to be read the other way round."""
    is_closed: bool = False
    """Whether the phases fill more than half of the circle, so that the order depends on where it is cut."""


def cut_circle(
    phase: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64], sign: NDArray[np.float64]
) -> Cut:
    """Cut the circle where the fewest pairs are upset.

    ``sign`` says who won of each pair that met. Phases within half a circle have one order, and that is taken.
    Otherwise all n shifts are tried, either way round: moving the top player to the bottom turns his victories into
    upsets and his defeats into what was to be expected, so that one shift costs the count of his games and no sort
    (Cucuringu, IEEE Trans. Network Science and Engineering 3(1), 2016, tries them one by one).
    """
    n = phase.size
    order = np.argsort(-phase, kind="stable")
    ordered = phase[order]
    gaps = np.append(ordered[:-1] - ordered[1:], ordered[-1] + 2 * math.pi - ordered[0])
    start = (int(np.argmax(gaps)) + 1) % n
    order = np.roll(order, -start)
    height = phase.copy()
    height[order[n - start :]] -= 2 * math.pi  # those that come after the cut are below the others
    if gaps.max() >= math.pi or n < 3:
        return Cut(height - height.mean(), 0, 1)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    wins = np.bincount(i, weights=sign > 0, minlength=n) + np.bincount(j, weights=sign < 0, minlength=n)
    losses = np.bincount(i, weights=sign < 0, minlength=n) + np.bincount(j, weights=sign > 0, minlength=n)
    upsets = float(np.sum(sign * (place[j] - place[i]) < 0))
    after = upsets + np.concatenate([[0.0], np.cumsum((wins - losses)[order][:-1])])
    decided = float(np.count_nonzero(sign))
    backwards = decided - after
    shift, orientation = int(np.argmin(after)), 1
    if backwards.min() < after.min():
        shift, orientation = int(np.argmin(backwards)), -1
    height[order[:shift]] -= 2 * math.pi
    height *= orientation
    return Cut(height - height.mean(), shift, orientation, is_closed=True)


def ranks_of(height: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for the largest; equal ones share the better rank."""
    return 1 + np.searchsorted(np.sort(-height), -height - EQUAL, side="left")


def upset_share(height: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64], sign: NDArray) -> float:
    """The share of pairs with a winner whose order is wrong; one half for those of equal height."""
    decided = (sign != 0) & np.isfinite(height[i]) & np.isfinite(height[j])
    if not decided.any():
        return math.nan
    lead = (height[i] - height[j])[decided] * sign[decided]
    return float(np.mean(np.where(np.abs(lead) <= EQUAL, 0.5, lead < 0)))


def rank_intervals(score: NDArray[np.float64], error: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """The best and the worst rank that a player may have, with 95 % confidence: (players, 2).

    One more than the number of those who are clearly better, and the number of those who are not clearly worse.
    ``freedom``: games left to estimate the noise from; Student's quantile takes the place of the normal one.
    """
    n = score.size
    found = np.full((n, 2), np.nan)
    if freedom < 1 or not np.isfinite(error).all():
        return found
    apart = _APART * float(scipy.special.stdtrit(freedom, 0.975)) / _NORMAL
    for start in range(0, n, max(1, _AT_ONCE // n)):
        some = slice(start, start + max(1, _AT_ONCE // n))
        lead = score[None, :] - score[some, None]
        clear = apart * np.hypot(error[None, :], error[some, None])
        found[some] = np.stack([1 + np.sum(lead > clear, axis=1), n - np.sum(lead < -clear, axis=1)], axis=1)
    return found
