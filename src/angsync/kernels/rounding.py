r"""Constants of floating-point error analysis (Higham, *Accuracy and Stability of Numerical Algorithms*)."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

UNIT_ROUNDOFF = 2.0**-53  # of double precision


class Precision(NamedTuple):
    """What a type of numbers can hold."""

    epsilon: float
    """The distance of 1 from the next number."""
    largest: float


@cache
def precision(dtype: np.dtype[Any]) -> Precision:
    """The precision of a type, looked up once: NumPy takes a microsecond each time."""
    found = np.finfo(dtype)
    return Precision(float(found.eps), float(found.max))


def pair_share(dtype: np.dtype[Any]) -> float:
    """Entries of a pair that are apart by no more than this, relative to the larger one, differ by rounding."""
    return float(np.sqrt(precision(dtype).epsilon))


def pair_floor(dtype: np.dtype[Any]) -> float:
    """So do those apart by no more than this, relative to the smaller one of the largest entries of their rows.

    Entries of a computed product are off by rounding of that size even where the entry itself is nearly 0.
    """
    return 1000 * precision(dtype).epsilon


def gamma(k: int) -> float:
    r"""Higham's :math:`\gamma_k = k u / (1 - k u)`."""
    return k * UNIT_ROUNDOFF / (1 - k * UNIT_ROUNDOFF)
