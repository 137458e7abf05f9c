"""Whether clocks drift on lines: a reset or a drift that bends moves all the links of a clock alike.

What every link does over time beyond its line is seen through the polynomials of degree 2 to 4 that are orthonormal
over its rounds. If the noise of the rounds is independent, their coefficients are too, with the variance of the noise
about all of them; the sum over the links of a clock, each turned to begin at it, tests the clock (an F test).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import lsqr
from scipy.stats import f as f_law

from angsync.applications.clocks.rounds import Rounds

_DEGREES = (2, 3, 4)
_CHANCE = 1e-4  # of a false alarm in a network
_FEWEST = 8  # degrees of freedom of the links of a clock from which they tell their own noise
_NOTHING = 1e-6  # of the length of a power of time: what is left of it is rounding, the rounds do not tell it
_ROUNDING = 1e-12  # of the largest value
_ALIKE = 0.5  # of the largest bend: clocks from there on are named


@dataclass(frozen=True, eq=False)
class Bends:
    """Motions of the clocks beyond lines, one row of coefficients a clock against the mean of its component."""

    motion: NDArray[np.float64]
    """In units of the offset: the root of the sum of squares of a row is the root mean square over the rounds."""
    named: NDArray[np.int64]
    """The clocks that bend most, worst first."""

    def size(self, components: NDArray[np.int64], reference: int | None) -> NDArray[np.float64]:
        """How far each clock is from its line, against the reference, or the mean of its component."""
        motion = self.motion
        if reference is not None:
            own = components == components[reference]
            motion = np.where(own[:, None], motion - motion[reference], motion)
        return np.asarray(np.sqrt(np.sum(motion**2, axis=1)))


def bends_of(n: int, rounds: Rounds, believed: NDArray[np.bool_]) -> Bends | None:
    """The bends of all clocks where one at least is beyond chance, else None; ``believed`` has one entry a pair."""
    coefficient, has, square, freedom = _beyond_lines(rounds)
    has &= believed[:, None]
    square, freedom = np.where(believed, square, 0.0), np.where(believed, freedom, 0)
    if not has.any() or freedom.sum() < 1:
        return None
    ends, sign = np.concatenate([rounds.i, rounds.j]), np.repeat([1.0, -1.0], rounds.i.size)
    own_freedom = np.bincount(ends, np.tile(freedom, 2), minlength=n)
    pooled = own_freedom < _FEWEST
    noise = np.bincount(ends, np.tile(square, 2), minlength=n) / np.maximum(own_freedom, 1)
    noise[pooled] = square.sum() / freedom.sum()
    own_freedom[pooled] = freedom.sum()
    least = (_ROUNDING * float(np.abs(rounds.value).max())) ** 2 * float(np.median(rounds.weight))
    explained, degrees = np.zeros(n), np.zeros(n, dtype=np.int64)
    for k in range(len(_DEGREES)):
        links = np.bincount(ends, np.tile(has[:, k], 2), minlength=n)
        total = np.bincount(ends, sign * np.tile(np.where(has[:, k], coefficient[:, k], 0.0), 2), minlength=n)
        explained += total**2 / np.maximum(links, 1)
        degrees += links > 0
    ratio = explained / np.maximum(degrees, 1) / np.maximum(noise, least)
    chance = np.where(degrees > 0, f_law.sf(ratio, np.maximum(degrees, 1), own_freedom), 1.0)
    if not (least > 0 or noise.any()) or chance.min() * np.count_nonzero(degrees) > _CHANCE:
        return None
    motion = _by_clock(n, rounds, coefficient, has)
    away = np.sqrt(np.sum((motion - np.median(motion[degrees > 0], axis=0)) ** 2, axis=1))
    away[degrees == 0] = 0.0
    order = np.argsort(-away)
    return Bends(motion, order[away[order] > _ALIKE * away.max()])


def _beyond_lines(
    rounds: Rounds,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64], NDArray[np.int64]]:
    """By pair: coefficients, which of them its rounds tell, and the sum of squares of what is left with its freedom."""
    pair, weight = rounds.pair, rounds.weight

    def dot(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(pair, weight * one * other), dtype=np.float64)

    away = rounds.time - rounds.mean(rounds.time)[pair]
    wide = np.sqrt(rounds.mean(away**2))[pair]
    away = np.divide(away, wide, out=np.zeros(away.size), where=wide > 0)
    rest = rounds.value - rounds.mean(rounds.value)[pair]
    basis: list[NDArray[np.float64]] = []
    coefficients, told = [], []
    for degree in range(_DEGREES[-1] + 1):
        power = away**degree
        length = np.sqrt(dot(power, power))
        for one in (*basis, *basis):  # twice: once leaves rounding
            power = power - dot(power, one)[pair] * one
        left = np.sqrt(dot(power, power))
        has = left > _NOTHING * length
        basis.append(np.divide(power, left[pair], out=np.zeros(power.size), where=has[pair]))
        coefficients.append(dot(basis[-1], rest))
        rest = rest - coefficients[-1][pair] * basis[-1]
        told.append(has)
    freedom = np.bincount(pair, weight > 0).astype(np.int64) - np.sum(told, axis=0)
    chosen = slice(_DEGREES[0], None)
    return np.stack(coefficients[chosen], axis=1), np.stack(told[chosen], axis=1), dot(rest, rest), freedom


def _by_clock(n: int, rounds: Rounds, coefficient: NDArray[np.float64], has: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Least squares: the motion of clock i minus that of j is that of their link."""
    length = np.sqrt(np.bincount(rounds.pair, rounds.weight))
    motion = np.zeros((n, len(_DEGREES)))
    for k in range(len(_DEGREES)):
        at = np.flatnonzero(has[:, k])
        row = np.tile(np.arange(at.size), 2)
        column = np.concatenate([rounds.i[at], rounds.j[at]])
        value = np.concatenate([length[at], -length[at]])
        incidence = scipy.sparse.csr_array((value, (row, column)), shape=(at.size, n))
        motion[:, k] = lsqr(incidence, coefficient[at, k], atol=1e-8, btol=1e-8)[0] if at.size else 0.0
    return motion
