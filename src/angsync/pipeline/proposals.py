"""Proposals of better points, in the order in which they are tried while the best one is not proved.

A proposal is a function of the search and its plan: it makes phases, lets :meth:`Search.improves` polish them and keep
what is better, and adds to ``method`` what it did. A new one is a function and a row of :data:`PROPOSALS`.
Most points are proved at once, so that nothing in here is loaded before one is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from angsync.certificate.certify import loosely_tied
from angsync.certificate.relaxation import relax
from angsync.certificate.verdict import Certificate, Verdict, tightened
from angsync.kernels.time_limit import until
from angsync.pipeline.call import Effort
from angsync.pipeline.fusion import fused
from angsync.pipeline.regime import FUSE_FROM_NODES, Plan, is_drowned, witness_search
from angsync.pipeline.restarts import restart
from angsync.pipeline.search import FINISHED, Search, is_suspicious
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.starts.names import STARTS
from angsync.solvers.stopping import Stopping

_MOST_ESCAPES = 10  # refuted points that are left, one after the other, in one call: it bounds the work
# Further careful starts on a large graph, at most, and how many of them one after the other may find nothing: of 36
# grids and geometric graphs at 0.5 to 0.9 rad a third improved again after one that had found nothing.
_FURTHER_STARTS: dict[Effort, int] = {"low": 1, "normal": 5, "high": 12}
_IN_VAIN = 2
_ROUGH_RESIDUAL, _ROUGH_ITERATIONS = 1e-4, 60  # how far they are solved: what is made of them is polished
# Up to how many nodes the relaxation is tried by itself where the certificate stays open, and how far it is solved. Any
# point gives a valid bound. At 1e-3 the gap is 0 to 15 % larger than at 1e-5, and costs a third to a sixth.
_RELAX: dict[Effort, tuple[int, Stopping]] = {
    "low": (0, Stopping()),
    "normal": (600, Stopping(tolerance=1e-3, max_iterations=60)),
    "high": (2000, Stopping(tolerance=1e-5, max_iterations=60)),
}
_ALL_BUT_PROVED = 1e-5  # relative gap below which only the last digits of a proof are missing


def try_the_alternative(search: Search, plan: Plan) -> None:
    """Solve a small suspicious graph again, from the other start of its plan."""
    name = plan.alternative
    if name in (None, search.started_from) or search.operator.n > FUSE_FROM_NODES or not is_suspicious(search, plan):
        return
    assert name is not None
    with until(search.clock):
        z = STARTS[name].make_quickly(search.operator, search.rng)
    better = search.improves(z, plan.solver, silent=True)
    search.method += f"; {STARTS[name].words} was tried as well and was {'better' if better else 'no better'}"


def fuse_regions(search: Search, plan: Plan) -> None:
    """Solve a large graph from further careful starts, and take the better point region by region.

    That is for points that are suspicious, and for others if they are not proved, as long as it helps.
    """
    free = search.call.is_free_to_start_anywhere and search.operator.n > FUSE_FROM_NODES
    if plan.alternative is None or not free:
        return
    suspicious_only = search.certificate is None or search.call.effort == "low" or is_suspicious(search, plan)
    first, tried, in_vain = search.point, 0, 0
    while tried < _FURTHER_STARTS[search.call.effort] and in_vain < _IN_VAIN:
        if search.point.status not in FINISHED or search.clock.expired:
            break
        if suspicious_only and not is_suspicious(search, plan):
            break
        tried += 1
        with until(search.clock):
            z = STARTS[plan.alternative].make_quickly(search.operator, search.rng)
        # iterations are counted from the first run on
        limit = min(search.call.stopping.max_iterations, search.point.iterations + _ROUGH_ITERATIONS)
        roughly = Stopping(tolerance=_ROUGH_RESIDUAL, max_iterations=limit)
        other = search.run(plan.solver, z, roughly, jump=True, silent=True)
        with until(search.clock):
            made = fused(search.operator, search.point.z, other.z, search.clock)
        in_vain = 0 if made is not None and search.improves(made, plan.solver) else in_vain + 1
    if tried:
        found = "a better point" if search.point is not first else "nothing better"
        search.method += f"; {tried} further start(s), taken region by region where they were better, found {found}"


def escape(search: Search, plan: Plan) -> None:
    """Go on from the witness of each refutation."""
    if search.certificate is None:
        return
    if not search.witness_sought and search.call.effort != "low":
        search.prove()
    escapes = 0
    while escapes < _MOST_ESCAPES and not search.is_over and search.certificate.verdict is Verdict.REFUTED:
        assert search.certificate.witness is not None
        if not search.improves(search.certificate.witness, Newton()):
            break
        escapes += 1
        search.prove()
    if escapes:
        search.method += f"; left {escapes} point(s) that the certificate refuted"


def relax_to_rank_one(search: Search, plan: Plan) -> None:
    """Tighten the gap by the semidefinite relaxation; go on from its rounding where that is better."""
    certificate = search.certificate
    if (
        certificate is None
        or certificate.verdict is not Verdict.UNDECIDED
        or not -math.inf < certificate.lambda_min < 0  # S has a negative eigenvalue
        or search.operator.n > _RELAX[search.call.effort][0]
    ):
        return
    all_but_proved = certificate.gap_bound <= _ALL_BUT_PROVED * certificate.scale  # where a rough bound says less
    stopping = _RELAX["high" if all_but_proved else search.call.effort][1]
    found = relax(
        search.operator, search.point.z, solver=LowRankSDP(), stopping=stopping, clock=search.clock, rng=search.rng
    )
    found.outcome.unless_interrupted()
    here = search.objective(search.returned(search.point))
    improved = search.objective(found.z) > here + 4 * certificate.rounding and search.improves(found.z, Newton())
    if improved:
        search.prove()
        here = search.objective(search.returned(search.point))
    assert search.certificate is not None
    search.certificate = tightened(search.certificate, here, found.upper_bound, loosely_tied(search.certified))
    search.method += "; the semidefinite relaxation gave " + ("a better point and " if improved else "") + "the bound"


PROPOSALS: tuple[Callable[[Search, Plan], None], ...] = (
    try_the_alternative,
    fuse_regions,
    lambda search, plan: restart(search, plan.solver),
    escape,
    relax_to_rank_one,
)


def improve(search: Search, plan: Plan) -> None:
    """Try the proposals one after the other, prove what they find, and say how much is left open."""
    for propose in PROPOSALS:
        if search.is_over:
            break
        propose(search, plan)
        if search.certificate is None:
            search.prove()
    tighten_the_gap(search)
    if search.certificate is not None:
        search.certificate = untried(search, search.certificate)


def tighten_the_gap(search: Search) -> None:
    """Find the gap of a point that stays open on a slow graph, as far as some factorizations tell."""
    before = search.certificate
    if before is None or before.verdict is not Verdict.UNDECIDED or search.clock.expired:
        return
    if search.call.effort == "low" or before.method != "factorization":  # not where the relaxation has said more
        return
    search.prove("none", tighten=True)
    after = search.certificate
    search.certificate = after if after is not None and after.gap_bound < before.gap_bound else before


def untried(search: Search, certificate: Certificate) -> Certificate:
    """Return the certificate of a point that stays open with the words for what was not tried."""
    effort = search.call.effort
    if certificate.verdict is not Verdict.UNDECIDED:
        return certificate
    out = []
    if search.clock.expired:
        out.append("what the time limit left no time for")
    if effort == "low":
        out += ["further starts", "ways out of the point"]
    elif witness_search(search.operator.base, search.call, search.point.z) == "short":
        out.append("the lift to rank two")
    if effort == "normal" and is_drowned(search.operator, search.point.objective):
        out.append("starts from rank-two rows, because with so much noise a better fit is no better estimate")
    if not certificate.method.endswith("+relaxation"):
        out.append("the semidefinite relaxation")
    if out and effort != "high":
        out[-1] += " (effort high)" if effort == "normal" else " (effort normal)"
    return replace(certificate, untried=", ".join(out))
