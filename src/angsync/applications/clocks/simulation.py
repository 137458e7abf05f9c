"""Networks of clocks with known truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from angsync.applications.clocks.links import Links
from angsync.errors import InputError

_NEIGHBORS = 12.6
"""Clocks within radio range, away from the edge of the square: about 1,100 links among 200 clocks."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Links, and what they were made from."""

    links: Links
    offset: NDArray[np.float64]
    """The true offsets; modulo the period where there is one; at time 0 where clocks drift."""
    skew: NDArray[np.float64]
    """In units of the offset per unit of time."""
    is_bad: NDArray[np.bool_]
    """Links that were made wrong."""
    position: NDArray[np.float64]


def simulate(
    n: int = 200,
    *,
    jitter: float = 1.0,
    spread: float = 1000.0,
    period: float | None = None,
    radio_range: float | None = None,
    rounds: int = 1,
    interval: float = 10.0,
    drift: float = 0.0,
    lost: float = 0.0,
    bad: float = 0.0,
    bad_by: float = 20.0,
    rng: int | np.random.Generator = 0,
) -> Simulated:
    """Clocks at random places of a unit square; those within radio range of each other compare their times.

    Parameters
    ----------
    jitter
        Standard deviation of one measured offset.
    spread
        The true offsets are uniform within this on either side; within a period where there is one.
    period
        Offsets are known modulo this; None: not wrapped.
    radio_range
        As a share of the side of the square; unless given, about 1,100 links come out among 200 clocks.
    rounds, interval
        So many measurements of every link, so far apart in time.
    drift
        Standard deviation of the skews of the clocks, in units of the offset per unit of time.
    lost
        Share of the measurements that are missing.
    bad, bad_by
        Share of the links that are off by so many jitters, in all rounds, up or down.

    Examples
    --------
    >>> from angsync.applications import clocks
    >>> network = clocks.simulate(50, jitter=2.0, bad=0.05, rng=0)
    >>> network.position.shape, len(network.links.offset), int(network.is_bad.sum())
    ((50, 2), 216, 11)
    """
    if n < 2 or rounds < 1:
        raise InputError(f"there must be at least two clocks and one round, not {n} and {rounds}.")
    if not (0 <= lost < 1 and 0 <= bad <= 1 and jitter >= 0):
        raise InputError("lost and bad are shares between 0 and 1, and jitter is at least 0.")
    generator = np.random.default_rng(rng)
    position = generator.random((n, 2))
    reach = math.sqrt(_NEIGHBORS / (math.pi * n)) if radio_range is None else radio_range
    pairs = cKDTree(position).query_pairs(reach, output_type="ndarray")
    if len(pairs) == 0:
        raise InputError(f"no two clocks are within the radio range of {reach:g}: make it larger.")
    half = spread if period is None else period / 2
    offset, skew = generator.uniform(-half, half, n), drift * generator.standard_normal(n)
    m = len(pairs)
    wrong = np.zeros(m, dtype=bool)
    wrong[generator.choice(m, round(bad * m), replace=False)] = True
    bias = np.where(wrong, bad_by * jitter * generator.choice([-1.0, 1.0], m), 0.0)
    i, j = np.tile(pairs[:, 0], rounds), np.tile(pairs[:, 1], rounds)
    when = np.repeat(interval * (np.arange(rounds) - (rounds - 1) / 2), m)
    value = offset[i] - offset[j] + (skew[i] - skew[j]) * when + np.tile(bias, rounds)
    value = value + jitter * generator.standard_normal(i.size)
    if period is not None:
        value = value - period * np.rint(value / period)
    kept = generator.random(i.size) >= lost
    time = when[kept] if rounds > 1 else None
    links = Links(tuple(range(n)), i[kept], j[kept], value[kept], None, time)
    return Simulated(links, offset, skew, np.tile(wrong, rounds)[kept], position)
