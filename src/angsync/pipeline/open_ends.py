"""What is said, and proved, about a point that stays open when all ways on are tried: the last of the ways."""

from __future__ import annotations

import math
from dataclasses import replace

from angsync.certificate.relaxation import relax
from angsync.certificate.verdict import Certificate, Verdict, tightened
from angsync.pipeline.call import Effort
from angsync.pipeline.regime import Plan, is_drowned, witness_search
from angsync.pipeline.task import FINISHED, Attempt, Task
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.loop import Outcome
from angsync.solvers.stopping import Status, Stopping

# Up to how many nodes the relaxation is tried by itself where the certificate stays open, and how far it is solved. Any
# point gives a valid bound. At 1e-3 the gap is 0 to 15 % larger than at 1e-5, and costs a third to a sixth.
_RELAX: dict[Effort, tuple[int, Stopping]] = {
    "low": (0, Stopping()),
    "normal": (600, Stopping(tolerance=1e-3, max_iterations=60)),
    "high": (2000, Stopping(tolerance=1e-5, max_iterations=60)),
}


_ALL_BUT_PROVED = 1e-5  # relative gap below which only the last digits of a proof are missing


def relax_what_stays_open(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
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


def say_how_much_is_left(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """The gap of a point that stays open on a slow graph, as far as some factorizations tell."""
    certificate = attempt.certificate
    if (
        certificate is None
        or certificate.verdict is not Verdict.UNDECIDED
        or certificate.interrupted
        or certificate.method != "factorization"  # not where the relaxation has said more
        or task.call.effort == "low"
        or task.clock.expired
    ):
        return attempt
    again = task.certify(attempt.outcome, search="none", tighten=True)
    assert again is not None  # a certificate was asked for
    if again.interrupted:  # what was known before is kept
        return replace(attempt, outcome=replace(attempt.outcome, status=Status.INTERRUPTED))
    return replace(attempt, certificate=again) if again.gap_bound < certificate.gap_bound else attempt


def say_what_was_not_tried(task: Task, plan: Plan, attempt: Attempt) -> Attempt:
    """The certificate of a point that stays open, with what was left out."""
    certificate, effort = attempt.certificate, task.call.effort
    if certificate is None or certificate.verdict is not Verdict.UNDECIDED or certificate.interrupted:
        return attempt
    out = []
    if task.clock.expired:
        out.append("what the time limit left no time for")
    if effort == "low":
        out += ["further starts", "ways out of the point"]
    elif witness_search(task.operator.base, task.call, attempt.outcome.z) == "short":
        out.append("the lift to rank two")
    if effort == "normal" and is_drowned(task.operator, attempt.outcome.objective):
        out.append("starts from rank-two rows, because with so much noise a better fit is no better estimate")
    if not certificate.method.endswith("+relaxation"):
        out.append("the semidefinite relaxation")
    if out and effort != "high":
        out[-1] += " (effort high)" if effort == "normal" else " (effort normal)"
    return replace(attempt, certificate=replace(certificate, untried=", ".join(out)))
