"""``synchronize(data, solver=ang.Robust())``: find the weights, solve the weighted problem, judge the measurements."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.verdict import interrupted
from angsync.errors import AngsyncWarning, CorruptionWarning, warn_user
from angsync.kernels.time_limit import OutOfTime, left, until
from angsync.pipeline import plain
from angsync.pipeline.assembly import stopped_by
from angsync.pipeline.call import Call
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.by_evidence import Weighing, evidence_report, is_sparse, takes, trusted_edges, weigh
from angsync.pipeline.robust.edges import Edges, bonds
from angsync.pipeline.robust.evidence import is_credible
from angsync.pipeline.robust.nodes_decided import with_loose_nodes
from angsync.pipeline.robust.noise import is_mixed, judged, with_rounding
from angsync.pipeline.robust.report import RobustReport, reweighted
from angsync.pipeline.robust.resolution import FLOOR
from angsync.pipeline.robust.reweighting import Fit, Solve
from angsync.pipeline.robust.search import search, search_in_time
from angsync.pipeline.robust.settings import Robust, trusted_places
from angsync.pipeline.robust.tuning import loss_efficiency
from angsync.problem.intake import has_many_pairs, taken_in, translated
from angsync.problem.measurements import Measurements
from angsync.problem.operators import SparseOperator, as_operator
from angsync.solvers import GPM, Newton
from angsync.solvers.base import Solver
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock, Status, Stopping

_ROUND = Stopping(tolerance=1e-8, max_iterations=30)  # one round of reweighting; the next one starts where it ended
_BOND_WEIGHT = 1e-2  # of a distrusted edge that alone holds a node or a piece: it fits exactly with any weight
_INTERRUPTED = "Interrupted: these weights may not be the best, and whether they are credible was not judged."
_BEYOND_NUMBERS = "Not judged: the weights span too many orders of magnitude for the evidence to be computed."
_NO_TIME = "Not judged: there was no time left for other explanations."
_NO_CYCLES = "There are no cycles, so nothing can be checked: every measurement is taken as it is."
_NOTHING = "Not judged: no measurement has a positive weight, so nothing is known of the phases."
_SPARSE = "Not judged: on a sparse graph a loss cannot tell; use loss='evidence' (of itself up to 30,000 measurements)."
_IN_STEPS = "The scale is what rounding explains: the angles come in steps of {:.3g} rad."
_MIXED = (
    "Most of the measurements that are kept agree far better than the rest of them: the scale is too wide, and errors "
    "of a few deviations are hidden in it. Give scale, the noise of a good measurement."
)
_CHANCE = "They agree no better than random angles would: nothing can be trusted."
_CERTIFIES = (
    "The certificate is that of the final weighted least-squares problem (the weights are in result.robust.weights), "
    "not of the robust loss."
)


def solve(data: Any, call: Call, settings: Robust) -> SyncResult:
    """What :func:`angsync.synchronize` does for ``solver=ang.Robust(...)``.

    Gauge, callback and ``on_failure`` concern the final weighted problem. A name as ``start`` is the start of the first
    least-squares fit.
    """
    clock = Clock(call.stopping.max_seconds)
    measurements, source = _measured_pairs(data, call)
    edges = Edges.of(measurements)
    edges = edges if settings.scale is None else dataclasses.replace(edges, floor=FLOOR)
    start = call.about(measurements.n, measurements.labels).start_for(measurements.n)
    if not isinstance(start, str) and np.isnan(start).any():
        start = "auto"
    final_call = dataclasses.replace(call, robust=None)
    given = _Given(settings, len(measurements))
    by_evidence = takes(edges, settings)
    edges = edges.in_order() if by_evidence else edges
    trusted = trusted_edges(settings, len(measurements), edges)
    decides: Any = "evidence" if by_evidence else "adaptive" if settings.loss == "auto" else settings.loss
    settings = dataclasses.replace(settings, trusted=None, loss=decides)
    if edges.freedom == 0:
        report = _trusting(measurements, settings, _NO_CYCLES if len(edges) else _NOTHING, credible=None)
        in_time = dataclasses.replace(final_call, stopping=_remaining(call, clock))
        return _finished(plain.solve(measurements, in_time), given.noted(report, edges), source, clock)
    kept = _Kept(edges, None if isinstance(start, str) else start)
    try:
        if by_evidence:
            report = _believed(measurements, final_call, settings, start, clock, trusted, kept)
        else:
            report = _weighted(measurements, final_call, settings, start, clock, kept)
        last = dataclasses.replace(
            final_call, start=start if kept.z is None else kept.z, stopping=_remaining(call, clock)
        )
        final = plain.solve(_final_problem(measurements, kept.edges, report), last)
        if not kept.in_time:  # weights may not be the best, as in a solve that was stopped
            final = stopped_by(final, Status.TIME_LIMIT, call.on_failure)
        return _finished(final, given.noted(report, kept.edges), source, clock)
    except KeyboardInterrupt:
        final, report = _interrupted(measurements, final_call, settings, kept)
        return _finished(final, given.noted(report, kept.edges), source, clock)


def _final_problem(measurements: Measurements, edges: Edges, report: RobustReport) -> Measurements:
    return reweighted(measurements, edges.everywhere(edges.rounding, len(measurements)) * report.weights)


@dataclasses.dataclass(frozen=True)
class _Given:
    """What the user knows, which error bars have to respect."""

    settings: Robust
    count: int
    """Of the measurements."""

    def noted(self, report: RobustReport, edges: Edges) -> RobustReport:
        known, scale = self.settings.trusted, self.settings.scale
        trusted = report.trusted if known is None else trusted_places(known, self.count)
        if scale is None:
            note, floor, rounding = report.note, edges.floor, report.rounding
            if floor > FLOOR and report.scale <= floor * math.sqrt(edges.unit):
                note = f"{note} {_IN_STEPS.format(floor * math.sqrt(12))}".strip()
            if (edges.rounding != 1).any():
                rounding = edges.everywhere(edges.rounding, self.count)
            return dataclasses.replace(report, trusted=trusted, note=note, rounding=rounding)
        # the floor of the fit, or none: without cycles the scale was not needed, but error bars need it
        return dataclasses.replace(
            report, trusted=trusted, scale_given=True, scale=scale if math.isnan(report.scale) else report.scale
        )


@dataclasses.dataclass
class _Kept:
    """The best so far, for an interruption."""

    edges: Edges
    z: NDArray | None
    """The last phases of a fit of all measurements; None before the first."""
    fits: list[Fit] = dataclasses.field(default_factory=list)
    """The best robust fit, alone in the list."""
    report: RobustReport | None = None
    """What is said about the measurements, once that is known."""
    in_time: bool = True
    """False if the search had to end too early."""


def _weighted(
    measurements: Measurements,
    call: Call,
    settings: Robust,
    start: str | NDArray,
    clock: Clock,
    kept: _Kept,
) -> RobustReport:
    """The report on the measurements, from weights that follow a loss."""
    rng, edges = call.seed.generator, kept.edges

    def solver(some: Edges) -> Solve:
        return _solver(some, start if isinstance(start, str) else "auto", clock, kept if some is edges else None)

    fit = search_in_time(edges, solver(edges), settings, given=kept.z, clock=clock, rng=rng, kept=kept.fits)
    if fit is None:  # weights that are not settled say nothing: as many as all may be distrusted
        kept.in_time = False
        return _trusting(measurements, settings, _NO_TIME, credible=None)
    rounded = with_rounding(edges, fit.z, fit.noise.corruption <= 0.5, solver(edges))
    if rounded is not None:
        better = search_in_time(rounded, solver(rounded), settings, given=fit.z, clock=clock, rng=rng, kept=[])
        if better is not None:
            fit, edges = better, rounded
            kept.edges = edges
    kept.fits[:] = [fit]
    credible = is_credible(edges, fit, settings, solver, clock=clock, rng=rng)
    try:
        with until(clock):
            report = _report(measurements, edges, fit, settings, credible)
    except OutOfTime:  # each edge by its own residual
        report = _report(measurements, edges, fit, settings, None, one_by_one=False)
    if credible and is_sparse(edges):  # better than chance, but a wrong edge over a long chain has a small residual too
        report = dataclasses.replace(report, credible=None, note=f"{_SPARSE} {report.note}".strip())
    elif credible:
        report = with_loose_nodes(report, measurements, edges, fit, clock)
    if report.credible and is_mixed(edges, fit.z, ~report.distrusted[edges.used]):
        warn_user(f"These phases are not credible: {_MIXED}", CorruptionWarning)
        report = dataclasses.replace(report, credible=False, note=f"{_MIXED} {report.note}".strip())
    kept.report, kept.z = report, fit.z
    if credible is False:
        warn_user(
            f"The {len(edges)} measurements agree no better than random angles on the same graph would, so nothing "
            "in them can be trusted, and the phases mean nothing. Check the orientation (angle = theta_i - theta_j) "
            "and the unit (radians) of the angles.",
            CorruptionWarning,
        )
    return report


def _believed(
    measurements: Measurements,
    call: Call,
    settings: Robust,
    start: str | NDArray,
    clock: Clock,
    trusted: NDArray[np.bool_],
    kept: _Kept,
) -> RobustReport:
    """The report on the measurements, from the set that evidence believes."""
    edges = kept.edges
    solve = _solver(edges, start if isinstance(start, str) else "auto", clock, kept)

    def starts(thoroughly: bool) -> list[NDArray]:
        if kept.z is not None:
            return [kept.z]
        if not thoroughly:
            return [solve(np.ones(len(edges)), None)]
        loss = dataclasses.replace(settings, loss="adaptive")
        fit = search(edges, solve, loss, given=None, clock=clock, rng=call.seed.generator, kept=kept.fits)
        return [fit.z] if kept.z is None else [fit.z, kept.z]

    def weighed(some: Edges) -> tuple[Weighing, str]:
        weighing = Weighing()
        try:
            weigh(some, settings, trusted, starts, clock, call.seed.generator, weighing)
        except (ArithmeticError, RuntimeError, np.linalg.LinAlgError):
            return weighing, _BEYOND_NUMBERS
        except KeyboardInterrupt:
            if weighing.found.beliefs:
                keep(some, weighing, _INTERRUPTED)
            raise
        return weighing, _NO_TIME

    def keep(some: Edges, weighing: Weighing, not_judged: str) -> RobustReport:
        kept.edges, kept.z = some, np.exp(1j * weighing.found.best.x)
        kept.report = evidence_report(_trusting(measurements, settings, ""), some, weighing, not_judged)
        return kept.report

    weighing, not_judged = weighed(edges)
    if weighing.doubt is not None:
        keep(edges, weighing, _INTERRUPTED)
        rounded = with_rounding(edges, np.exp(1j * weighing.found.best.x), weighing.found.best.believed, solve)
        if rounded is not None:
            again, why = weighed(rounded)
            if again.doubt is not None:
                edges, weighing, not_judged = rounded, again, why
    beliefs = weighing.found.beliefs
    if not beliefs or (not_judged is _BEYOND_NUMBERS and not beliefs[0].cycles):  # or a mere tree
        return _trusting(measurements, settings, not_judged, credible=None)
    kept.in_time = weighing.doubt is not None or not_judged is not _NO_TIME
    report = keep(edges, weighing, not_judged)
    if report.credible is False:
        warn_user(f"These phases are not credible: {report.note}", CorruptionWarning)
    elif report.credible and weighing.doubt is not None and weighing.doubt.sentences:
        warn_user(report.note, CorruptionWarning)
    return report


def _remaining(call: Call, clock: Clock) -> Stopping:
    return dataclasses.replace(call.stopping, max_seconds=clock.left)


def _interrupted(
    measurements: Measurements, call: Call, settings: Robust, kept: _Kept
) -> tuple[SyncResult, RobustReport]:
    """The best so far as a result: the phases of the best fit, of a fit without weights, or along a tree."""
    z, report, edges = kept.z, kept.report, kept.edges
    if kept.fits and report is None:
        z = kept.fits[0].z
        report = _report(measurements, edges, kept.fits[0], settings, credible=None)
        report = dataclasses.replace(report, note=_INTERRUPTED)
    elif report is None:
        report = _trusting(measurements, settings, "Interrupted before there were weights: all are taken as they are.")
        report = dataclasses.replace(report, credible=None)
    at_once = Stopping(max_iterations=0, max_seconds=0.0 if z is None else None)
    only_said = dataclasses.replace(
        call, start="auto" if z is None else z, stopping=at_once, certify=False, callback=None, on_failure="ignore"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)
        final = plain.solve(_final_problem(measurements, edges, report), only_said)
    return dataclasses.replace(
        stopped_by(final, Status.INTERRUPTED),
        certificate=interrupted() if call.certify else None,
        tolerance=call.stopping.tolerance_for(final.z.dtype),
    ), report


def _measured_pairs(data: Any, call: Call) -> tuple[Measurements, Any]:
    """The measurements, and what the result keeps as its source."""
    data = translated(data)
    if isinstance(data, Measurements):
        return data, data
    intake = taken_in(data, call.hermitian)
    pairs = intake.measured_pairs(
        "Robust weights the measurements one by one, but this C is known by its products only. Give a matrix or "
        "Measurements."
    )
    return pairs, intake.source


def _solver(edges: Edges, start: str, clock: Clock, kept: _Kept | None) -> Solve:
    """Least squares with weights: the whole pipeline without a start; GPM or Newton's method, by density, from one.

    A solve that is interrupted raises KeyboardInterrupt; ``kept`` is told of the phases that were found.
    """
    step: Solver = GPM(alpha=math.inf) if has_many_pairs(len(edges), edges.n) else Newton()

    def in_time() -> Clock:
        """The clock of the search, which leaves time for what follows it."""
        return clock if left() is None else Clock(left())

    def solve(weights: NDArray[np.float64], z: NDArray | None) -> NDArray:
        if z is not None:
            operator = SparseOperator(edges.matrix(weights))
            return iterate(operator, step, z.astype(np.complex128), _ROUND, clock=in_time()).unless_interrupted().z
        with warnings.catch_warnings():
            # pieces and contradictions are reported once, for the final problem
            warnings.simplefilter("ignore", AngsyncWarning)
            stopping = Stopping(tolerance=1e-6, max_seconds=in_time().left)
            weighted = Measurements(edges.i, edges.j, n=edges.n, value=weights * edges.strength * edges.turn)
            result = plain.solve(weighted, Call(start=start, stopping=stopping, certify=False, on_failure="ignore"))
        found = result.z.astype(np.complex128)
        if kept is not None:
            kept.z = found
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return found

    return solve


def _report(
    measurements: Measurements,
    edges: Edges,
    fit: Fit,
    settings: Robust,
    credible: bool | None,
    *,
    one_by_one: bool = True,
) -> RobustReport:
    """``one_by_one``: each edge is judged by the residual that it would have if it were left out."""
    if fit.loss.redescending and one_by_one:
        fit = dataclasses.replace(fit, noise=judged(edges, fit.z, fit.noise, fit.weights, fixed=settings.scale))
    distrusted = fit.noise.corruption > 0.5
    weights = fit.weights
    if fit.loss.redescending:
        weights = np.where(distrusted, 0.0, np.maximum(weights, edges.are_rounded(fit.noise.scale)))
        weights[bonds(edges, weights > 0, fit.noise.corruption + edges.standardized(fit.z))] = _BOND_WEIGHT
    everywhere = _trusting(measurements, settings, "")
    everywhere.weights[edges.used] = weights
    everywhere.corruption[edges.used] = fit.noise.corruption
    everywhere.distrusted[edges.used] = distrusted
    note = _NO_TIME if credible is None else "" if credible else _CHANCE
    if not fit.settled:
        note = f"{note} The weights had not settled after {fit.rounds} rounds.".strip()
    return dataclasses.replace(
        everywhere,
        scale=fit.noise.scale * float(np.sqrt(edges.unit)),
        trusted_share=float(1 - distrusted.mean()),
        efficiency=loss_efficiency(edges, fit),
        credible=credible,
        note=note,
    )


def _trusting(measurements: Measurements, settings: Robust, note: str, **judged: Any) -> RobustReport:
    """Nothing is distrusted; measurements of weight 0 stay as they are. ``judged``: ``credible``, where it is known."""
    none = np.zeros(len(measurements))
    return RobustReport(
        weights=1 - none, corruption=none, distrusted=none.astype(bool), scale=float("nan"), trusted_share=1.0,
        loss=settings.loss, note=note, **judged,
    )  # fmt: skip


def _finished(final: SyncResult, report: RobustReport, source: Any, clock: Clock) -> SyncResult:
    """The result of the weighted problem as an answer to the problem given."""
    product, objective = final.product, final.objective
    if source is not final.source:  # not the very problem that was solved
        z = final.z.astype(np.complex128)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AngsyncWarning)  # contradictory edges are what this is for
            product = as_operator(source).apply(z)
        objective = float(np.vdot(z, product).real)
    said = final.certificate is not None and report.credible is not False
    message = f"{final.message} {_CERTIFIES}" if said else final.message
    return dataclasses.replace(
        final,
        objective=objective,
        product=product,
        source=source,
        message=message,
        method=f"Robust({report.loss}) found the weights; the final weighted problem: {final.method}",
        seconds=clock.seconds,
        robust=report,
    )
