"""When a loop stops, why it stopped, and what it leaves behind: Stopping, Status, Clock, Progress, History."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, names_init_keywords

RESIDUAL_TOLERANCE = 1e-10
"""Of the residual in double precision, where none is given. f is then exact up to rounding: its error is of second
order in the residual."""
SINGLE_RESIDUAL_TOLERANCE = 1e-5
"""For the residual in single precision."""


class Status(Enum):
    """Why the loop ended. The value is advice, not a code.

    Examples
    --------
    >>> result = ang.synchronize(ang.simulate.gaussian(50, 1.0, rng=0).C)
    >>> result.status is ang.Status.CONVERGED
    True
    """

    CONVERGED = "The residual met its tolerance."
    STALLED = (
        "The objective cannot be raised further in this precision: loosen the tolerance or use complex128. "
        "Where weights span many orders of magnitude, nodes of small weight may be off."
    )
    ITERATION_LIMIT = "Stopped at the iteration limit; raise it, or continue from this result."
    TIME_LIMIT = "Stopped at the time limit; raise it, or continue from this result."
    STOPPED_BY_CALLBACK = "The callback returned True."
    EMPTY = "Nothing is measured (C is zero off its diagonal): any phases fit as well, and these mean nothing."
    INTERRUPTED = "Interrupted; this is the best point so far."


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating))


@names_init_keywords
@dataclass(frozen=True)
class Stopping:
    """When to stop. Whatever is met first ends the loop.

    Parameters
    ----------
    tolerance
        For the residual ``||Im(conj(z) * Cz)|| / ||Cz||``; None means 1e-10 for complex128 and 1e-5 for complex64.
    max_iterations
        Number of steps of the solver.
    max_seconds
        Wall time of the whole call, starting point and certificate included; None means no limit. It is looked at
        before every product with C; a sparse factorization that takes longer is not waited for.

    Examples
    --------
    >>> problem = ang.simulate.gaussian(50, 1.0, rng=0)
    >>> result = ang.synchronize(problem.C, stopping=ang.Stopping(max_iterations=0), on_failure="ignore")
    >>> result.status.name, result.iterations
    ('ITERATION_LIMIT', 0)
    """

    tolerance: float | None = None
    max_iterations: int = 10_000
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("tolerance", self.tolerance), ("max_seconds", self.max_seconds)):
            if value is not None and not _is_number(value):
                raise InputError(f"{name} must be a number or None, but it is {value!r}.")
            if value is not None and not value >= 0:
                raise InputError(f"{name} must not be negative, but it is {value}.")
        count = self.max_iterations
        if not (_is_number(count) and math.isfinite(count) and count >= 0 and int(count) == count):
            raise InputError(f"max_iterations must be a whole number, 0 or more, but it is {count!r}.")

    def tolerance_for(self, dtype: np.dtype[Any]) -> float:
        """The tolerance, or the default of this precision."""
        if self.tolerance is not None:
            return self.tolerance
        return SINGLE_RESIDUAL_TOLERANCE if dtype == np.complex64 else RESIDUAL_TOLERANCE


class Clock:
    """Wall time since the start, what is left of it, and whether the limit has passed."""

    def __init__(self, max_seconds: float | None = None) -> None:
        self.start = time.perf_counter()
        self.max_seconds = max_seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    @property
    def expired(self) -> bool:
        return self.max_seconds is not None and self.seconds >= self.max_seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time that is not the problem's: code that is loaded by the first call which needs it."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.start += time.perf_counter() - begin

    @property
    def left(self) -> float | None:
        """Seconds until the limit, never negative; None without a limit."""
        return None if self.max_seconds is None else max(0.0, self.max_seconds - self.seconds)


@dataclass(frozen=True)
class Progress:
    """What a callback is given at every iterate, the starting point (iteration 0) included.

    With a narrow copy of C (:class:`angsync.AcceleratedGPM` from n = 400) an iterate is a round, and iteration 0 is the
    point after the first one.
    """

    iteration: int
    objective: float
    residual: float
    step: float
    """2-norm of the change of z in the last step."""
    seconds: float
    z: NDArray
    """The iterate (of the component being solved), read-only: the solver goes on from it."""
    component: int = 0
    nodes: NDArray[np.int64] | EllipsisType = ...
    """The nodes of the C given that ``z`` belongs to, in this order; ``...`` for all."""
    n: int = 0
    """Number of nodes of the C given."""
    labels: tuple[Hashable, ...] | None = None
    """Of all nodes."""

    def __post_init__(self) -> None:
        z = self.z.view()
        z.flags.writeable = False
        object.__setattr__(self, "z", z)


Callback = Callable[[Progress], Any]


@dataclass(frozen=True)
class History:
    """One entry an iterate, the starting point first: ``iterations + 1`` entries."""

    objective: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    residual: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    step: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def followed_by(self, other: History, *, jump: bool = False) -> History:
        """This history, then ``other``, which starts where this one ends, or, after a ``jump``, at a new point."""
        if self.objective.size == 0:
            return other
        first = 0 if jump else 1
        return History(
            np.concatenate([self.objective, other.objective[first:]]),
            np.concatenate([self.residual, other.residual[first:]]),
            np.concatenate([self.step, other.step[first:]]),
        )
