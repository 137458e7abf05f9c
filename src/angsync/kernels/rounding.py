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


def gamma(k: int) -> float:
    r"""Higham's :math:`\gamma_k = k u / (1 - k u)`."""
    return k * UNIT_ROUNDOFF / (1 - k * UNIT_ROUNDOFF)
