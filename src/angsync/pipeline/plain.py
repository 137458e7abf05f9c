"""One least-squares problem: in one compiled call where that is possible, otherwise component by component."""

from __future__ import annotations

from typing import Any

import numpy as np

from angsync.pipeline import one_call
from angsync.pipeline.assembly import Point, Run, result_of
from angsync.pipeline.call import Call
from angsync.pipeline.regime import one_call_plan
from angsync.pipeline.result import SyncResult
from angsync.problem.intake import taken_in
from angsync.solvers.stopping import Clock


def solve(data: Any, call: Call) -> SyncResult:
    """The least-squares phases, with no anchors and no robust weights."""
    clock = Clock(call.stopping.max_seconds)
    intake = taken_in(data, call.hermitian)
    plan = one_call_plan(intake.operator, call)
    found = None if plan is None else one_call.run(intake.operator, plan, call, clock)
    if found is None or not found.is_final:
        with clock.paused():  # starts, other solvers and the ways on from a point, loaded by the first who needs them
            from angsync.pipeline.by_components import solve_by_components

        return solve_by_components(intake, call, clock, found)
    known = found.solve
    point = Point(known.z, known.product, known.objective, known.residual)
    way = Run(found.status, len(known.trace) - 1, known.products, found.history, found.method)
    return result_of(intake, call, clock, point, np.zeros(len(known.z), dtype=np.int64), way, found.certificate)
