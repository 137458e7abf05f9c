"""Ways on from a point that may not be the best one, in the order in which they are tried.

Before the proof, where measurements do not fit: other starts are tried, on large graphs region by region
(:func:`look_again`), and single measurements are turned (:func:`move_vortices`). After a proof that failed: more
starts, the witness of a refutation, the semidefinite relaxation (:data:`AFTER_THE_PROOF`). Each way takes an attempt
and gives back the same or a better one, with what is to be said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from numpy.typing import NDArray

from angsync.certificate.verdict import Verdict
from angsync.kernels.time_limit import until
from angsync.pipeline.call import Effort
from angsync.pipeline.flips import turned
from angsync.pipeline.fusion import fused
from angsync.pipeline.multistart import best_of_starts, worth_more_starts
from angsync.pipeline.open_ends import relax_what_stays_open, say_how_much_is_left, say_what_was_not_tried
from angsync.pipeline.regime import FUSE_FROM_NODES, Plan, is_drowned
from angsync.pipeline.task import FINISHED, Attempt, Task
from angsync.solvers import Newton
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.names import STARTS
from angsync.solvers.stopping import Status, Stopping
from angsync.solvers.tangent import has_vortex, reversed_share

_MOST_ESCAPES = 10  # refuted points that are left, one after the other, in one call: it bounds the work
# Further careful starts on a large graph, at most, and how many of them one after the other may find nothing: of 36
# grids and geometric graphs at 0.5 to 0.9 rad a third improved again after one that had found nothing.
_FURTHER_STARTS: dict[Effort, int] = {"low": 1, "normal": 5, "high": 12}
_IN_VAIN = 2
_ROUGH_RESIDUAL, _ROUGH_ITERATIONS = 1e-4, 60  # how far they are solved: what is made of them is polished


def look_again(task: Task, plan: Plan, attempt: Attempt, start: str | None) -> Attempt:
    """Where a measurement disagrees by more than a right angle: other starts, on large graphs region by region.

    ``start`` is the name of the start that led here. Where everything is near to everything there are no
    regions, and the plan names no other start.
    """
    if plan.alternative is None:
        return attempt
    if task.operator.n > FUSE_FROM_NODES:
        return _region_by_region(task, plan, attempt, lambda outcome: is_suspicious(task, plan, outcome))
    if start == plan.alternative:
        return attempt
    outcome, better = _also_from(task, plan.solver, plan.alternative, attempt.outcome)
    said = f"; {STARTS[plan.alternative].words} was tried as well and was {'better' if better else 'no better'}"
    return attempt.then(said, outcome=outcome)


def _region_by_region(task: Task, plan: Plan, attempt: Attempt, is_open: Callable[[Outcome], bool]) -> Attempt:
    """Solve from further careful starts, and take the better of both points region by region, as long as that helps."""
    assert plan.alternative is not None
    outcome, tried, in_vain = attempt.outcome, 0, 0
    while tried < _FURTHER_STARTS[task.call.effort] and in_vain < _IN_VAIN and is_open(outcome):
        tried += 1
        # iterations are counted from the first run on
        limit = min(task.call.stopping.max_iterations, outcome.iterations + _ROUGH_ITERATIONS)
        roughly = Stopping(tolerance=_ROUGH_RESIDUAL, max_iterations=limit)
        other = _from_start(task, plan.solver, plan.alternative, outcome, roughly)
        if other.status is Status.INTERRUPTED:
            outcome = replace(outcome, status=Status.INTERRUPTED)
            break
        outcome, better = _jumped(task, plan.solver, outcome, partial(_fused_with, task, other.z))
        in_vain = 0 if better else in_vain + 1
    if tried == 0:
        return attempt
    found = "a better point" if outcome.objective > attempt.outcome.objective else "nothing better"
    said = f"; {tried} further start(s), taken region by region where they were better, found {found}"
    return attempt.then(said, outcome=outcome, regions_compared=True)


def _fused_with(task: Task, other: NDArray, z: NDArray) -> NDArray | None:
    return fused(task.operator, z, other, task.clock)


def move_vortices(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """Where a point is still suspicious: turn single measurements; the same attempt where that finds nothing better."""
    if task.operator.n <= FUSE_FROM_NODES or not is_suspicious(task, plan, attempt.outcome):
        return attempt
    outcome, better = _jumped(task, plan.solver, attempt.outcome, lambda z: turned(task.operator, z, task.clock))
    if not better:
        return attempt if outcome.status is attempt.outcome.status else replace(attempt, outcome=outcome)
    return attempt.then("; single vortices were moved", outcome=outcome)


def is_suspicious(task: Task, plan: Plan, outcome: Outcome) -> bool:
    """A measurement that is more than a right angle off is the usual sign of a point that is not the best.

    On a large graph with little noise there may be vortices without one. Where everything is near to everything, the
    plan has no other start, and nothing is suspected.
    """
    operator = task.operator.base
    return (
        plan.alternative is not None
        and outcome.status in FINISHED
        and task.call.is_free_to_start_anywhere
        and not task.clock.expired
        and (
            reversed_share(operator, outcome.z) > 0
            or (operator.n > FUSE_FROM_NODES and has_vortex(operator, outcome.z))
        )
    )


def _jumped(
    task: Task, solver: SolverBase, outcome: Outcome, better: Callable[[NDArray], NDArray | None]
) -> tuple[Outcome, bool]:
    """The better point that a function finds from the present one, polished, and whether it found any."""
    try:
        with until(task.clock):  # out of time, the best of all runs is returned
            z = better(outcome.z)
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED), False
    if z is None:
        return outcome, False
    jumped = task.continued(solver, z, outcome, jump=True)
    return jumped, jumped.objective > outcome.objective  # in single precision a gain may be rounding


def _from_start(
    task: Task, solver: SolverBase, start: str, outcome: Outcome, stopping: Stopping | None = None
) -> Outcome:
    """Where the solver ends from another start, with other random numbers; the callback is not told."""
    try:
        with until(task.clock):
            z = STARTS[start].make_quickly(task.operator, task.rng)
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED)
    return task.joined(
        outcome, task.run(solver, z, stopping, first_iteration=outcome.iterations + 1, silent=True), jump=True
    )


def _also_from(task: Task, solver: SolverBase, start: str, outcome: Outcome) -> tuple[Outcome, bool]:
    """Solve again from another start; the better of both points, and whether it is the new one."""
    other = _from_start(task, solver, start, outcome)
    if not other.objective > outcome.objective * (1 + math.copysign(1e-14, outcome.objective)):
        stopped = other.status is Status.INTERRUPTED
        return replace(outcome, status=Status.INTERRUPTED) if stopped else outcome, False
    return other, True


def more_starts(task: Task, solver: SolverBase, attempt: Attempt) -> Attempt:
    """More starts where the solver asks for them, or, by themselves, where one run is not reliable."""
    outcome, certificate = attempt.outcome, attempt.certificate
    starts = None if task.call.solver is None else solver.starts
    free = task.call.is_free_to_start_anywhere
    if starts is None:
        # where the caller chose the start, no other is tried unless the solver asks for it
        wanted = free and task.call.effort != "low" and worth_more_starts(task.operator, outcome, certificate)
    else:
        wanted = starts > 1 and outcome.status in FINISHED
    stopped = certificate is not None and certificate.interrupted
    if not wanted or stopped or task.clock.expired:
        return attempt
    witness = None if certificate is None else certificate.witness
    if starts is None and task.call.effort == "normal" and is_drowned(task.operator, outcome.objective):
        starts = 1 + 1 + (witness is not None)  # the first run, where plain GPM goes, the witness: no rank-two rows
    best, objectives = best_of_starts(
        task,
        outcome,
        witness,
        starts=starts,
        eigenvector=task.call.solver is None or not free,  # a solver given by name began there
        solver=solver if solver.takes_further_starts else Newton(),
    )
    improved = best.objective > outcome.objective
    if improved:
        certificate = task.certify(best)
    said = f"; {len(objectives)} starts were tried, which found {'a better point' if improved else 'nothing better'}"
    return attempt.then(said, outcome=best, certificate=certificate, starts=objectives)


def starts_of_the_plan(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """Further starts of a problem that ``auto`` solves."""
    return more_starts(task, plan.solver, attempt)


def compare_regions(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """Further starts, region by region, where a large graph showed nothing suspicious and is not proved either."""
    certificate = attempt.certificate
    if (
        certificate is None
        or certificate.verdict is Verdict.CERTIFIED
        or certificate.interrupted
        or attempt.regions_compared
        or plan.alternative is None
        or task.operator.n <= FUSE_FROM_NODES
        or task.call.effort == "low"
        or not task.call.is_free_to_start_anywhere
    ):
        return attempt
    found = _region_by_region(
        task, plan, attempt, lambda outcome: outcome.status in FINISHED and not task.clock.expired
    )
    moved = found.outcome.z is not attempt.outcome.z
    return replace(found, certificate=task.certify(found.outcome)) if moved else found


def leave_refuted_points(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """Go on from the witness of every refutation, a bounded number of times."""
    outcome, certificate, escapes = attempt.outcome, attempt.certificate, 0
    while (
        certificate is not None
        and certificate.verdict is Verdict.REFUTED
        and certificate.witness is not None
        and escapes < _MOST_ESCAPES
        and outcome.status in FINISHED
        and not task.clock.expired
    ):
        escapes += 1
        outcome = task.continued(Newton(), certificate.witness.astype(task.operator.dtype), outcome, jump=True)
        certificate = task.certify(outcome)
    if escapes == 0:
        return attempt
    said = f"; left {escapes} point(s) that the certificate refuted"
    return attempt.then(said, outcome=outcome, certificate=certificate)


WayOn = Callable[[Task, Plan, Attempt], Attempt]
AFTER_THE_PROOF: tuple[WayOn, ...] = (
    starts_of_the_plan, compare_regions, leave_refuted_points, relax_what_stays_open,
    say_how_much_is_left, say_what_was_not_tried,
)  # fmt: skip
