"""What shows that links are not what they are taken for, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from angsync.problem.pieces import piece_labels

_MOST_NAMES = 10
_BY_CHANCE = 1e-3  # what chance does less often is said
_OUTERMOST = 0.05  # of the span of the offsets, at either end
_SHARP = (
    0.75  # of what a uniform law has there: wrapped offsets of 30 clocks have more in 95 % of the networks, others less
)
_NARROW, _WIDE = 0.5, 1.5  # periods: offsets that span less need no wrapping, more were not wrapped by anybody


def listed(names: list[str]) -> str:
    """Names in a row, not too many of them."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def about_bends(clocks: list[Hashable]) -> str:
    """A sentence about clocks that do not drift on lines."""
    names = listed([str(name) for name in clocks])
    return (
        f"Not on a line over time, as all their links say, and beyond chance: {names}. A clock was reset, or its drift "
        "bends; offsets and skews are those of the best line, and error bars were widened by what is beyond it. Give "
        "the rounds before and after a reset apart, or shorter stretches of time."
    )


def about_turns(share: float) -> str:
    """A sentence about rounds too far apart in time."""
    return (
        f"In {share:.0%} of the cases a link moves by more than a quarter of a period from one round to the next: "
        "whole periods between rounds, and so skews, may be wrong. Measure more often."
    )


def about_rejected(bad: int, links: int) -> str:
    """A sentence about too many links that are left out."""
    return (
        f"{bad:,} of {links:,} links contradict the others and were left out, a quarter or more: perhaps most links "
        "are a little wrong (ways longer than the ways back), and those that are believed only happen to agree. Fit "
        "all of them, robust=False (--no-robust), and compare."
    )


def about_ends(offset: NDArray[np.float64], independent: int, period: float, unit: str) -> str | None:
    """A sentence where offsets end as if they were wrapped, but not with this period.

    The range r of m uniform numbers (as a share of the period) is below r with probability m r^(m-1) - (m-1) r^m.
    """
    low, high = float(offset.min()), float(offset.max())
    span = (high - low) / period
    margin = _OUTERMOST * (high - low)
    ends = float(np.mean((offset < low + margin) | (offset > high - margin)))
    if not _NARROW < span < _WIDE or ends < _SHARP * 2 * _OUTERMOST:
        return None
    m = max(independent, 1)
    if span <= 1 + 1e-9 and m * span ** (m - 1) - (m - 1) * span**m > _BY_CHANCE:
        return None
    return (
        f"Offsets end sharply at {low / period:.3g} and {high / period:.3g} of the period, as those do that are known "
        f"modulo {high - low:.4g}{unit}: is the period {period:.6g}{unit}? With a wrong one error bars are too small."
    )


def other_choices(
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    bad: NDArray[np.bool_],
    undecided: NDArray[np.bool_],
    residual: NDArray[np.float64],
    components: NDArray[np.int64],
    reference: int | None,
) -> NDArray[np.float64]:
    """How far each clock moves where an undecided link is wrong, and one that was left out in its place is right.

    Links that are undecided and alone connect a group to the rest: without them the group moves by what a link that
    was left out says, against the reference, or the mean of the component.
    """
    n, square = components.size, np.zeros(components.size)
    believed = ~bad
    pieces = piece_labels(n, i[believed & ~undecided], j[believed & ~undecided])
    ends = np.sort(np.stack([pieces[i], pieces[j]]), axis=0)
    apart = undecided & believed & (ends[0] != ends[1])
    for one, other in np.unique(ends[:, apart], axis=1).T:
        rest = believed & ~(apart & (ends[0] == one) & (ends[1] == other))
        sides = piece_labels(n, i[rest], j[rest])
        k = int(np.flatnonzero(believed & ~rest)[0])
        if sides[i[k]] == sides[j[k]]:
            continue
        moved = (sides == sides[i[k]]).astype(np.float64)
        own = components == components[i[k]]
        instead = bad & (moved[i] != moved[j]) & own[i] & own[j]
        far = float(np.abs(residual[instead]).max(initial=0.0))
        zero = moved[reference] if reference is not None and own[reference] else moved[own].mean()
        square += np.where(own, far * (moved - zero), 0.0) ** 2
    return np.asarray(np.sqrt(square))
