"""Chance: random phases, and a small turn of all phases where C is real."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.problem.operators import Operator


def random_phases(operator: Operator, rng: np.random.Generator) -> NDArray:
    """Independent uniform phases."""
    return np.exp(2j * np.pi * rng.random(operator.n)).astype(operator.dtype)


def leave_the_real_line(operator: Operator, z: NDArray, rng: np.random.Generator) -> NDArray:
    """Turn every phase a little when C is real: every vector of signs is then a critical point for ever."""
    if operator.n > 1 and operator.is_real():
        z = z * np.exp(0.1j * rng.standard_normal(operator.n)).astype(z.dtype)
        return normalize(z, z)
    return z
