"""The one loop: stopping, history, callback, time limit, interruption. Solvers only know how to step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.criticality import split
from angsync.problem.operators import HermitianOperator, rounding_sums

_UNEVEN = 1e3  # ratio of row sums from which small rows are looked at for themselves


class Status(Enum):
    """Why the loop ended. The value is advice, not a code."""

    CONVERGED = "The residual met its tolerance."
    STALLED = "The objective cannot be raised further in this precision; loosen the tolerance or use complex128."
    ITERATION_LIMIT = "Stopped at max_iterations; raise it, or go on from this result with start=result."
    TIME_LIMIT = "Stopped at max_seconds; raise it, or go on from this result with start=result."
    STOPPED_BY_CALLBACK = "The callback returned True."
    INTERRUPTED = "Interrupted; this is the best point so far. Go on from it with start=result."


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating))


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
        Wall time of the whole call, starting point and certificate included; None means no limit.
    """

    tolerance: float | None = None
    max_iterations: int = 10_000
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("tolerance", "max_seconds"):
            value = getattr(self, name)
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
        return 1e-5 if dtype == np.complex64 else 1e-10


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
    """The iterate (of the component being solved); do not change it."""
    component: int = 0


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
            *(np.concatenate([getattr(self, k), getattr(other, k)[first:]]) for k in ("objective", "residual", "step"))
        )


class State(Protocol):
    """A point whose product with C is known. Solvers may keep more in theirs."""

    @property
    def z(self) -> NDArray: ...

    @property
    def Cz(self) -> NDArray: ...

    @property
    def exhausted(self) -> bool:
        """True when the solver cannot improve this point in the precision at hand."""
        ...


class Solver(Protocol):
    """Settings frozen in a dataclass, progress in a state, one step at a time, no loop."""

    def init(self, operator: HermitianOperator, z: NDArray) -> Any: ...

    def step(self, operator: HermitianOperator, state: Any) -> Any: ...


@dataclass(frozen=True)
class Outcome:
    """Where the loop ended."""

    z: NDArray
    Cz: NDArray
    objective: float
    residual: float
    status: Status
    iterations: int
    history: History
    gave_up: bool = False
    """Ended by ``give_up``: another solver should take over."""


class Clock:
    """Wall time since the start, and whether the limit has passed."""

    def __init__(self, max_seconds: float | None = None) -> None:
        self.start = time.perf_counter()
        self.max_seconds = max_seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    @property
    def expired(self) -> bool:
        return self.max_seconds is not None and self.seconds >= self.max_seconds


def norm(x: NDArray) -> float:
    """2-norm in double precision that neither over- nor underflows."""
    if x.dtype in (np.float64, np.complex128):
        plain = math.sqrt(float(np.vdot(x, x).real))  # half the time of np.linalg.norm, and no warnings
        if 1e-140 < plain < 1e140:
            return plain
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(x.astype(np.result_type(x, np.float64)) / largest))


def objective_and_residual(z: NDArray, Cz: NDArray, floor: float = 0.0) -> tuple[float, float]:
    """f(z) and the relative residual, from a known product, accumulated in double precision.

    A gradient below ``floor`` is rounding and counts as 0, also where C z itself vanishes (a matrix of -1 entries).
    """
    s, b = split(z, Cz)
    size, gradient = norm(Cz), norm(b)
    return float(s.sum()), (gradient / size if gradient > floor and size > 0 else 0.0)


def rounding_floor(operator: HermitianOperator) -> float:
    """The size of a gradient that is nothing but rounding: a few units of the row sums of |C|; 0 where unknown."""
    sums = rounding_sums(operator)
    return 0.0 if sums is None else 4 * float(np.finfo(operator.dtype).eps) * norm(sums)


def is_even(sums: NDArray[np.float64]) -> bool:
    """Whether all rows weigh much the same."""
    return not sums.max() > _UNEVEN * sums.min()


def _light_rows(operator: HermitianOperator) -> Callable[[State], float] | None:
    """Where row sums differ a lot, the residual row by row: how far a node is from where its neighbours want it.

    The residual is relative to the largest rows; a part of the graph with small weights may be far off and not show
    in it. This is the root mean square of ``b_j / sum |C_jl|``, in radians. None where all rows weigh much the same.
    """
    sums = operator.abs_row_sums()
    if sums is None or sums.size == 0 or is_even(sums):
        return None
    inverse = 1 / np.where(sums > 0, sums, np.inf)
    return lambda state: norm(split(state.z, state.Cz)[1] * inverse) / np.sqrt(sums.size)


def _is_better(objective: float, residual: float, best_objective: float, best_residual: float) -> bool:
    """Larger objective; where rounding cannot tell them apart, the smaller residual."""
    noise = 1e-14 * abs(best_objective)
    return objective > best_objective + noise or (objective >= best_objective - noise and residual < best_residual)


def _measured(state: State, floor: float) -> tuple[float, float]:
    """Objective and residual of a state: of its phases, unless it measures itself (the rows of a relaxation do)."""
    measure = getattr(state, "measure", None)
    return objective_and_residual(state.z, state.Cz, floor) if measure is None else measure()


def _told(solver: Any, steps: int, tolerance: float) -> Solver:
    """A solver that takes several steps at once is told how many it may take, and how far it has to go."""
    return solver.within(steps, tolerance) if hasattr(solver, "within") else solver


def iterate(
    operator: HermitianOperator,
    solver: Solver,
    z: NDArray,
    stopping: Stopping,
    *,
    clock: Clock | None = None,
    callback: Callback | None = None,
    give_up: Callable[[list[float], list[float]], bool] | None = None,
    first_iteration: int = 0,
    component: int = 0,
) -> Outcome:
    """Run ``solver`` from ``z`` until something of ``stopping`` is met.

    The point returned is one whose product with C is known. Unless the loop converged it is the best point
    seen, because a method may pass its best point (GPM with alpha = inf is not monotone).
    ``give_up(objectives, residuals)`` lets a pipeline hand over to another solver.
    """
    clock = Clock(stopping.max_seconds) if clock is None else clock
    tolerance = stopping.tolerance_for(operator.dtype)
    floor = rounding_floor(operator)
    light = _light_rows(operator) if getattr(solver, "finishes_light_rows", False) else None
    objectives: list[float] = []
    residuals: list[float] = []
    steps: list[float] = []
    iteration = first_iteration
    watched = callback is not None or give_up is not None

    def remaining() -> int:
        return 1 if watched else max(0, stopping.max_iterations - iteration)

    gave_up = False
    state: Any = None
    passed: tuple[tuple[float, float, float], ...] = ()
    best: tuple[float, float, State] | None = None
    try:
        state = _told(solver, remaining(), tolerance).init(operator, z)
        previous = state.z
        while True:
            objective, residual = _measured(state, floor)
            objectives.append(objective)
            residuals.append(residual)
            steps.append(norm(state.z - previous) if not passed else state.stepped)
            if best is None or _is_better(objective, residual, best[0], best[1]):
                best = (objective, residual, state)
            if callback is not None and callback(
                Progress(iteration, objective, residual, steps[-1], clock.seconds, state.z, component)
            ):
                status = Status.STOPPED_BY_CALLBACK
                break
            if residual <= tolerance and (state.exhausted or light is None or light(state) <= tolerance):
                status = Status.CONVERGED
                break
            if state.exhausted:
                status = Status.STALLED
                break
            if iteration >= stopping.max_iterations:
                status = Status.ITERATION_LIMIT
                break
            if clock.expired:
                status = Status.TIME_LIMIT
                break
            if give_up is not None and give_up(objectives, residuals):
                status, gave_up = Status.STALLED, True
                break
            previous = state.z
            state = _told(solver, remaining(), tolerance).step(operator, state)
            passed = getattr(state, "passed", ())
            for earlier, measures in zip((objectives, residuals, steps), zip(*passed, strict=True), strict=False):
                earlier.extend(measures)
            iteration += 1 + len(passed)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    history = History(np.array(objectives), np.array(residuals), np.array(steps))
    if state is None or best is None:  # interrupted inside the very first product
        unknown = np.zeros_like(z)
        return Outcome(z, unknown, float("nan"), float("nan"), Status.INTERRUPTED, iteration, history)
    if status is not Status.CONVERGED:
        state = best[2]
    objective, residual = _measured(state, floor)
    return Outcome(state.z, state.Cz, objective, residual, status, iteration, history, gave_up)
