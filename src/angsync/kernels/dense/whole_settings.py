"""A whole dense problem in one call, from the start to the gauge: how it is solved, and what is found."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class WholeEnding(IntEnum):
    """How a call ended: in whole.c, and in accelerate.h from ``STOPPED`` on."""

    SOLVED = 0
    GAVE_UP = 1
    """Something is out of the ordinary; what was found up to there is given where somebody was told of it."""
    STOPPED = 3
    """Who was told of the iterates asked for an end."""
    LATE = 4
    FAILED = 5
    """A function of Python's raised something: it is raised again, but for Ctrl-C, which keeps what was found."""


class Exactness(IntEnum):
    """What the product given with an answer has to be."""

    UNUSED = 0
    """It is computed again by whoever called: the narrow copy may give it, where that is enough to see the residual."""
    NEAR = 1
    """The last one may be the narrow copy's difference to the one before, where that is near enough."""
    EXACT = 2
    """That of C itself."""


class WholeSolve(NamedTuple):
    """Phases in their gauge, and what is known about them."""

    z: NDArray[np.complex128]
    product: NDArray[np.complex128]
    """C z; only near it where the settings do not ask for more."""
    objective: float
    residual: float
    products: int
    trace: NDArray[np.float64]
    """Objective, residual and length of the step of every iterate, the start first; with a narrow copy, every round."""
    interrupted: bool = False
    """Whether Ctrl-C was pressed during the call."""
    ending: WholeEnding = WholeEnding.SOLVED


class WholeSettings(NamedTuple):
    """How a whole problem is solved: ``whole_settings_t`` in whole.c, in its order."""

    strongest: int
    """The column of C whose phases are the start; -1 where a start is given."""
    gauge: int
    """The node that is at angle 0 in the answer; -1 where the sum of all phases is."""
    budget: int
    """Products of an inner solve at most."""
    most: int
    """Steps of the whole call at most."""
    rounds: int
    """Rounds of refinement at most."""
    patience: int
    """Steps that Anderson's method may reject in one inner solve."""
    exact: int
    """What the product given with the answer has to be: see :class:`Exactness`."""
    rough: float
    """Relative residual of the leading eigenvector that Lanczos makes of the start; 0 to take the start as it is."""
    mixing: float
    """It gives up where the second Ritz value is more than this share of the first: the start then says little."""
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
