"""``synchronize(data, solver=ang.Robust())``: find the weights, solve the weighted problem, judge the measurements."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncWarning, CorruptionWarning, warn_user
from angsync.pipeline import plain
from angsync.pipeline.call import Call
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.edges import Edges, bonds
from angsync.pipeline.robust.evidence import is_credible
from angsync.pipeline.robust.report import RobustReport, reweighted
from angsync.pipeline.robust.reweighting import Fit, Solve
from angsync.pipeline.robust.search import search
from angsync.pipeline.robust.settings import Robust
from angsync.pipeline.robust.tuning import loss_efficiency
from angsync.problem.density import has_many_pairs
from angsync.problem.intake import taken_in, translated
from angsync.problem.measurements import Measurements
from angsync.problem.operators import SparseOperator, as_operator
from angsync.solvers import GPM, Newton
from angsync.solvers.base import Solver
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock, Stopping

_ROUND = Stopping(tolerance=1e-8, max_iterations=30)  # one round of reweighting; the next one starts where it ended
_BOND_WEIGHT = 1e-2  # of a distrusted edge that alone holds a node or a piece: it fits exactly with any weight
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
    rng = call.seed.generator
    measurements, source = _measured_pairs(data, call)
    edges = Edges.of(measurements)
    start = call.start_for(measurements.n)
    final_call = dataclasses.replace(call, robust=None)
    if edges.freedom == 0:
        note = "There are no cycles, so nothing can be checked: every measurement is taken as it is."
        report = _trusting(measurements, settings, note)
        return _finished(plain.solve(measurements, final_call), report, source, clock)

    def solver(some: Edges) -> Solve:
        return _solver(some, start if isinstance(start, str) else "auto", clock)

    given = None if isinstance(start, str) else start
    fit = search(edges, solver(edges), settings, given=given, clock=clock, rng=rng)
    credible = is_credible(edges, fit, settings, solver, clock=clock, rng=rng)
    report = _report(measurements, edges, fit, settings, credible)
    if not credible:
        warn_user(
            f"The {len(edges)} measurements agree no better than random angles on the same graph would, so nothing "
            "in them can be trusted, and the phases mean nothing. Check the orientation (angle = theta_i - theta_j) "
            "and the unit (radians) of the angles.",
            CorruptionWarning,
        )
    remaining = dataclasses.replace(call.stopping, max_seconds=clock.left)
    weighted = reweighted(measurements, report.weights)
    final = plain.solve(weighted, dataclasses.replace(final_call, start=fit.z, stopping=remaining))
    return _finished(final, report, source, clock)


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


def _solver(edges: Edges, start: str, clock: Clock) -> Solve:
    """Least squares with weights: the whole pipeline without a start; GPM or Newton's method, by density, from one."""
    step: Solver = GPM(alpha=math.inf) if has_many_pairs(len(edges), edges.n) else Newton()

    def solve(weights: NDArray[np.float64], z: NDArray | None) -> NDArray:
        if z is not None:
            operator = SparseOperator(edges.matrix(weights))
            return iterate(operator, step, z.astype(np.complex128), _ROUND, clock=clock).z
        with warnings.catch_warnings():
            # pieces and contradictions are reported once, for the final problem
            warnings.simplefilter("ignore", AngsyncWarning)
            stopping = Stopping(tolerance=1e-6, max_seconds=clock.left)
            weighted = Measurements(edges.i, edges.j, n=edges.n, value=weights * edges.strength * edges.turn)
            result = plain.solve(weighted, Call(start=start, stopping=stopping, certify=False, on_failure="ignore"))
        return result.z.astype(np.complex128)

    return solve


def _report(measurements: Measurements, edges: Edges, fit: Fit, settings: Robust, credible: bool) -> RobustReport:
    distrusted = fit.noise.corruption > 0.5
    weights = fit.weights
    if fit.loss.redescending:
        weights = np.where(distrusted, 0.0, weights)
        weights[bonds(edges, weights > 0, fit.noise.corruption + edges.standardised(fit.z))] = _BOND_WEIGHT
    everywhere = _trusting(measurements, settings, "")
    for column, values in (
        (everywhere.weights, weights),
        (everywhere.corruption, fit.noise.corruption),
        (everywhere.distrusted, distrusted),
    ):
        column[edges.used] = values
    note = "" if credible else "They agree no better than random angles would: nothing can be trusted."
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


def _trusting(measurements: Measurements, settings: Robust, note: str) -> RobustReport:
    """Nothing is distrusted; measurements of weight 0 stay as they are."""
    count = len(measurements)
    return RobustReport(
        weights=np.ones(count),
        corruption=np.zeros(count),
        distrusted=np.zeros(count, dtype=bool),
        scale=float("nan"),
        trusted_share=1.0,
        loss=settings.loss,
        note=note,
    )


def _finished(final: SyncResult, report: RobustReport, source: Any, clock: Clock) -> SyncResult:
    """The result of the weighted problem as an answer to the problem given."""
    z = final.z.astype(np.complex128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)  # contradictory edges are what this is for
        operator = as_operator(source)
    product = operator.apply(z)
    message = f"{final.message} {_CERTIFIES}" if final.certificate is not None else final.message
    return dataclasses.replace(
        final,
        objective=float(np.vdot(z, product).real),
        product=product,
        source=source,
        message=message,
        method=f"Robust({report.loss}) found the weights; the final weighted problem: {final.method}",
        seconds=clock.seconds,
        robust=report,
    )
