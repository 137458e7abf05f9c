"""One problem, component by component: each one is solved and certified alone, and the answers are put together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from angsync.certificate.verdict import rescaled
from angsync.errors import DisconnectedWarning, warn_user
from angsync.pipeline import one_call
from angsync.pipeline.assembly import (
    Run,
    Units,
    component_gauge,
    joined_runs,
    one_certificate,
    point_at,
    result_of,
)
from angsync.pipeline.call import Call
from angsync.pipeline.component import Solved, solve_component
from angsync.pipeline.gauge import in_gauge, reference_nodes
from angsync.pipeline.result import SyncResult
from angsync.pipeline.task import Task, has_reusable_product, product_turned_to
from angsync.pipeline.tried_starts import all_starts, same_objective
from angsync.problem import pieces
from angsync.problem.anchoring import GROUND, loose_in_words
from angsync.problem.components import component_indices, normalised
from angsync.problem.intake import Intake
from angsync.problem.measurements import Measurements
from angsync.problem.operators import CountingOperator
from angsync.problem.ordering import better_order
from angsync.solvers import GPM
from angsync.solvers.loop import Outcome
from angsync.solvers.stopping import Clock, Status


def solve_by_components(intake: Intake, call: Call, clock: Clock, found: one_call.Found | None) -> SyncResult:
    """Every component solved and certified alone. ``found``: what one compiled call found, for a connected problem."""
    operator = intake.operator
    components = operator.component_labels()
    if components is None:
        components = np.zeros(operator.n, dtype=np.int64)
    start = call.start_for(operator.n)
    # a wrong gauge is found before the work, not after
    references = reference_nodes(components, "first" if call.gauge == "mean" else call.gauge, intake.labels)
    if call.gauge is GROUND and intake.labels is not None:
        note = loose_in_words(components, intake.labels)
    else:
        note = pieces.in_words(components, intake.labels, numbers_given=isinstance(intake.source, Measurements))
    if note:
        warn_user(note, DisconnectedWarning)

    z = np.ones(operator.n, dtype=operator.dtype)
    indices = [index for index in component_indices(components) if index.size > 1]
    runs, tried, certificates = [], [], []
    last: Outcome | None = None  # of one large dense problem, whose last product need not be computed again
    for place, index in enumerate(indices):
        given = operator if index.size == operator.n else operator.restrict(index)
        order = better_order(given)
        if order is not None:
            indices[place] = index = index[order]
            given = given.restrict(order)
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
            into_gauge=component_gauge(index, call.gauge if call.gauge == "mean" else int(references[number])),
            number=number,
        )
        solved = solve_component(task, None if found is None else found.attempt(part))
        z[index] = solved.outcome.z
        if part.base is operator and not literal and has_reusable_product(part, solved.outcome):
            last = solved.outcome
        runs.append(_run_of(solved, units))
        starts = None if solved.starts is None else units.restored(np.array(solved.starts))
        tried.append((float(units.restored(np.array(solved.outcome.objective))), starts))
        if solved.certificate is not None:
            certificates.append(rescaled(solved.certificate, part.exponent))
        if solved.outcome.status in (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK):
            break

    if len(runs) < len(indices):
        note = f"Some components were not reached; their phases are 0. {note}"
    # a point that one call brought into its gauge and certified there is returned as it is, to the bit
    if found is None or solved.outcome.z is not found.solve.z:
        z = in_gauge(z, components, call.gauge, intake.labels)
    point = point_at(operator, z, None if last is None else product_turned_to(last, z))
    certificate = one_certificate(certificates, indices, z) if call.certify else None
    return result_of(
        intake,
        call,
        clock,
        point,
        components,
        joined_runs(runs, operator.n),
        certificate,
        starts=all_starts(tried, same_objective(operator.dtype)),
        note=note,
    )


def _run_of(solved: Solved, units: Units) -> Run:
    """What happened to one component, in the units of the C given."""
    outcome = solved.outcome
    history = replace(outcome.history, objective=units.restored(outcome.history.objective))
    return Run(outcome.status, outcome.iterations, solved.matvecs, history, solved.method)
