r"""Rows that contradict the others: data snooping with stated errors (Baarda 1968).

A row is an outlier where its residual is further off than noise of the stated errors would bring any row of good
tables, once in a thousand. Of rows about one monitor the worst goes first, for it pulls the others along; the phases
are found again without it, until no row is beyond the limit. A row that was put out is taken back where it agrees
in the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.applications.beam_optics.network import Network
from angsync.errors import CorruptionWarning, warn_user
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult

_FALSE_FLAGS = 1e-3  # probability that any row of good tables is called an outlier
_MOST_ROUNDS = 100
_OF_THE_WORST = 0.8  # of the largest residual: smaller ones wait, for they may be what a larger one brought about
_MOST_SHARE = 0.25  # of the rows: where more are wrong, nobody can tell which
_UNCLEAR = 9.0  # of chi-square, by which one row explains a contradiction better than another: odds of 90 to 1
_MANY_TIMES = (
    3  # rows of a monitor over those of another: of a row between a reference and a monitor, this one is meant
)
_UNCHECKED = 1e-9  # of its variance that is left in the residual of a row: nothing else checks it


class Believed(NamedTuple):
    """The fit, which rows it leaves out, which monitors these are about, and which they may be about."""

    sync: SyncResult
    outlier: NDArray[np.bool_]
    monitors: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]


def solved(net: Network, robust: bool) -> Believed:
    """The fit of the rows that agree; of all of them without ``robust``, and where nobody can tell which are wrong."""
    sync = whole = synchronize(net.measurements, gauge=net.reference)
    outlier = np.zeros(len(net.measurements), dtype=bool)
    all_used = Believed(whole, outlier, *np.zeros((2, net.n), dtype=bool))
    if not robust:
        return all_used
    culprits: dict[int, list[int]] = {}
    limit = _limit(outlier.size)
    for _ in range(_MOST_ROUNDS):
        scaled = _standardized(net, sync, outlier)
        worst = _worst(net, scaled, limit)
        if not worst.any():
            break
        for row in np.flatnonzero(worst):
            culprits[int(row)] = _culprits(net, scaled, int(row))
        outlier = outlier | worst
        if outlier.sum() > _MOST_SHARE * outlier.size:
            _give_up()
            return all_used
        sync = _without(net, outlier)
    else:
        _give_up()
        return all_used
    if outlier.any():
        again = outlier & (_predicted(net, sync, outlier) <= limit)
        if again.any():
            outlier = outlier & ~again
            sync = _without(net, outlier)
    clear, unclear = np.zeros(net.n, dtype=bool), np.zeros(net.n, dtype=bool)
    for row in np.flatnonzero(outlier):
        found = culprits[int(row)]
        (clear if len(found) == 1 else unclear)[found] = True
    return Believed(sync, outlier, clear, unclear & ~clear)


def _give_up() -> None:
    warn_user(
        "so many rows contradict each other that nobody can tell which are wrong: all are used. The stated errors are "
        "too small, or the tables are of different optics.",
        CorruptionWarning,
    )


def _limit(rows: int) -> float:
    from scipy.special import ndtri

    return -float(ndtri(_FALSE_FLAGS / 2 / rows))


def _without(net: Network, outlier: NDArray[np.bool_]) -> SyncResult:
    kept = net.measurements.with_weight(np.where(outlier, 0.0, net.measurements.weight))
    return synchronize(kept, gauge=net.reference)


def _standardized(net: Network, sync: SyncResult, outlier: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Residuals in their own standard deviations, which are less than the errors by what the row itself decides."""
    found = sync.edge_residuals()
    left = 1 - found.leverage
    scaled = np.abs(found.wrapped) / (2 * np.pi * net.error * np.sqrt(np.maximum(left, _UNCHECKED)))
    return np.where(outlier | (left <= _UNCHECKED), 0.0, scaled)


def _worst(net: Network, scaled: NDArray[np.float64], limit: float) -> NDArray[np.bool_]:
    """Rows beyond the limit that are the worst of their monitor: of the one of the two that has fewer rows, for a
    reference is in all of them; of both where they have as many."""
    i, j = net.measurements.i, net.measurements.j
    peak, rows = np.zeros(net.n), np.bincount(i, minlength=net.n) + np.bincount(j, minlength=net.n)
    np.maximum.at(peak, i, scaled)
    np.maximum.at(peak, j, scaled)
    leads = (rows[i] > rows[j]) | (scaled >= peak[i])
    leads &= (rows[j] > rows[i]) | (scaled >= peak[j])
    return (scaled > max(limit, _OF_THE_WORST * float(scaled.max(initial=0.0)))) & leads


def _culprits(net: Network, scaled: NDArray[np.float64], row: int) -> list[int]:
    """The monitor that a wrong row is about, or several of which nobody can tell.

    Rows of its monitors that are nearly as far off may be the wrong ones as well, and so may rows of theirs: the one
    monitor that all of them share is meant. A reference, which has many times the rows of others, is not.
    """
    i, j = net.measurements.i, net.measurements.j
    rows = np.bincount(i, minlength=net.n) + np.bincount(j, minlength=net.n)
    is_hub = rows > _MANY_TIMES * np.median(rows)
    near = scaled**2 > scaled[row] ** 2 - _UNCLEAR

    def monitors(which: int) -> set[int]:
        ends = {int(i[which]), int(j[which])}
        return {end for end in ends if not is_hub[end]} or ends

    rivals, waiting = {row: monitors(row)}, set(monitors(row))
    seen: set[int] = set()
    while waiting:
        monitor = waiting.pop()
        seen.add(monitor)
        for other in np.flatnonzero(near & ((i == monitor) | (j == monitor))):
            rivals[int(other)] = monitors(int(other))
            waiting |= rivals[int(other)] - seen
    shared = set.intersection(*rivals.values())
    return sorted(shared if len(shared) == 1 else set.union(*rivals.values()))


def _predicted(net: Network, sync: SyncResult, outlier: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How far the rows put out are from what the others say, in standard deviations of that difference."""
    scaled = np.full(outlier.size, np.inf)
    i, j = net.measurements.i, net.measurements.j
    apart = np.abs(sync.edge_residuals().wrapped) / (2 * np.pi)
    tied = sync.components[i] == sync.components[j]
    for base in np.unique(j[outlier & tied]):
        chosen = outlier & tied & (j == base)
        others = sync.standard_errors(1.0, gauge=int(base))[i[chosen]] / (2 * np.pi)
        scaled[chosen] = apart[chosen] / np.sqrt(net.error[chosen] ** 2 + others**2)
    return scaled
