"""What every group of a run shares: sizes, seed, the meter of the bandwidth, who is told about progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from angsync.problem.memory import free_bytes
from angsync.study.bench.bandwidth import Bandwidth, Meter
from angsync.study.bench.rows import Row
from angsync.study.bench.runner import Lap
from angsync.study.bench.sizes import Size
from angsync.study.bench.threads import in_words

Tick = Callable[[str, float], None]
"""Told what runs, and how much of the group is done, from 0 to 1."""


@dataclass(frozen=True)
class Setting:
    """One run.

    Attributes
    ----------
    size
        How large the problems are.
    repeats
        Timed calls of each method.
    seed
        Of the problems.
    peers
        Whether optional libraries take part where they are installed.
    meter
        The block of memory whose reading is timed.
    tick
        The progress of the group.
    """

    size: Size
    repeats: int
    seed: int
    peers: bool
    meter: Meter
    tick: Tick = lambda what, share: None


def timing(lap: Lap, count: int = 1) -> dict[str, Any]:
    """The times of a lap as fields of a row; ``count`` problems were solved in one call."""
    return {
        "seconds": lap.seconds / count,
        "fastest": min(lap.times) / count,
        "slowest": max(lap.times) / count,
        "repeats": len(lap.times),
        "threads": in_words(lap.threads),
    }


def best_of(*measured: Bandwidth) -> Bandwidth:
    """The bandwidth around a race: before and after it, the faster of both, as other processes only ever slow it."""
    return Bandwidth(max(one.one for one in measured), max(one.all for one in measured))


def lacking(needed: int) -> str:
    """Why a problem is left out; empty where it fits into the memory at hand."""
    available = free_bytes()
    if needed <= available:
        return ""
    return f"skipped: needs about {needed / 1e9:.1f} GB of memory, {available / 1e9:.1f} GB are free"


def skipped(group: str, problem: str, n: int, why: str) -> Row:
    """A row without figures."""
    return Row(group, problem, "all", n, note=why)
