"""Solve one least-squares problem, each connected component alone, and put the answers together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import certify_component
from angsync.certificate.verdict import Certificate, rescaled
from angsync.errors import DisconnectedWarning, warn_user
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
from angsync.pipeline.component import solve_component
from angsync.pipeline.gauge import in_gauge, reference_nodes
from angsync.pipeline.result import SyncResult
from angsync.pipeline.search import Search, has_reusable_product, product_turned_to
from angsync.pipeline.small import is_for_stacks, solve_small
from angsync.pipeline.tried_starts import all_starts, same_objective
from angsync.problem import pieces
from angsync.problem.anchoring import GROUND, loose_in_words
from angsync.problem.intake import Intake, component_indices, normalized, taken_in
from angsync.problem.measurements import Measurements
from angsync.problem.operators import CountingOperator, Operator, ScaledOperator
from angsync.problem.ordering import better_order
from angsync.problem.residual import objective_and_residual, rounding_floor
from angsync.solvers import GPM
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.at_once import at_once
from angsync.solvers.starts.entries import needed_matrix
from angsync.solvers.starts.tree import breadth_first_forest
from angsync.solvers.stopping import Clock, History, Status


def solve(data: Any, call: Call) -> SyncResult:
    """The least-squares phases, with no anchors and no robust weights."""
    clock = Clock(call.stopping.max_seconds)
    intake = taken_in(data, call.hermitian)
    call = call.about(intake.operator.n, intake.labels)
    operator = intake.operator
    components = operator.component_labels()
    if components is None:
        components = np.zeros(operator.n, dtype=np.int64)
    call.start_for(operator.n)  # a wrong start or gauge is found before the work, not after
    references = reference_nodes(components, "first" if call.gauge == "mean" else call.gauge, intake.labels)
    if call.gauge is GROUND and intake.labels is not None:
        note = loose_in_words(components, intake.labels)
    else:
        edges = intake.source
        # a node 0 with edges that cancel is isolated, too, but then the numbers do begin at 0
        later = isinstance(edges, Measurements) and len(edges) > 0 and min(edges.i.min(), edges.j.min()) > 0
        note = pieces.in_words(components, intake.labels, numbers_given=later)
    if note:
        warn_user(note, DisconnectedWarning)
    answers = _Answers(operator, call, clock, components)
    answers.solve_small_ones()
    left = answers.left()
    before = len(answers.parts)
    try:
        for index, given in zip(left, _parts(operator, left), strict=True):
            if len(answers.parts) > before and clock.expired:
                answers.stopped = Status.TIME_LIMIT
            if answers.stopped is not None:
                break
            answers.solve_one(index, given, references)
    except KeyboardInterrupt:  # between two solves
        answers.stopped = Status.INTERRUPTED
    reached = len(answers.parts) - before
    if reached < len(left):
        answers.without_a_solve(np.sort(np.concatenate(left[reached:])))
        note = f"Some components were not reached; their phases are those of a spanning tree. {note}"
    try:
        return answers.result(intake, note)
    except KeyboardInterrupt:
        answers.interrupt()
        return answers.result(intake, note)


def _parts(operator: Operator, indices: list[NDArray[np.int64]]) -> Iterator[Operator]:
    if len(indices) == 1 and indices[0].size == operator.n:
        return iter((operator,))
    return iter(operator.parts(indices))


class _Part(NamedTuple):
    """What is known of one component, or of several that were solved together."""

    nodes: NDArray[np.int64]
    z: NDArray
    run: Run
    objective: float
    starts: NDArray | None = None
    certificate: Certificate | None = None
    last: tuple[ScaledOperator, Outcome] | None = None
    """Of a connected dense problem, whose last product need not be computed again."""


class _Answers:
    """The answers for the components of one problem, as they come in."""

    def __init__(self, operator: Operator, call: Call, clock: Clock, components: NDArray[np.int64]) -> None:
        self.operator, self.call, self.clock, self.components = operator, call, clock, components
        self.parts: list[_Part] = []
        """One entry at a time, whole or not there: Ctrl-C may come between any two lines."""
        self.stopped: Status | None = None
        """Why no further component is solved."""
        self._done = np.zeros(operator.n, dtype=bool)

    def solve_small_ones(self) -> None:
        """Small components, those of equal order together."""
        sizes = np.bincount(self.components)
        if not is_for_stacks(self.operator, self.call, sizes):
            return
        try:
            found = solve_small(self.operator, self.call, self.components, sizes, self.clock)
        except KeyboardInterrupt:
            self.stopped = Status.INTERRUPTED
            return
        if found is None:
            return
        self._done, self.stopped = found.solved, found.stopped
        index = np.flatnonzero(self._done)
        objective = float(found.run.history.objective[-1])
        self.parts.append(_Part(index, found.z[index], found.run, objective, certificate=found.certificate))

    def left(self) -> list[NDArray[np.int64]]:
        """The nodes of each component that is still to be solved."""
        if not self._done.any():
            return [index for index in component_indices(self.components) if index.size > 1]
        nodes = np.flatnonzero(~self._done)
        return [nodes[index] for index in component_indices(self.components[nodes]) if index.size > 1]

    def solve_one(self, index: NDArray[np.int64], given: Operator, references: NDArray[np.int64]) -> None:
        """One component, whose operator is ``given``, the long way."""
        call = self.call
        order = better_order(given)
        if order is not None:
            index = index[order]
            given = given.restrict(order)
        part = normalized(given)
        # GPM with a finite alpha depends on the scale of C; asked for by name, it gets C as it is.
        literal = isinstance(call.solver, GPM)
        units = Units() if literal else Units.of(given, part)
        number = int(self.components[index[0]])
        start = call.start_for(self.operator.n)
        search = Search(
            operator=CountingOperator(given if literal else part),
            certified=part,
            call=call,
            start=_start_of(start, index),
            callback=units.restored_for(call.callback, index),
            clock=self.clock,
            into_gauge=component_gauge(index, call.gauge if call.gauge == "mean" else int(references[number])),
            number=number,
        )
        solve_component(search)
        outcome, proof = search.point, search.certificate
        history = replace(outcome.history, objective=units.restored(outcome.history.objective))
        run = Run(outcome.status, outcome.iterations, search.operator.products, history, search.method)
        reusable = given is self.operator and not literal and has_reusable_product(part, outcome)
        one = _Part(
            index,
            outcome.z,
            run,
            float(units.restored(np.array(outcome.objective))),
            units.restored(np.array(search.objectives)) if search.objectives else None,
            None if proof is None else rescaled(proof, part.exponent),
            (part, outcome) if reusable else None,
        )
        if outcome.status in (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK):
            self.stopped = outcome.status
        self.parts.append(one)

    def without_a_solve(self, index: NDArray[np.int64]) -> None:
        """All components that were not reached: phases along a tree of each, and what their misfit proves."""
        assert self.stopped is not None
        part = normalized(self.operator.restrict(index))
        roots = np.unique(self.components[index], return_index=True)[1]
        z = at_once(part) if part.sparse() is None else breadth_first_forest(needed_matrix(part, "a tree"), roots)
        product = part.apply(z)
        objective, residual = objective_and_residual(z, product, rounding_floor(part))
        units = Units(part.exponent)
        objective = float(units.restored(np.array(objective)))
        history = History(np.array([objective]), np.array([residual]), np.zeros(1))
        run = Run(self.stopped, 0, 1, history, "a breadth-first tree for what was not reached")
        proof = None
        if self.call.certify and self.stopped is Status.TIME_LIMIT:
            proof = certify_component(
                part, z, tolerance=GAP_TOLERANCE, method="auto", clock=self.clock, rng=self.call.seed.generator
            )
            proof = rescaled(proof, part.exponent)
        self.parts.append(_Part(index, z, run, objective, certificate=proof))

    def interrupt(self) -> None:
        """Ctrl-C came after the last solve: nothing is lost but the claim that all went to its end."""
        self.parts = [part._replace(run=part.run._replace(status=Status.INTERRUPTED)) for part in self.parts]

    def result(self, intake: Intake, note: str) -> SyncResult:
        """All answers as one."""
        call = self.call
        z: NDArray = np.ones(self.operator.n, dtype=self.operator.dtype)
        for part in self.parts:
            z[part.nodes] = part.z
        z = in_gauge(z, self.components, call.gauge, intake.labels)
        last = self.parts[-1].last if self.parts else None
        known = None if last is None else (last[0], product_turned_to(last[1], z))
        point = point_at(self.operator, z, known)
        proofs = [part.certificate for part in self.parts if part.certificate is not None]
        certificate = one_certificate(proofs, [part.nodes for part in self.parts], z) if call.certify else None
        tried = [(part.objective, part.starts) for part in self.parts]
        return result_of(
            intake,
            call,
            self.clock,
            point,
            self.components,
            joined_runs([part.run for part in self.parts], self.operator.n),
            certificate,
            starts=all_starts(tried, same_objective(self.operator.dtype)),
            note=note,
        )


def _start_of(start: str | NDArray, index: NDArray[np.int64]) -> str | NDArray:
    """Return the start of one component; the usual one if an earlier call had not reached it."""
    if isinstance(start, str):
        return start
    return "auto" if np.isnan(start[index]).any() else start[index]
