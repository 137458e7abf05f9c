"""The one loop: stopping, history, callback, time limit, interruption. Solvers only know how to step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.measure import norm, objective_and_residual, rounding_floor, split
from angsync.problem.operators import HermitianOperator
from angsync.solvers.base import Solver, State
from angsync.solvers.stopping import Callback, Clock, History, Progress, Status, Stopping

_UNEVEN = 1e3  # ratio of row sums from which small rows are looked at for themselves


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
