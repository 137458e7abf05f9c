"""One connected component, from start to certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.certify import certify_component
from angsync.certificate.relaxation import relax
from angsync.certificate.verdict import TOLERANCE, Certificate, Verdict, interrupted, tightened
from angsync.pipeline.multistart import best_of_starts, worth_more_starts
from angsync.pipeline.regime import Plan, choose, is_slow
from angsync.pipeline.repair import repaired
from angsync.problem.measure import split
from angsync.problem.operators import CountingOperator, DenseOperator, HermitianOperator, Operator, row_length
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.base import Solver, as_solver
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.starts.chance import leave_the_real_line
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.starts.names import CAREFUL, STARTS
from angsync.solvers.stopping import Callback, Clock, History, Status, Stopping
from angsync.solvers.tangent import reversed_share

_MAX_ESCAPES = 10
_REUSE_FROM = 400  # order of a dense problem from which a product is worth saving
_RELAX_UP_TO = 600  # order up to which the relaxation is tried by itself where the certificate stays open
_GOOD_START = 0.99  # share of the sum of |C| from which no other start is looked for
_REPAIR_FROM = 2000  # nodes; below, another start for the whole is as cheap
_MANY_REVERSED = 1e-3  # share of measurements a right angle off at the start that makes it a poor one
_RELAXED = Stopping(tolerance=1e-5, max_iterations=60)  # any point gives a valid bound; this one is within 1e-4


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
class Request:
    """What the caller of ``synchronize`` asked for, the same for every component."""

    solver: Solver | None
    """None: choose."""
    start: str | NDArray
    stopping: Stopping
    certify: bool
    callback: Callback | None
    clock: Clock
    rng: np.random.Generator
    settle: Callable[[NDArray], NDArray] = lambda z: z
    """Brings the phases of the component into the gauge and precision in which they are returned. What is certified is
    that point: in single precision turning it moves every phase by 6e-8, which a gap can be smaller than."""


def solve_component(operator: Operator, certified_operator: Operator, request: Request, component: int) -> Solved:
    """Start, iterate, certify; with ``solver="auto"`` leave points that the certificate refutes."""
    counting = CountingOperator(operator)
    plan = choose(operator, row_length(operator)) if request.solver is None else None
    try:
        starts, alternative = (plan.starts, plan.alternative) if plan else (("eigenvector",), None)
        z, start_name = _starting_point(counting, request, starts, alternative)
    except KeyboardInterrupt:
        z = np.ones(operator.n, dtype=operator.dtype)
        outcome = replace(_at(operator, z), status=Status.INTERRUPTED)
        return Solved(outcome, _unproved(request), counting.products, "interrupted before the first iteration")
    loop: dict[str, Any] = {"clock": request.clock, "callback": request.callback, "component": component}
    if isinstance(request.solver, LowRankSDP):
        outcome, certificate, method, starts_tried = _by_relaxation(counting, z, start_name, request, loop)
    elif plan is None:
        assert request.solver is not None
        outcome = iterate(counting, request.solver, z, request.stopping, **loop)
        method = f"{request.solver} from {start_name}, as asked for"
        certificate = _certify(certified_operator, outcome, request)
        outcome, certificate, said, starts_tried = _more_starts(
            counting, request.solver, outcome, certificate, request, loop
        )
        method += said
    else:
        outcome, certificate, method, starts_tried = _automatically(counting, plan, z, start_name, request, loop)
    return Solved(_settled(outcome, certificate), certificate, counting.products, method, starts_tried)


Answer = tuple[Outcome, Certificate | None, str, tuple[float, ...] | None]


def _automatically(
    counting: CountingOperator, plan: Plan, z: NDArray, start_name: str, request: Request, loop: dict[str, Any]
) -> Answer:
    """The plan, then the certificate, then the ways out of whatever it refutes or leaves open."""
    operator = counting.base
    tolerance = request.stopping.tolerance_for(operator.dtype)
    give_up = is_slow(tolerance) if plan.successor is not None else None
    outcome = iterate(counting, plan.solver, z, request.stopping, give_up=give_up, **loop)
    method = f"{plan.solver.describe()} from {start_name}, because {plan.reason}"
    if outcome.gave_up and plan.successor is not None:
        method += f"; {plan.successor.describe()} took over after {outcome.iterations} iterations, because GPM was slow"
        outcome = _continued(counting, plan.successor, outcome.z, outcome, request, loop)
    # where everything is near to everything there are no neighbourhoods, and the plan names no other start
    local = operator.n > _REPAIR_FROM and plan.alternative is not None
    if local and _worth_another_start(operator, outcome, request):
        outcome, better = _repaired(counting, plan, outcome, request, loop)
        method += "; what did not fit was " + ("repaired locally" if better else "looked at again in vain")
        untried = reversed_share(operator, outcome.z) > _MANY_REVERSED and start_name != STARTS[CAREFUL].words
    else:
        untried = plan.alternative is not None and start_name != STARTS[plan.alternative].words
    if untried and plan.alternative is not None and _worth_another_start(operator, outcome, request):
        outcome, better = _also_from(counting, plan, outcome, request, loop)
        tried = STARTS[plan.alternative].words
        method += f"; {tried} was tried as well and was {'better' if better else 'no better'}"
    certificate = _certify(operator, outcome, request)
    outcome, certificate, said, starts_tried = _more_starts(counting, plan.solver, outcome, certificate, request, loop)
    method += said
    escapes = 0
    while (
        certificate is not None
        and certificate.verdict is Verdict.REFUTED
        and certificate.witness is not None
        and escapes < _MAX_ESCAPES
        and outcome.status in (Status.CONVERGED, Status.STALLED)
        and not request.clock.expired
    ):
        escapes += 1
        outcome = _continued(
            counting, Newton(), certificate.witness.astype(operator.dtype), outcome, request, loop, jump=True
        )
        certificate = _certify(operator, outcome, request)
    if escapes:
        method += f"; left {escapes} point(s) that the certificate refuted"
    if _worth_relaxing(operator, outcome, certificate, request):
        assert certificate is not None
        outcome, certificate, improved = _with_relaxation(counting, outcome, certificate, request, loop)
        method += "; the semidefinite relaxation gave " + ("a better point and " if improved else "") + "the bound"
    return outcome, certificate, method, starts_tried


def _more_starts(
    counting: CountingOperator,
    solver: Solver,
    outcome: Outcome,
    certificate: Certificate | None,
    request: Request,
    loop: dict[str, Any],
) -> Answer:
    """More starts where the solver asks for them, or, by itself, where one run is not reliable; what to say of it."""
    starts = None if request.solver is None else as_solver(solver).starts
    free = isinstance(request.start, str) and request.start == "auto"
    if starts is None:
        # a start that was asked for is kept to
        wanted = free and worth_more_starts(counting, outcome, certificate)
    else:
        wanted = starts > 1 and outcome.status in (Status.CONVERGED, Status.STALLED)
    stopped = certificate is not None and certificate.interrupted
    if not wanted or stopped or request.clock.expired:
        return outcome, certificate, "", None
    witness = None if certificate is None else certificate.witness
    again = solver if as_solver(solver).takes_further_starts else Newton()
    best, objectives = best_of_starts(
        counting,
        outcome,
        witness,
        starts=starts,
        eigenvector=request.solver is None or not free,  # a solver given by name began there
        solver=again,
        stopping=request.stopping,
        rng=request.rng,
        **loop,
    )
    improved = best.objective > outcome.objective
    if improved:
        certificate = _certify(counting.base, best, request)
    found = "a better point" if improved else "nothing better"
    return best, certificate, f"; {len(objectives)} starts were tried, which found {found}", objectives


def _worth_another_start(operator: HermitianOperator, outcome: Outcome, request: Request) -> bool:
    """Where a measurement disagrees by more than a right angle: the usual sign of a point that is not the best."""
    return (
        outcome.status in (Status.CONVERGED, Status.STALLED)
        and isinstance(request.start, str)
        and request.start == "auto"
        and not request.clock.expired
        and reversed_share(operator, outcome.z) > 0
    )


def _repaired(
    counting: CountingOperator, plan: Plan, outcome: Outcome, request: Request, loop: dict[str, Any]
) -> tuple[Outcome, bool]:
    """The point with its defects repaired and polished, and whether there was anything to repair."""
    try:
        z = repaired(counting, outcome.z, request.rng, request.clock)
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED), False
    if z is None:
        return outcome, False
    return _continued(counting, plan.solver, z, outcome, request, loop, jump=True), True


def _also_from(
    counting: CountingOperator, plan: Plan, outcome: Outcome, request: Request, loop: dict[str, Any]
) -> tuple[Outcome, bool]:
    """Solve again from the alternative start; the better of both points, and whether it is the new one."""
    assert plan.alternative is not None
    try:
        z = STARTS[plan.alternative].make_quickly(counting, request.rng)
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED), False
    quiet = {**loop, "callback": None}
    other = iterate(counting, plan.solver, z, request.stopping, first_iteration=outcome.iterations + 1, **quiet)
    if other.objective <= outcome.objective * (1 + math.copysign(1e-14, outcome.objective)):
        if other.status is Status.INTERRUPTED:
            return replace(outcome, status=Status.INTERRUPTED), False
        return outcome, False
    return replace(other, history=outcome.history.followed_by(other.history, jump=True)), True


def _worth_relaxing(
    operator: HermitianOperator, outcome: Outcome, certificate: Certificate | None, request: Request
) -> bool:
    """Where the point itself proves nothing: undecided because S has a negative eigenvalue, and not too large."""
    return (
        certificate is not None
        and certificate.verdict is Verdict.UNDECIDED
        and -math.inf < certificate.lambda_min < 0
        and outcome.status in (Status.CONVERGED, Status.STALLED)
        and operator.n <= _RELAX_UP_TO
        and not request.clock.expired
    )


def _with_relaxation(
    counting: CountingOperator, outcome: Outcome, certificate: Certificate, request: Request, loop: dict[str, Any]
) -> tuple[Outcome, Certificate | None, bool]:
    """Tighten the gap by the relaxation; go on from its rounding where that is better."""
    try:
        found = relax(counting, outcome.z, solver=LowRankSDP(), stopping=_RELAXED, clock=request.clock, rng=request.rng)
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED), certificate, False
    here = _objective(counting, _returned(outcome, request))
    improved = _objective(counting, found.z) > here + 4 * certificate.rounding
    if improved:
        outcome = _continued(counting, Newton(), found.z.astype(counting.dtype), outcome, request, loop, jump=True)
        again = _certify(counting.base, outcome, request)
        assert again is not None
        certificate = again
        here = _objective(counting, _returned(outcome, request))
    return outcome, tightened(certificate, here, found.upper_bound), improved


def _by_relaxation(
    counting: CountingOperator, z: NDArray, start_name: str, request: Request, loop: dict[str, Any]
) -> Answer:
    """``solver=LowRankSDP()``: the relaxation, its rounding, Newton, and both bounds in the certificate."""
    assert isinstance(request.solver, LowRankSDP)
    found = relax(counting, z, solver=request.solver, stopping=request.stopping, rng=request.rng, **loop)
    polish = {**loop, "callback": None}
    outcome = iterate(counting, Newton(), found.z.astype(counting.dtype), request.stopping, **polish)
    outcome = replace(outcome, iterations=found.outcome.iterations, history=found.outcome.history)
    if found.outcome.status is not Status.STALLED:
        outcome = replace(outcome, status=found.outcome.status)
    certificate = _certify(counting.base, outcome, request)
    if certificate is not None and outcome.status is not Status.INTERRUPTED:
        here = _objective(counting, _returned(outcome, request))
        certificate = tightened(certificate, here, found.upper_bound)
    rank = found.rows.shape[1]
    tight = "tight (rank one)" if found.tight else "not tight"
    method = f"LowRankSDP(rank={rank}) from {start_name}, as asked for; the relaxation is {tight}"
    return outcome, certificate, method, None


def _starting_point(
    operator: HermitianOperator, request: Request, names: tuple[str, ...], alternative: str | None = None
) -> tuple[NDArray, str]:
    """The best of the starts named, and its name in words; the alternative too where the best is poor."""
    if isinstance(request.start, np.ndarray):
        return request.start.astype(operator.dtype), "the start given"
    if request.start != "auto":
        z = STARTS[request.start].make(operator, request.rng)
        return leave_the_real_line(operator, z, request.rng), f"the start '{request.start}'"
    if request.solver is not None:  # an explicit solver is literal: the paper starts at v_C
        z = eigenvector_estimator(operator, rng=request.rng)
        return leave_the_real_line(operator, z, request.rng), "the eigenvector estimator"
    best: tuple[float, NDArray, str] | None = None
    sums = operator.abs_row_sums()
    plenty = math.inf if sums is None else _GOOD_START * float(sums.sum())
    for name in names:
        z = STARTS[name].make_quickly(operator, request.rng)
        objective = _objective(operator, z) if len(names) > 1 else 0.0
        if best is None or objective > best[0]:
            best = (objective, z, STARTS[name].words)
        if objective >= plenty:
            break
    assert best is not None
    if alternative is not None and reversed_share(operator, best[1]) > _MANY_REVERSED:
        z = STARTS[alternative].make_quickly(operator, request.rng)
        if _objective(operator, z) > _objective(operator, best[1]):
            best = (0.0, z, STARTS[alternative].words)
    return leave_the_real_line(operator, best[1], request.rng), best[2]


def _continued(
    operator: HermitianOperator,
    solver: Solver,
    z: NDArray,
    earlier: Outcome,
    request: Request,
    loop: dict[str, Any],
    *,
    jump: bool = False,
) -> Outcome:
    """Go on with another solver, as one history: from the same point, or after a jump (an iteration of its own)."""
    first = earlier.iterations + (1 if jump else 0)
    later = iterate(operator, solver, z, request.stopping, first_iteration=first, **loop)
    return replace(later, history=earlier.history.followed_by(later.history, jump=jump))


def _at(operator: HermitianOperator, z: NDArray) -> Outcome:
    """A point as an outcome without any iteration."""
    return replace(iterate(operator, Newton(), z, Stopping(max_iterations=0)), history=History())


def _certify(operator: HermitianOperator, outcome: Outcome, request: Request) -> Certificate | None:
    if not request.certify:
        return None
    if outcome.status is Status.INTERRUPTED:
        return _unproved(request)
    z = _returned(outcome, request)
    # our own solvers compute the product at every point they keep anew, with the operator that is certified
    known = request.solver is None and is_worth_saving(operator, outcome)
    try:
        return certify_component(
            operator,
            z,
            tolerance=TOLERANCE,
            method="auto",
            clock=request.clock,
            rng=request.rng,
            turned_product=turned_product(outcome, z) if known else None,
        )
    except KeyboardInterrupt:
        return _unproved(request)


def turned_product(outcome: Outcome, z: NDArray) -> NDArray:
    """The product at z, which is the point of the outcome turned as a whole."""
    return outcome.Cz * (z * np.conj(outcome.z)).mean()


def is_worth_saving(operator: HermitianOperator, outcome: Outcome) -> bool:
    """Whether a product is dear: of a large dense matrix in double precision."""
    base = getattr(operator, "base", None)
    large = isinstance(base, DenseOperator) and base.dtype == np.complex128 and operator.n >= _REUSE_FROM
    return large and not math.isnan(outcome.objective)  # interrupted inside its very first product, there is none


def _returned(outcome: Outcome, request: Request) -> NDArray:
    """The point that the caller will get, with unit modulus in double precision."""
    z = request.settle(outcome.z).astype(np.complex128)
    return z / np.abs(z)


def _objective(operator: HermitianOperator, z: NDArray) -> float:
    """f(z) in double precision, whatever the precision of the problem."""
    return float(split(z, operator.apply(z))[0].sum())


def _unproved(request: Request) -> Certificate | None:
    return interrupted() if request.certify else None


def _settled(outcome: Outcome, certificate: Certificate | None) -> Outcome:
    """An interruption of the certificate is an interruption of the whole."""
    if certificate is not None and certificate.interrupted:
        return replace(outcome, status=Status.INTERRUPTED)
    return outcome
