"""One least-squares problem: in one compiled call where that is possible, otherwise component by component."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from angsync.pipeline import one_call
from angsync.pipeline.assembly import Point, Run, result_of
from angsync.pipeline.call import Call
from angsync.pipeline.regime import one_call_plan
from angsync.pipeline.result import SyncResult
from angsync.problem.intake import Intake, taken_in
from angsync.problem.operators import Operator
from angsync.problem.residual import rounding_floor, shown_residual
from angsync.solvers.stopping import Clock


def solve(data: Any, call: Call) -> SyncResult:
    """The least-squares phases, with no anchors and no robust weights."""
    clock = Clock(call.stopping.max_seconds)
    intake = taken_in(data, call.hermitian)
    return _solved(intake, call.about(intake.operator.n, intake.labels), clock)


def _solved(intake: Intake, call: Call, clock: Clock) -> SyncResult:
    given = intake.operator
    bare = given.without_dominant_diagonal() if given.is_inspected else given
    # a callback is told the objective of C as it was given
    plan = None if bare is not given and call.callback is not None else one_call_plan(bare, call)
    found = None if plan is None else one_call.run(bare, plan, call, clock)
    if found is None or not found.is_final:
        with clock.paused():  # starts, other solvers and the ways on from a point, loaded by the first who needs them
            from angsync.pipeline.by_components import solve_by_components

        return solve_by_components(intake, call, clock, found)
    known, history = found.solve, found.history
    point = Point(known.z, known.product, known.objective, known.residual)
    if bare is not given:
        point = _with_diagonal(given, point)
        history = replace(history, objective=history.objective + float(given.diagonal().sum()))
    way = Run(found.status, len(known.trace) - 1, known.products, history, found.method)
    return result_of(intake, call, clock, point, np.zeros(len(known.z), dtype=np.int64), way, found.certificate)


def _with_diagonal(given: Operator, point: Point) -> Point:
    """The point of a problem whose diagonal was left out, as one of the problem that was given."""
    diagonal, z = given.diagonal(), point.z
    if z.dtype != np.complex128:  # unit modulus in double precision, as everywhere
        z = z.astype(np.complex128)
        z /= np.abs(z)
    product = point.product + diagonal * z
    _, residual = shown_residual(z, product, rounding_floor(given, z.dtype))
    return Point(point.z, product, point.objective + float(diagonal.sum()), residual)
