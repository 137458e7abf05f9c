"""Solve one connected component, from start to certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.verdict import interrupted, tightened
from angsync.kernels.time_limit import Earlier, OutOfTime, until
from angsync.pipeline.light_nodes import finish_light_nodes
from angsync.pipeline.regime import FUSE_FROM_NODES, Plan, is_slow, plan_for
from angsync.pipeline.search import FINISHED, Ended, Search, is_suspicious
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.loop import iterate
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
class Start:
    """Where a run begins."""

    z: NDArray
    name: str | None
    """Its name in the tables of starts; None where the caller chose it."""
    words: str


def solve_component(search: Search) -> None:
    """Start, iterate, prove; with ``solver="auto"`` look for better points while there is no proof.

    Whatever ends the search early ends here: Ctrl-C, the callback, the time limit.
    """
    status = _ended_by(lambda: _solve(search))
    if status is not None and _ended_by(lambda: _end(search, status)) is not None:  # Ctrl-C once more
        _end(search, Status.INTERRUPTED)


def _ended_by(work: Callable[[], None]) -> Status | None:
    """Do the work; return why it did not come to its end."""
    try:
        work()
    except Ended as ended:
        return ended.status
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except OutOfTime:
        return Status.TIME_LIMIT
    return None


def _end(search: Search, status: Status) -> None:
    """Leave the best point so far, or phases that cost nothing, with what can be proved in no time."""
    if search.best is None:
        why = "interrupted" if status is Status.INTERRUPTED else "stopped at the time limit"
        if search.starting is not None:
            z, words = search.starting, f"the best point so far, because the call was {why}"
        elif isinstance(search.start, np.ndarray):
            z, words = search.start, f"the start given, because the call was {why} before its run"
        else:
            z = at_once(search.operator)
            words = f"{in_words(search.operator)}, because the call was {why} before its start was ready"
        at_z = iterate(search.operator.base, Newton(), z.astype(search.operator.dtype), Stopping(max_iterations=0))
        search.take(replace(at_z, history=History()))
        search.method = words
    search.best = replace(search.point, status=status)
    if search.certificate is None and search.call.certify:
        if status is Status.INTERRUPTED:
            search.certificate = interrupted()
        else:
            search.prove(clock=Clock(0.0) if status is Status.TIME_LIMIT else None)


def _solve(search: Search) -> None:
    solver = search.call.solver
    plan = plan_for(search.operator.base) if solver is None else None
    with until(Earlier(search.clock, _seconds_to_end(search))):
        start = _starting_point(search, plan)
    if plan is not None:
        _automatically(search, plan, start)
    elif isinstance(solver, LowRankSDP):
        _by_relaxation(search, solver, start)
    else:
        assert solver is not None
        search.method = f"{solver} from {start.words}, as asked for"
        search.take(search.run(solver, start.z))
        search.prove()
        from angsync.pipeline.restarts import restart

        restart(search, solver)
        if search.certificate is None:
            search.prove()


def _seconds_to_end(search: Search) -> float:
    """Return about what it takes to return phases where there is no start yet: a tree, its gap, the result."""
    if search.clock.left is None or search.operator.sparse() is None:
        return 0.0
    begin = search.clock.seconds
    search.operator.base.apply(np.ones(search.operator.n, dtype=search.operator.dtype))  # as fast as the machine is now
    return _PRODUCTS_TO_END * (search.clock.seconds - begin)


def _automatically(search: Search, plan: Plan, start: Start) -> None:
    """Carry out the plan, prove its point, and try what may be better while the proof is missing."""
    tolerance = search.call.stopping.tolerance_for(search.operator.dtype)
    give_up = is_slow(tolerance) if plan.successor is not None else None
    search.method = f"{plan.solver.describe()} from {start.words}, because {plan.reason}"
    outcome = search.run(plan.solver, start.z, give_up=give_up)
    search.take(outcome)
    search.started_from = start.name
    if outcome.gave_up and plan.successor is not None:
        search.goes_on(plan.successor)
        said = f"; {plan.successor.describe()} took over after {outcome.iterations} iterations, because GPM was slow"
        search.method += said
    finish_light_nodes(search)
    # A few wrong measurements look the same as vortices. A proof costs less than the search for these, and where there
    # is none to be had, it mostly ends soon.
    another = search.operator.n > FUSE_FROM_NODES or search.started_from != plan.alternative
    search.prove("none" if another and is_suspicious(search, plan) else None)
    if not search.is_certified:
        with search.clock.paused():
            from angsync.pipeline.proposals import improve

        improve(search, plan)


def _by_relaxation(search: Search, solver: LowRankSDP, start: Start) -> None:
    """``solver=LowRankSDP()``: the relaxation, its rounding, Newton, and both bounds in the certificate."""
    from angsync.certificate.certify import loosely_tied
    from angsync.certificate.relaxation import relax

    found = relax(
        search.operator,
        start.z,
        solver=solver,
        stopping=search.call.stopping,
        rng=search.rng,
        clock=search.clock,
        callback=search.callback,
        component=search.number,
    )
    tight = "tight (rank one)" if found.tight else "not tight"
    search.method = (
        f"LowRankSDP(rank={found.rows.shape[1]}) from {start.words}, as asked for; the relaxation is {tight}"
    )
    outcome = search.run(Newton(), found.z.astype(search.operator.dtype), silent=True)
    outcome = replace(outcome, iterations=found.outcome.iterations, history=found.outcome.history)
    if outcome.status in FINISHED and found.outcome.status is not Status.STALLED:
        outcome = replace(outcome, status=found.outcome.status)
    search.take(outcome)
    found.outcome.unless_interrupted()
    search.prove()
    if search.certificate is not None:
        reached = search.objective(search.returned(outcome))
        search.certificate = tightened(search.certificate, reached, found.upper_bound, loosely_tied(search.certified))


def _starting_point(search: Search, plan: Plan | None) -> Start:
    """The start asked for, or the best start of the plan; where that is poor, also the alternative of the plan."""
    operator, rng = search.operator, search.rng
    if isinstance(search.start, np.ndarray):
        return Start(search.start.astype(operator.dtype), None, "the start given")
    if search.start != "auto":
        z = STARTS[search.start].make(operator, rng)
        return Start(leave_the_real_line(operator, z, rng), None, f"the start '{search.start}'")
    if plan is None:  # a solver was given: it begins at the eigenvector v_C, as in the paper
        z = eigenvector_estimator(operator, rng=rng)
        return Start(leave_the_real_line(operator, z, rng), None, "the eigenvector estimator")
    z, name = _best_start(search, plan.starts)
    if plan.alternative is not None and reversed_share(operator, z) > _many_reversed(operator.n):
        other = STARTS[plan.alternative].make_quickly(operator, rng)
        if search.objective(other) > search.objective(z):
            z, name = other, plan.alternative
    return Start(leave_the_real_line(operator, z, rng), name, STARTS[name].words)


def _many_reversed(n: int) -> float:
    """Share of measurements a right angle off that makes a start a poor one: in a large graph less, as they add up.

    A pair of vortices may have a single one. Up to a size at which a careful start takes a second, it is made for that.
    """
    if n <= FUSE_FROM_NODES:
        return _MANY_REVERSED
    return 0.0 if n <= _CAREFUL_UP_TO_NODES else 0.1 * _MANY_REVERSED


def _best_start(search: Search, names: tuple[str, ...]) -> tuple[NDArray, str]:
    """The start with the largest objective, and its name; the search ends at a start that is good enough."""
    if len(names) == 1:
        return STARTS[names[0]].make_quickly(search.operator, search.rng), names[0]
    sums = search.operator.abs_row_sums()
    plenty = math.inf if sums is None else _GOOD_START * float(sums.sum())
    best: tuple[float, NDArray, str] | None = None
    for name in names:
        z = STARTS[name].make_quickly(search.operator, search.rng)
        objective = search.objective(z)
        if best is None or objective > best[0]:
            best = (objective, z, name)
            search.starting = z
        # a vortex hardly shows in f, but in measurements that are reversed
        if objective >= plenty and (search.operator.n <= FUSE_FROM_NODES or reversed_share(search.operator, z) == 0):
            break
    assert best is not None
    return best[1], best[2]
