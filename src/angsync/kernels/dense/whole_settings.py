"""A whole dense problem in one call, from the start to the gauge: how it is solved, and what is found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class WholeSolve(NamedTuple):
    """Phases with the first node at angle 0, and what is known about them."""

    z: NDArray[np.complex128]
    product: NDArray[np.complex128]
    objective: float
    residual: float
    products: int
    trace: NDArray[np.float64]
    """Objective, residual and length of the step of every iterate, the start first; with a narrow copy, every round."""
    interrupted: bool = False
    """Whether Ctrl-C was pressed during the call."""


class WholeSettings(NamedTuple):
    """How a whole problem is solved: ``whole_settings_t`` in whole.c, in its order."""

    strongest: int
    """The column of C whose phases are the start."""
    budget: int
    """Products of an inner solve at most."""
    most: int
    """Steps of the whole call at most."""
    rounds: int
    """Rounds of refinement at most."""
    patience: int
    """Steps that Anderson's method may reject in one inner solve."""
    rough: float
    """Relative residual of the leading eigenvector that Lanczos makes of the start."""
    share: float
    """The narrow copy alone is used down to so many times its error."""
    tolerance: float
    """Residual at which the solve ends."""
    deep: float
    """Share of the tolerance that inner solves aim at."""
    floor: float
    """A gradient below this is rounding."""
    least: float
    """The call gives up at once where C times the rough leading eigenvector is shorter: the noise is too high."""
    noise: float
    """Relative error of the objective in double precision: a step may lower it by so much."""
    narrow_noise: float
    """Relative error of the objective that the narrow copy alone gives."""
