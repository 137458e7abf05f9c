"""One connected component, from start to certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.relaxation import relax
from angsync.certificate.verdict import Certificate, Verdict, tightened
from angsync.kernels.time_limit import Earlier, OutOfTime, until
from angsync.pipeline.light_nodes import finish_light_nodes
from angsync.pipeline.regime import Plan, is_slow, plan_for
from angsync.pipeline.task import Attempt, Task
from angsync.pipeline.ways_on import (
    AFTER_THE_PROOF,
    FUSE_FROM_NODES,
    is_suspicious,
    look_again,
    more_starts,
    move_vortices,
)
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.starts.at_once import at_once, in_words
from angsync.solvers.starts.chance import leave_the_real_line
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.starts.names import STARTS
from angsync.solvers.stopping import Clock, History, Status, Stopping
from angsync.solvers.tangent import reversed_share

_CAREFUL_UP_TO_NODES = 100_000  # up to which one measurement a right angle off is reason enough for a careful start
_PRODUCTS_TO_END = 40  # a tree, its gap, the result take 25 to 35 products on grids, cubes and paths of 10^6 nodes
_MANY_REVERSED = 1e-3  # share of measurements a right angle off that makes a start a poor one
_GOOD_START = 0.99  # share of the sum of |C| from which no other start is looked for


@dataclass(frozen=True)
class Solved:
    """The answer for one component, in the units of its operator."""

    outcome: Outcome
    certificate: Certificate | None
    matvecs: int
    method: str
    starts: tuple[float, ...] | None = None
    """Objectives of all starts; None where there was only one."""


@dataclass(frozen=True)
class Start:
    """Where a run begins."""

    z: NDArray
    name: str | None
    """Its name in the tables of starts; None where the caller chose it."""
    words: str


def solve_component(task: Task) -> Solved:
    """Start, iterate, certify; with ``solver="auto"`` leave points that the certificate refutes."""
    try:
        return _solved(task, _attempt(task))
    except KeyboardInterrupt:
        return _solved(task, _cut_short(task, Status.INTERRUPTED))
    except OutOfTime:
        return _solved(task, _cut_short(task, Status.TIME_LIMIT))


def _attempt(task: Task) -> Attempt:
    plan = plan_for(task.operator.base) if task.call.solver is None else None
    with until(Earlier(task.clock, _seconds_to_end(task))):
        start = _starting_point(task, plan)
    if plan is not None:
        return _automatically(task, plan, start)
    if isinstance(task.call.solver, LowRankSDP):
        return _by_relaxation(task, task.call.solver, start)
    return _as_asked_for(task, start)


def _seconds_to_end(task: Task) -> float:
    """About what it takes to return phases where there is no start yet: a tree, its product, its gap, the result."""
    if task.clock.left is None or task.operator.sparse() is None:
        return 0.0
    begin = task.clock.seconds
    task.operator.base.apply(np.ones(task.operator.n, dtype=task.operator.dtype))  # as fast as the machine is now
    return _PRODUCTS_TO_END * (task.clock.seconds - begin)


def _cut_short(task: Task, status: Status) -> Attempt:
    """What there is where Ctrl-C or the time limit came outside every loop: the best point so far, or one at once."""
    why = "interrupted" if status is Status.INTERRUPTED else "stopped at the time limit"
    best = task.best
    if best is None:
        z = task.start.astype(task.operator.dtype) if isinstance(task.start, np.ndarray) else at_once(task.operator)
        words = "the start given" if isinstance(task.start, np.ndarray) else in_words(task.operator)
        best, said = _outcome_at(task, z), f"{words}, because the call was {why} before its start was ready"
    else:
        said = f"the best point so far, because the call was {why} in the middle of a search for a better one"
    outcome = replace(best, status=status)
    # no time for a proof, but what the misfit proves
    return Attempt(outcome, task.certify(outcome, Clock(0.0)), said)


def _solved(task: Task, attempt: Attempt) -> Solved:
    outcome, certificate = attempt.outcome, attempt.certificate
    if certificate is not None and certificate.interrupted:
        outcome = replace(outcome, status=Status.INTERRUPTED)  # an interrupted proof is an interrupted call
    return Solved(outcome, certificate, task.operator.products, attempt.method, attempt.starts)


def _as_asked_for(task: Task, start: Start) -> Attempt:
    """The solver that the caller gave, with its settings as they are."""
    solver = task.call.solver
    assert solver is not None
    outcome = task.run(solver, start.z)
    attempt = Attempt(outcome, task.certify(outcome), f"{solver} from {start.words}, as asked for")
    return more_starts(task, solver, attempt)


def _automatically(task: Task, plan: Plan, start: Start) -> Attempt:
    """Carry out the plan, certify the point, and take the ways on where the certificate refutes or leaves it open."""
    tolerance = task.call.stopping.tolerance_for(task.operator.dtype)
    give_up = is_slow(tolerance) if plan.successor is not None else None
    outcome = task.run(plan.solver, start.z, give_up=give_up)
    method = f"{plan.solver.describe()} from {start.words}, because {plan.reason}"
    if outcome.gave_up and plan.successor is not None:
        method += f"; {plan.successor.describe()} took over after {outcome.iterations} iterations, because GPM was slow"
        outcome = task.continued(plan.successor, outcome.z, outcome)
    attempt = finish_light_nodes(task, Attempt(outcome, None, method))
    if is_suspicious(task, plan, attempt.outcome):
        # A few wrong measurements look the same as vortices. A proof costs less than the search for these, and where
        # there is none to be had, it mostly ends soon.
        certificate = task.certify(attempt.outcome, search="none") if task.operator.n > FUSE_FROM_NODES else None
        if certificate is not None and (certificate.verdict is Verdict.CERTIFIED or certificate.interrupted):
            return replace(attempt, certificate=certificate)
        attempt = move_vortices(task, plan, look_again(task, plan, attempt, start.name))
    return _with_ways_on(task, plan, replace(attempt, certificate=task.certify(attempt.outcome)))


def _with_ways_on(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """The attempt after all ways on that may follow where the certificate does not prove it optimal."""
    for way in AFTER_THE_PROOF:
        attempt = way(task, plan, attempt)
    return attempt


def _by_relaxation(task: Task, solver: LowRankSDP, start: Start) -> Attempt:
    """``solver=LowRankSDP()``: the relaxation, its rounding, Newton, and both bounds in the certificate."""
    found = relax(
        task.operator,
        start.z,
        solver=solver,
        stopping=task.call.stopping,
        rng=task.rng,
        clock=task.clock,
        callback=task.callback,
        component=task.number,
    )
    outcome = task.run(Newton(), found.z.astype(task.operator.dtype), silent=True)
    outcome = replace(outcome, iterations=found.outcome.iterations, history=found.outcome.history)
    if found.outcome.status is not Status.STALLED:
        outcome = replace(outcome, status=found.outcome.status)
    certificate = task.certify(outcome)
    if certificate is not None and outcome.status is not Status.INTERRUPTED:
        certificate = tightened(certificate, task.objective(task.returned(outcome)), found.upper_bound)
    tight = "tight (rank one)" if found.tight else "not tight"
    method = f"LowRankSDP(rank={found.rows.shape[1]}) from {start.words}, as asked for; the relaxation is {tight}"
    return Attempt(outcome, certificate, method)


def _starting_point(task: Task, plan: Plan | None) -> Start:
    """The start asked for, or the best start of the plan; where that is poor, also the alternative of the plan."""
    operator, rng = task.operator, task.rng
    if isinstance(task.start, np.ndarray):
        return Start(task.start.astype(operator.dtype), None, "the start given")
    if task.start != "auto":
        z = STARTS[task.start].make(operator, rng)
        return Start(leave_the_real_line(operator, z, rng), None, f"the start '{task.start}'")
    if plan is None:  # a solver was given: it begins at the eigenvector v_C, as in the paper
        z = eigenvector_estimator(operator, rng=rng)
        return Start(leave_the_real_line(operator, z, rng), None, "the eigenvector estimator")
    z, name = _best_start(task, plan.starts)
    if plan.alternative is not None and reversed_share(operator, z) > _many_reversed(operator.n):
        task.reached[:] = [_outcome_at(task, z)]  # what is left where the time does not suffice for the other start
        other = STARTS[plan.alternative].make_quickly(operator, rng)
        if task.objective(other) > task.objective(z):
            z, name = other, plan.alternative
    return Start(leave_the_real_line(operator, z, rng), name, STARTS[name].words)


def _many_reversed(n: int) -> float:
    """Share of measurements a right angle off that makes a start a poor one: in a large graph less, as they add up.

    A pair of vortices may have a single one. Up to a size at which a careful start takes a second, it is made for that.
    """
    if n <= FUSE_FROM_NODES:
        return _MANY_REVERSED
    return 0.0 if n <= _CAREFUL_UP_TO_NODES else 0.1 * _MANY_REVERSED


def _best_start(task: Task, names: tuple[str, ...]) -> tuple[NDArray, str]:
    """The start with the largest objective, and its name; the search ends at a start that is good enough."""
    if len(names) == 1:
        return STARTS[names[0]].make_quickly(task.operator, task.rng), names[0]
    sums = task.operator.abs_row_sums()
    plenty = math.inf if sums is None else _GOOD_START * float(sums.sum())
    best: tuple[float, NDArray, str] | None = None
    for name in names:
        try:
            z = STARTS[name].make_quickly(task.operator, task.rng)
        except (KeyboardInterrupt, OutOfTime):
            if best is not None:
                task.reached[:] = [_outcome_at(task, best[1])]
            raise
        objective = task.objective(z)
        if best is None or objective > best[0]:
            best = (objective, z, name)
        # a vortex hardly shows in f, but in measurements that are reversed
        if objective >= plenty and (task.operator.n <= FUSE_FROM_NODES or reversed_share(task.operator, z) == 0):
            break
    assert best is not None
    return best[1], best[2]


def _outcome_at(task: Task, z: NDArray) -> Outcome:
    """The outcome of a run of no iterations at z."""
    return replace(iterate(task.operator.base, Newton(), z, Stopping(max_iterations=0)), history=History())
