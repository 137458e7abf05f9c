r"""The steps in which angles come (encoders, tables with few digits): noise is no smaller than what rounding makes.

Rounding to steps q is an error of :math:`q / \sqrt{12}`. Some cycles of such angles close to the last bit all the same:
a coincidence, and no sign of measurements of a millionth of a radian. The step is the greatest common divisor of the
gaps between angles (Euclid, from many pairs of gaps, because some angles may be wrong and lie on no step), refined by
least squares over ever more of the angles. It is believed where more angles lie on steps than chance would put there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

FLOOR = 1e-6  # radians: below this, good edges count as exact
_LOOKED_AT = 100  # angles: if half of them are wrong, about a dozen of the pairs of gaps are right
_FEW_LEVELS = 12  # signs, quarter turns, hours: angles that may be exact on so few steps
_BY_CHANCE = 1e-6  # probability that continuous angles seem to come in steps


def least_noise(angle: NDArray[np.float64]) -> float:
    """The least deviation in radians that such angles can have: of rounding, or the floor if no steps are seen."""
    return max(FLOOR, step_of(angle) / math.sqrt(12))


def step_of(angle: NDArray[np.float64]) -> float:
    """The step in radians of a third of the angles at least, up to a common offset; 0 if none is seen.

    A random angle is within ``FLOOR`` of a step q with probability 2 FLOOR / q. Three angles make the step and the
    offset, so that they count for nothing. Angles that lost a whole turn after they were rounded may be on no step.
    """
    level = np.sort(angle[:: len(angle) // _LOOKED_AT + 1])
    level = level[np.diff(level, prepend=-math.inf) > FLOOR]
    low, middle, high = (
        np.concatenate([level[k * lag : max(level.size - (2 - k) * lag, 0)] for lag in (1, 2)]) for k in range(3)
    )
    last, step = middle - low, high - middle
    rest = np.abs(last - step * np.rint(last / step))
    while np.any(going := rest > np.maximum(step / 50, FLOOR)):
        last, step = np.where(going, step, last), np.where(going, rest, step)
        rest = np.abs(last - step * np.rint(last / step))
    seen = (step > math.sqrt(12) * FLOOR) & (step < 2 * math.pi / _FEW_LEVELS)
    if not seen.any():
        return 0.0
    step, reach, away = step[seen, None], (high - low)[seen, None], level - low[seen, None]
    near = step / 8  # the two gaps first, whatever their digits
    for _ in range(math.ceil(math.log2(np.ptp(level) / reach.min())) + 1):
        count = np.rint(away / step)
        used = (np.abs(away) <= reach) & (np.abs(away - count * step) <= near)
        lever, square = (np.sum(count * x, axis=1, where=used, keepdims=True) for x in (away, count))
        step = (lever + FLOOR * step) / (square + FLOOR)  # as it was, if it reaches no other angle
        reach, near = 2 * reach, 2 * FLOOR
    total, on = level.size, np.sum(np.abs(away - step * np.rint(away / step)) <= FLOOR, axis=1)
    choices = gammaln(total + 1) - gammaln(on + 1) - gammaln(total - on + 1)
    nats = choices + (on - 3) * np.log(2 * FLOOR / step[:, 0]) + math.log(low.size)
    best = int(np.argmin(nats))
    sure = nats[best] < math.log(_BY_CHANCE) and 3 * on[best] > total
    return float(step[best, 0]) if sure and step[best, 0] < 2 * math.pi / _FEW_LEVELS - FLOOR else 0.0
