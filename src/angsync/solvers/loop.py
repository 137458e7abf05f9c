"""The one loop: stopping, history, callback, time limit, interruption. Solvers only know how to step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.time_limit import OutOfTime, until
from angsync.problem.operators import HermitianOperator, Operator, adapted
from angsync.problem.residual import along_and_across, norm, rounding_floor
from angsync.solvers.base import Measures, Solver, SolverBase, StateBase, as_solver
from angsync.solvers.stopping import Callback, Clock, History, Progress, Status, Stopping

UNEVEN_RATIO = 1e3
"""Of the largest and the smallest row sum, from which light rows have a residual, and a proof, of their own."""


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

    def unless_interrupted(self) -> Outcome:
        """The outcome itself; KeyboardInterrupt where Ctrl-C ended the loop, for callers that ask no further."""
        if self.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return self


LIGHT_RADIANS = 1e-6
"""A step that no longer shows in f ends the loop; where nodes of small weight are then farther off, it has stalled."""


def is_even(sums: NDArray[np.float64]) -> bool:
    """Whether all rows weigh much the same."""
    return not sums.max() > UNEVEN_RATIO * sums.min()


def _light_rows(operator: Operator) -> Callable[[StateBase], float] | None:
    """A second residual for graphs whose row sums differ a lot; None where all rows weigh much the same.

    The usual residual is relative to the largest rows: a part of the graph with small weights may be far off without
    showing in it. The second residual is the root mean square of ``b_j / sum |C_jl|``, in radians: how far each node is
    from where its neighbors want it.
    """
    sums = operator.abs_row_sums()
    if sums is None or sums.size == 0 or is_even(sums):
        return None
    inverse = 1 / np.where(sums > 0, sums, np.inf)
    return lambda state: norm(along_and_across(state.z, state.Cz)[1] * inverse) / np.sqrt(sums.size)


def _is_better(objective: float, residual: float, best_objective: float, best_residual: float) -> bool:
    """Larger objective; where rounding cannot tell them apart, the smaller residual."""
    noise = 1e-14 * abs(best_objective)
    return objective > best_objective + noise or (objective >= best_objective - noise and residual < best_residual)


class _Trail:
    """What the loop has seen so far: the history, and the best point."""

    def __init__(self) -> None:
        self.objectives: list[float] = []
        self.residuals: list[float] = []
        self.steps: list[float] = []
        self.best: tuple[float, float, StateBase] | None = None

    def add(self, state: StateBase, previous: NDArray, objective: float, residual: float) -> None:
        """Add a state. ``previous`` is the point of the last state; it gives the step where no iterates lie between."""
        self.objectives.append(objective)
        self.residuals.append(residual)
        self.steps.append(state.last_step_length if state.intermediate else norm(state.z - previous))
        if self.best is None or _is_better(objective, residual, self.best[0], self.best[1]):
            self.best = (objective, residual, state)

    def pass_by(self, iterates: tuple[Measures, ...]) -> None:
        """Add the iterates inside one call of the solver, of which only the measures are known."""
        for objective, residual, step in iterates:
            self.objectives.append(objective)
            self.residuals.append(residual)
            self.steps.append(step)

    def history(self) -> History:
        """Return the iterates that were added as a whole: Ctrl-C may come between any two lines."""
        columns = self.objectives, self.residuals, self.steps
        count = min(map(len, columns))
        return History(*(np.array(column[:count]) for column in columns))


def iterate(
    operator: HermitianOperator,
    solver: Solver | SolverBase,
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
    operator, solver = adapted(operator), as_solver(solver)
    tolerance = stopping.tolerance_for(operator.dtype)
    floor = rounding_floor(operator)
    light = _light_rows(operator) if solver.finishes_light_rows else None
    watched = callback is not None or give_up is not None  # a callback or a rule has to see every iterate
    iteration = first_iteration
    trail = _Trail()
    state: StateBase | None = None
    gave_up = False
    try:
        most_steps = 1 if watched else max(0, stopping.max_iterations - iteration)
        state = solver.limited_to(most_steps, tolerance).init(operator, z)
        previous = state.z
        while True:
            objective, residual = state.measured(floor)
            trail.add(state, previous, objective, residual)
            if state.ended_by is not None:
                raise state.ended_by
            if callback is not None and callback(
                Progress(iteration, objective, residual, trail.steps[-1], clock.seconds, state.z, component)
            ):
                status = Status.STOPPED_BY_CALLBACK
                break
            ended = _ending(state, residual, tolerance, light, iteration, stopping, clock)
            if ended is not None:
                status = ended
                break
            if give_up is not None and give_up(trail.objectives, trail.residuals):
                status, gave_up = Status.STALLED, True
                break
            previous = state.z
            most_steps = 1 if watched else max(0, stopping.max_iterations - iteration)
            with until(clock):
                state = solver.limited_to(most_steps, tolerance).step(operator, state)
            trail.pass_by(state.intermediate)
            iteration += 1 + len(state.intermediate)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except OutOfTime:
        if trail.best is None:  # inside the very first product, on the clock of a caller, who knows what to do
            raise
        status = Status.TIME_LIMIT  # in the middle of a step
    if state is None or trail.best is None:  # interrupted inside the very first product
        return Outcome(z, np.zeros_like(z), math.nan, math.nan, Status.INTERRUPTED, iteration, trail.history())
    if status is not Status.CONVERGED and not (state.exhausted and state.measured(floor)[1] <= tolerance):
        # a state that only light nodes keep from convergence is the best one, whatever f says
        objective, residual, state = trail.best
    else:
        objective, residual = trail.objectives[-1], trail.residuals[-1]
    history = trail.history()
    iteration = first_iteration + history.objective.size - 1
    return Outcome(state.z, state.Cz, objective, residual, status, iteration, history, gave_up)


def _ending(
    state: StateBase,
    residual: float,
    tolerance: float,
    light: Callable[[StateBase], float] | None,
    iteration: int,
    stopping: Stopping,
    clock: Clock,
) -> Status | None:
    """Why the loop ends at this state; None where it goes on."""
    if residual <= tolerance:
        rest = 0.0 if light is None else light(state)
        if rest <= tolerance or (state.exhausted and rest <= LIGHT_RADIANS):
            return Status.CONVERGED
    if state.exhausted:
        return Status.STALLED
    if iteration >= stopping.max_iterations:
        return Status.ITERATION_LIMIT
    if clock.expired:
        return Status.TIME_LIMIT
    return None
