"""One problem as it is: in one compiled call where that will do, otherwise component by component."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.verdict import rescaled
from angsync.pipeline import one_call
from angsync.pipeline.assembly import Part, Point, Units, one_certificate, result_of, settler, warn_about_pieces
from angsync.pipeline.call import Call
from angsync.pipeline.component import Solved, solve_component
from angsync.pipeline.gauge import in_gauge, reference_nodes
from angsync.pipeline.intake import Intake, taken_in
from angsync.pipeline.regime import one_call_plan
from angsync.pipeline.result import SyncResult
from angsync.pipeline.task import Task, is_worth_saving, turned_product
from angsync.problem.components import component_indices, normalised
from angsync.problem.measure import objective_and_residual, rounding_floor
from angsync.problem.operators import (
    CountingOperator,
    HermitianOperator,
    ScaledOperator,
    component_labels,
    normalising_exponent,
    restrict,
)
from angsync.problem.ordering import better_order
from angsync.solvers import GPM
from angsync.solvers.loop import Outcome
from angsync.solvers.stopping import Clock, Status


def solve(data: Any, call: Call) -> SyncResult:
    """Least squares, without anchors, by a solver that steps."""
    clock = Clock(call.stopping.max_seconds)
    intake = taken_in(data, call.hermitian)
    plan = one_call_plan(intake.operator, call)
    found = None if plan is None else one_call.run(intake.operator, plan, call, clock)
    if found is None or not found.is_final:
        return _by_components(intake, call, clock, found)
    known = found.solve
    point = Point(known.z, known.product, known.objective, known.residual)
    part = Part(found.status, len(known.trace) - 1, known.products, found.history, found.method, known.objective, None)
    components = np.zeros(intake.operator.n, dtype=np.int64)
    return result_of(intake, call, clock, point, components, [part], found.certificate)


def _by_components(intake: Intake, call: Call, clock: Clock, found: one_call.Found | None) -> SyncResult:
    """Every component solved and certified for itself; one of them may go on from what one call ``found``."""
    operator = intake.operator
    components = component_labels(operator)
    if components is None:
        components = np.zeros(operator.n, dtype=np.int64)
    start = call.start_for(operator.n)
    # a wrong gauge is found before the work, not after
    references = reference_nodes(components, "first" if call.gauge == "mean" else call.gauge, intake.labels)
    warn_about_pieces(components, intake.labels)

    z = np.ones(operator.n, dtype=operator.dtype)
    indices = [index for index in component_indices(components) if index.size > 1]
    parts, certificates = [], []
    last: Outcome | None = None  # of one large dense problem, whose last product need not be computed again
    for place, index in enumerate(indices):
        given = operator if index.size == operator.n else restrict(operator, index)
        order = better_order(given)
        if order is not None:
            indices[place] = index = index[order]
            given = restrict(given, order)
        part = normalised(given)
        # GPM with a finite alpha depends on the scale of C; asked for by name, it gets C as it is.
        literal = isinstance(call.solver, GPM)
        units = Units() if literal else Units.of(given, part)
        number = int(components[index[0]])
        task = Task(
            operator=CountingOperator(given if literal else part, 0 if found is None else found.solve.products),
            certified=part,
            call=call,
            start=start if isinstance(start, str) else start[index],
            callback=units.restored_for(call.callback, order),
            clock=clock,
            rng=call.seed.generator,
            settle=settler(index, call.gauge if call.gauge == "mean" else int(references[number])),
            number=number,
        )
        solved = solve_component(task, None if found is None else found.attempt(part))
        z[index] = solved.outcome.z
        if part.base is operator and not literal and is_worth_saving(part, solved.outcome):
            last = solved.outcome
        parts.append(_in_units_of_the_whole(solved, units))
        if solved.certificate is not None:
            certificates.append(rescaled(solved.certificate, part.exponent))
        if solved.outcome.status in (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK):
            break

    z = in_gauge(z, components, call.gauge, intake.labels)
    point = point_at(operator, z, None if last is None else turned_product(last, z))
    certificate = one_certificate(certificates, indices, z) if call.certify else None
    return result_of(
        intake, call, clock, point, components, parts, certificate, unfinished=len(parts) < len(indices)
    )  # fmt: skip


def _in_units_of_the_whole(solved: Solved, units: Units) -> Part:
    outcome = solved.outcome
    return Part(
        status=outcome.status,
        iterations=outcome.iterations,
        matvecs=solved.matvecs,
        history=replace(outcome.history, objective=units.restored(outcome.history.objective)),
        method=solved.method,
        objective=float(units.restored(np.array(outcome.objective))),
        starts=None if solved.starts is None else units.restored(np.array(solved.starts)),
    )


def point_at(operator: HermitianOperator, z: NDArray, known: NDArray | None = None) -> Point:
    """C z, f(z) and the residual at the point returned, in double precision whatever the problem's precision.

    ``known`` is the product already, scaled as the solver scales C.
    """
    wide = z.astype(np.complex128)
    wide /= np.abs(wide)
    scaled = ScaledOperator(operator, normalising_exponent(operator))
    product = scaled.apply(wide) if known is None else known
    objective, residual = objective_and_residual(wide, product, rounding_floor(scaled))
    restored = ScaledOperator(operator, -scaled.exponent).scale(product)
    return Point(z, restored, math.ldexp(objective, scaled.exponent), residual)
