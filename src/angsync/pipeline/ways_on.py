"""Ways on from a point that may not be the best one, in the order in which they are tried.

Before the proof: neighbourhoods of measurements that do not fit are solved again, another start is tried
(:func:`look_again`), and single measurements are turned (:func:`move_vortices`). After a proof that failed: more
starts, the witness of a refutation, the semidefinite relaxation (:data:`AFTER_THE_PROOF`). Each way takes an attempt
and gives back the same or a better one, with what is to be said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from numpy.typing import NDArray

from angsync.certificate.relaxation import relax
from angsync.certificate.verdict import Certificate, Verdict, tightened
from angsync.kernels.time_limit import until
from angsync.pipeline.call import Effort
from angsync.pipeline.multistart import best_of_starts, worth_more_starts
from angsync.pipeline.regime import Plan, witness_search
from angsync.pipeline.repair import repaired, turned
from angsync.pipeline.task import FINISHED, Attempt, Task
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.names import CAREFUL, STARTS
from angsync.solvers.stopping import Status, Stopping
from angsync.solvers.tangent import has_vortex, reversed_share

_MOST_ESCAPES = 10  # refuted points that are left, one after the other, in one call: it bounds the work
REPAIR_FROM_NODES = 2000  # below, another start for the whole is as cheap
MANY_REVERSED = 1e-3  # share of measurements a right angle off that makes a point a poor one
# Up to how many nodes the relaxation is tried by itself where the certificate stays open, and how far it is solved. Any
# point gives a valid bound. At 1e-3 the gap is 0 to 15 % larger than at 1e-5, and costs a third to a sixth.
_RELAX: dict[Effort, tuple[int, Stopping]] = {
    "low": (0, Stopping()),
    "normal": (600, Stopping(tolerance=1e-3, max_iterations=60)),
    "high": (2000, Stopping(tolerance=1e-5, max_iterations=60)),
}


_ALL_BUT_PROVED = 1e-5  # relative gap below which only the last digits of a proof are missing


def look_again(task: Task, plan: Plan, attempt: Attempt, start: str | None) -> Attempt:
    """Where a measurement disagrees by more than a right angle: repair its neighbourhood, or try another start.

    ``start`` is the name of the start that led here. Where everything is near to everything there are no
    neighbourhoods, and the plan names no other start.
    """
    if plan.alternative is None or not _is_suspicious(task, attempt.outcome):
        return attempt
    untried = start != plan.alternative
    if task.operator.n > REPAIR_FROM_NODES:
        outcome, better = _jumped(
            task, plan.solver, attempt.outcome, lambda z: repaired(task.operator, z, task.rng, task.clock)
        )
        said = "; what did not fit was " + ("repaired locally" if better else "looked at again in vain")
        attempt = attempt.then(said, outcome=outcome)
        untried = start != CAREFUL and _is_suspicious(task, outcome) and _is_far_off(task, outcome)
    if not untried:
        return attempt
    outcome, better = also_from(task, plan.solver, plan.alternative, attempt.outcome)
    said = f"; {STARTS[plan.alternative].words} was tried as well and was {'better' if better else 'no better'}"
    return attempt.then(said, outcome=outcome)


def move_vortices(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """Where a point is still suspicious: turn single measurements; the same attempt where that finds nothing better."""
    small = task.operator.n <= REPAIR_FROM_NODES
    if plan.alternative is None or small or not _is_suspicious(task, attempt.outcome):
        return attempt
    outcome, better = _jumped(task, plan.solver, attempt.outcome, lambda z: turned(task.operator, z, task.clock))
    if not better:
        return attempt if outcome.status is attempt.outcome.status else replace(attempt, outcome=outcome)
    return attempt.then("; single vortices were moved", outcome=outcome)


def _is_suspicious(task: Task, outcome: Outcome) -> bool:
    """A measurement that is more than a right angle off is the usual sign of a point that is not the best.

    On a large graph with little noise there may be vortices without one.
    """
    operator = task.operator.base
    return (
        outcome.status in FINISHED
        and task.call.is_free_to_start_anywhere
        and not task.clock.expired
        and (
            reversed_share(operator, outcome.z) > 0
            or (operator.n > REPAIR_FROM_NODES and has_vortex(operator, outcome.z))
        )
    )


def _is_far_off(task: Task, outcome: Outcome) -> bool:
    """Whether repairs left so much that another start for the whole is worth its time."""
    operator = task.operator.base
    return reversed_share(operator, outcome.z) > MANY_REVERSED or has_vortex(operator, outcome.z)


def _jumped(
    task: Task, solver: SolverBase, outcome: Outcome, better: Callable[[NDArray], NDArray | None]
) -> tuple[Outcome, bool]:
    """The better point that a function finds from the present one, polished, and whether it found any."""
    try:
        with until(task.clock):  # out of time, the best of all runs is returned
            z = task.remembered(lambda: better(outcome.z))
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED), False
    if z is None:
        return outcome, False
    return task.continued(solver, z, outcome, jump=True), True


def also_from(task: Task, solver: SolverBase, start: str, outcome: Outcome) -> tuple[Outcome, bool]:
    """Solve again from another start; the better of both points, and whether it is the new one."""
    try:
        with until(task.clock):
            z = task.remembered(lambda: STARTS[start].make_quickly(task.operator, task.rng))
        assert z is not None
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED), False
    other = task.run(solver, z, first_iteration=outcome.iterations + 1, silent=True)
    if other.objective <= outcome.objective * (1 + math.copysign(1e-14, outcome.objective)):
        if other.status is Status.INTERRUPTED:
            return replace(outcome, status=Status.INTERRUPTED), False
        return outcome, False
    return replace(other, history=outcome.history.followed_by(other.history, jump=True)), True


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
    best, objectives = best_of_starts(
        task,
        outcome,
        None if certificate is None else certificate.witness,
        starts=starts,
        eigenvector=task.call.solver is None or not free,  # a solver given by name began there
        solver=solver if solver.takes_further_starts else Newton(),
    )
    improved = best.objective > outcome.objective
    if improved:
        certificate = task.certify(best)
    said = f"; {len(objectives)} starts were tried, which found {'a better point' if improved else 'nothing better'}"
    return attempt.then(said, outcome=best, certificate=certificate, starts=objectives)


def leave_refuted_points(task: Task, solver: SolverBase, attempt: Attempt) -> Attempt:
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


def relax_what_stays_open(task: Task, solver: SolverBase, attempt: Attempt) -> Attempt:
    """Tighten the gap by the semidefinite relaxation; go on from its rounding where that is better."""
    outcome, certificate = attempt.outcome, attempt.certificate
    if certificate is None or not _is_worth_relaxing(task, outcome, certificate):
        return attempt
    found, improved = None, False
    try:
        found = relax(
            task.operator, outcome.z, solver=LowRankSDP(), stopping=_relaxed_so_far(task, certificate),
            clock=task.clock, rng=task.rng,
        )  # fmt: skip
    except KeyboardInterrupt:
        outcome = replace(outcome, status=Status.INTERRUPTED)
    if found is not None and found.outcome.status is Status.INTERRUPTED:
        outcome = replace(outcome, status=Status.INTERRUPTED)
    if found is not None:
        here = task.objective(task.returned(outcome))
        improved = task.objective(found.z) > here + 4 * certificate.rounding
        if improved:
            outcome = task.continued(Newton(), found.z.astype(task.operator.dtype), outcome, jump=True)
            again = task.certify(outcome)
            assert again is not None
            certificate, here = again, task.objective(task.returned(outcome))
        certificate = tightened(certificate, here, found.upper_bound)
    said = "; the semidefinite relaxation gave " + ("a better point and " if improved else "") + "the bound"
    return attempt.then(said, outcome=outcome, certificate=certificate)


def _relaxed_so_far(task: Task, certificate: Certificate) -> Stopping:
    """How far the relaxation is solved: to the end where the point is all but proved and a rough bound says less."""
    all_but_proved = certificate.gap_bound <= _ALL_BUT_PROVED * certificate.scale
    return _RELAX["high" if all_but_proved else task.call.effort][1]


def _is_worth_relaxing(task: Task, outcome: Outcome, certificate: Certificate) -> bool:
    """Whether the relaxation may prove more: S has a negative eigenvalue, and the problem is not too large."""
    return (
        certificate.verdict is Verdict.UNDECIDED
        and -math.inf < certificate.lambda_min < 0
        and outcome.status in FINISHED
        and task.operator.n <= _RELAX[task.call.effort][0]
        and not task.clock.expired
    )


def say_what_was_not_tried(task: Task, solver: SolverBase, attempt: Attempt) -> Attempt:
    """The certificate of a point that stays open, with what was left out."""
    certificate, effort = attempt.certificate, task.call.effort
    if certificate is None or certificate.verdict is not Verdict.UNDECIDED or certificate.interrupted:
        return attempt
    out = []
    if task.clock.expired:
        out.append("what max_seconds left no time for")
    if effort == "low":
        out += ["further starts", "ways out of the point"]
    elif witness_search(task.operator.base, task.call) == "short":
        out.append("the lift to rank two")
    if not certificate.method.endswith("+relaxation"):
        out.append("the semidefinite relaxation")
    if out and effort != "high":
        out[-1] += " (effort='high')" if effort == "normal" else " (effort='normal')"
    return replace(attempt, certificate=replace(certificate, untried=", ".join(out)))


WayOn = Callable[[Task, SolverBase, Attempt], Attempt]
AFTER_THE_PROOF: tuple[WayOn, ...] = (
    more_starts, leave_refuted_points, relax_what_stays_open, say_what_was_not_tried,
)  # fmt: skip
