"""What shows that links are not what they are taken for, and the sentences that say so."""

from __future__ import annotations

from collections.abc import Hashable

_MOST_NAMES = 10


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
