"""One problem as it is: in one compiled call where that will do, otherwise component by component."""

from __future__ import annotations

from typing import Any

import numpy as np

from angsync.pipeline import one_call
from angsync.pipeline.assembly import Part, Point, result_of
from angsync.pipeline.call import Call
from angsync.pipeline.regime import one_call_plan
from angsync.pipeline.result import SyncResult
from angsync.problem.intake import taken_in
from angsync.solvers.stopping import Clock


def solve(data: Any, call: Call) -> SyncResult:
    """Least squares, without anchors, by a solver that steps."""
    clock = Clock(call.stopping.max_seconds)
    intake = taken_in(data, call.hermitian)
    plan = one_call_plan(intake.operator, call)
    found = None if plan is None else one_call.run(intake.operator, plan, call, clock)
    if found is None or not found.is_final:
        # starts, other solvers and the ways on from a point are loaded by the first problem that needs them
        from angsync.pipeline.by_components import solve_by_components

        return solve_by_components(intake, call, clock, found)
    known = found.solve
    point = Point(known.z, known.product, known.objective, known.residual)
    part = Part(found.status, len(known.trace) - 1, known.products, found.history, found.method, known.objective, None)
    components = np.zeros(intake.operator.n, dtype=np.int64)
    return result_of(intake, call, clock, point, components, [part], found.certificate)
