"""``solver=ang.Parts(...)``: parts, their gauges, the nodes along the cuts, then the whole."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.kernels.time_limit import OutOfTime, until
from angsync.pipeline import plain
from angsync.pipeline.assembly import stopped_by
from angsync.pipeline.call import Call
from angsync.pipeline.parts import Parts
from angsync.pipeline.parts.partition import partition
from angsync.pipeline.parts.start import gauges, near_cuts, objective, pieces_of, swept
from angsync.pipeline.parts.tasks import solved_parts
from angsync.pipeline.result import SyncResult
from angsync.problem.intake import taken_in
from angsync.problem.operators import SparseOperator
from angsync.solvers.starts.tree import breadth_first_forest
from angsync.solvers.stopping import Clock, Status


def solve(data: Any, call: Call, settings: Parts) -> SyncResult:
    """The phases of the whole problem, from where its parts lead."""
    clock = Clock(call.stopping.max_seconds)
    if not call.is_free_to_start_anywhere:
        raise InputError("Parts finds its own starting point: leave start out, or take another solver.")
    if call.checkpoint is not None:
        raise InputError("Parts writes no checkpoints: leave checkpoint= out, or take another solver.")
    intake = taken_in(data, call.hermitian)
    if not isinstance(intake.operator, SparseOperator):
        raise InputError("Parts is for sparse problems: give Measurements or a scipy.sparse matrix, or solver='auto'.")
    free = replace(call, parts=None)
    way = _Way(intake.operator, replace(free, threads=None), clock)
    stopped: Status | None = None
    try:
        with until(clock):
            way.go(settings)
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    except OutOfTime:
        stopped = Status.TIME_LIMIT
    # what is left of the time; with none left, or after Ctrl-C, the point is returned as it is
    stopping = replace(call.stopping, max_seconds=clock.left)
    if stopped is not None:
        free = replace(free, certify=free.certify and stopped is Status.TIME_LIMIT, on_failure="ignore")
        stopping = replace(stopping, max_iterations=0, max_seconds=0.0)
    result = plain.solve(data, replace(free, start=way.z, stopping=stopping))
    method = result.method.replace("the start given", way.words)
    result = replace(result, seconds=clock.seconds, method=method)
    return result if stopped is None else stopped_by(result, stopped, call.on_failure)


class _Way:
    """The best phases so far, and in words how they were found."""

    def __init__(self, operator: SparseOperator, call: Call, clock: Clock) -> None:
        self.operator, self.call, self.clock = operator, call, clock
        self._z: NDArray | None = None
        self._found: list[tuple[NDArray[np.int64], NDArray]] = []
        """Nodes and phases of the parts that are done."""
        self.words = "a breadth-first tree, because no part was ready"

    @property
    def z(self) -> NDArray:
        """Phases for every node at any time: along a tree where there are no others yet."""
        if self._z is None:
            self._z = self._cut_short()
        return self._z.astype(self.operator.dtype)

    def _cut_short(self) -> NDArray:
        """The parts that are done, the rest along a tree, and the phases between them; or the tree, if that is better.

        The last problem has as many nodes as parts, so that it takes no time that anybody would notice.
        """
        matrix = self.operator.matrix
        roots = np.unique(self.operator.component_labels(), return_index=True)[1]
        tree = breadth_first_forest(matrix, roots)
        if not self._found:
            return tree
        z, number = tree.copy(), np.zeros(tree.size, dtype=np.int32)
        for k, (index, phases) in enumerate(self._found):
            z[index], number[index] = phases, k + 1
        piece = pieces_of(matrix, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = replace(self.call, stopping=replace(self.call.stopping, max_seconds=None))
            z *= gauges(self.operator.edges, piece, z, call).z[piece]
        if objective(matrix, z) <= objective(matrix, tree):
            return tree
        self.words = f"{len(self._found)} parts that were done and a breadth-first tree of the rest"
        return z

    def go(self, settings: Parts) -> None:
        """All parts, then what joins them."""
        matrix, edges = self.operator.matrix, self.operator.edges
        parts = partition(matrix, settings.count)
        number = np.empty(self.operator.n, dtype=np.int32)
        z = np.ones(self.operator.n, dtype=np.complex128)
        for k, index in enumerate(parts):
            number[index] = k
        found = solved_parts(matrix, parts, self.call, self.clock, settings.client)
        for index, phases in zip(parts, found, strict=True):
            z[index] = phases
            self._found.append((index, phases))
        where = "here" if settings.client is None else "by workers"
        self.words = f"{len(parts)} parts solved {where}"
        piece = pieces_of(matrix, number)
        call = replace(self.call, stopping=replace(self.call.stopping, max_seconds=self.clock.left))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the whole says where it falls apart
            between = gauges(edges, piece, z, call)
            z *= between.z[piece]
            self._z = z
            verdict = between.certificate.verdict.name if between.certificate is not None else "not certified"
            self.words += f", the phases between them from {between.z.size} nodes ({verdict})"
            inside = near_cuts(edges, number)
            self._z = swept(matrix, z, inside, call)
        self.words += f", {inside.size} nodes along the cuts solved again"
