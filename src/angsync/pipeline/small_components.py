"""Small components at once: those of equal order make a stack, which the kernels for stacks solve and prove.

One component takes the pipeline a millisecond, however small it is; a stack takes a microsecond for each. What a stack
does not prove is left to the pipeline, which looks for other optima as well: all that is taken from here is certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.stacked import CLAIMS, certificates
from angsync.certificate.verdict import Certificate, Verdict, ratio
from angsync.kernels.batch.numbers import CONVERGED, FIELDS, MAX_ORDER, BatchNumbers, BatchOptions, chirp
from angsync.pipeline.assembly import Run
from angsync.pipeline.call import Call
from angsync.problem.operators import Operator, SparseOperator
from angsync.solvers.loop import UNEVEN_RATIO
from angsync.solvers.stopping import Callback, Clock, History, Progress, Status

_LEAST_ITERATIONS = 100  # that the call allows: with fewer, the loop of the pipeline counts them
_POWER_STEPS, _GPM_STEPS = 10, 6  # as for a stack (batch/call.py, batch/stack.py)
_CLAIMS = (*CLAIMS, "lambda_min", "unique", "scale", "rounding")
_BLOCK_ENTRIES = 1 << 20  # of the matrices that are solved between two looks at the clock


class Solved(NamedTuple):
    """What is proved about the components that a stack solved."""

    z: NDArray
    """Phases of all nodes: those of the components solved, 1 elsewhere."""
    solved: NDArray[np.bool_]
    """For each node whether its component is solved, and certified."""
    run: Run
    objective: float
    certificate: Certificate
    stopped: Status | None
    """STOPPED_BY_CALLBACK where a callback returned True."""


class _Tally:
    """The numbers of all components that were proved so far."""

    def __init__(self) -> None:
        self.columns: dict[str, list[NDArray]] = {name: [] for name in _CLAIMS}
        self.objectives: list[NDArray] = []
        self.products = self.iterations = self.count = self.largest = 0
        self.residual = 0.0

    def add(self, m: int, proved: NDArray[np.bool_], numbers: BatchNumbers, claims: dict[str, NDArray]) -> None:
        """Those components of order m that are proved."""
        for name, parts in self.columns.items():
            parts.append(claims[name][proved])
        self.objectives.append(numbers.objective[proved])
        iterations = numbers.iterations[proved]
        self.products += int(iterations.sum()) + iterations.size
        self.iterations = max(self.iterations, int(iterations.max()))
        self.residual = max(self.residual, float(numbers.residual[proved].max()))
        self.count += iterations.size
        self.largest = max(self.largest, m)

    def total(self, name: str) -> float:
        return math.fsum(float(x) for part in self.columns[name] for x in part)

    def certificate(self) -> Certificate:
        """One certificate for all of them; each alone is certified."""
        gap, scale = self.total("gap_bound"), self.total("scale")
        return Certificate(
            verdict=Verdict.CERTIFIED,
            gap_bound=gap,
            relative_gap=ratio(gap, scale),
            lambda_min=min(float(part.min()) for part in self.columns["lambda_min"]),
            lambda_2=min(float(part.min()) for part in self.columns["lambda_2"]),
            unique=all(bool(part.all()) for part in self.columns["unique"]),
            witness=None,
            method="cholesky",
            confidence=1.0,
            tolerance=GAP_TOLERANCE,
            scale=scale,
            rounding=self.total("rounding"),
        )

    def run(self) -> Run:
        """The run of all of them. The kernels keep no history: what they find is the start, at which the run ends."""
        objective = math.fsum(float(x) for part in self.objectives for x in part)
        history = History(np.array([objective]), np.array([self.residual]), np.zeros(1))
        method = (
            f"{self.count} components of {self.largest} nodes or fewer in stacks, at most {self.iterations} iterations "
            "each, because they are small"
        )
        return Run(Status.CONVERGED, 0, self.products, history, method)


def is_worth_stacks(operator: Operator, call: Call, sizes: NDArray[np.int64]) -> bool:
    """Return True if there are small components, and nothing was asked for that the kernels for stacks do not do."""
    return (
        bool(((sizes > 1) & (sizes <= MAX_ORDER)).any())
        and isinstance(operator, SparseOperator)
        and operator.dtype == np.complex128
        and operator.asymmetry() == 0  # the certificates of a stack would have to know it part by part
        and call.solver is None
        and (call.is_free_to_start_anywhere or not isinstance(call.start, str))  # a proved optimum needs no start
        and call.stopping.max_iterations >= _LEAST_ITERATIONS
        and call.stopping.tolerance_for(operator.dtype) > 0
    )


def solve_small_components(
    operator: Operator, call: Call, components: NDArray[np.int64], sizes: NDArray[np.int64], clock: Clock
) -> Solved | None:
    """Solve and certify the components of at most 256 nodes; None where nothing was proved, or no time was left."""
    assert isinstance(operator, SparseOperator)  # seen by is_worth_stacks
    n = operator.n
    z = np.ones(n, dtype=np.complex128)
    solved = np.zeros(n, dtype=bool)
    watch = None if call.callback is None else _Watch(call.callback, components, clock)
    order = np.argsort(components, kind="stable")
    first = np.cumsum(sizes) - sizes
    local = np.empty(n, dtype=np.int32)
    local[order] = np.arange(n) - np.repeat(first, sizes)
    tally = _Tally()
    tolerance = call.stopping.tolerance_for(operator.dtype)
    for size in np.unique(sizes[(sizes > 1) & (sizes <= MAX_ORDER)]):
        m = int(size)
        for part in _blocks(first[sizes == m], m):
            if clock.expired or (watch is not None and watch.stopped):
                break
            nodes = order[part[:, None] + np.arange(m)]
            _solve_block(operator, nodes, local, z, solved, tally, call.stopping.max_iterations, tolerance, watch)
    if tally.count == 0:
        return None
    stopped = Status.STOPPED_BY_CALLBACK if watch is not None and watch.stopped else None
    run = tally.run()
    if stopped is not None:
        run = run._replace(status=stopped)
    return Solved(z, solved, run, float(run.history.objective[0]), tally.certificate(), stopped)


class _Watch:
    """Tells the callback of every component that is solved: one iterate each, the last."""

    def __init__(self, callback: Callback, components: NDArray[np.int64], clock: Clock) -> None:
        self.callback, self.components, self.clock = callback, components, clock
        self.stopped = False

    def tell(self, nodes: NDArray[np.int64], phases: NDArray, numbers: BatchNumbers, proved: NDArray[np.bool_]) -> None:
        for k in np.flatnonzero(proved):
            objective, residual = float(numbers.objective[k]), float(numbers.residual[k])
            number = int(self.components[nodes[k, 0]])
            seen = Progress(0, objective, residual, 0.0, self.clock.seconds, phases[k], number, nodes[k])
            if self.callback(seen):
                self.stopped = True
                return


def _blocks(first: NDArray[np.int64], m: int) -> Iterator[NDArray[np.int64]]:
    """The places at which components of order m begin, as many at a time as are solved together."""
    step = max(1, _BLOCK_ENTRIES // m**2)
    return (first[k : k + step] for k in range(0, first.size, step))


def _solve_block(
    operator: SparseOperator,
    nodes: NDArray[np.int64],
    local: NDArray[np.int32],
    z: NDArray,
    solved: NDArray[np.bool_],
    tally: _Tally,
    max_iterations: int,
    tolerance: float,
    watch: _Watch | None,
) -> None:
    """Solve the components whose nodes are the rows of ``nodes``; keep what is certified."""
    count, m = nodes.shape
    rows = operator.matrix[nodes.ravel()]
    stack = np.zeros((count * m, m), dtype=np.complex128)
    stack[np.repeat(np.arange(count * m), np.diff(rows.indptr)), local[rows.indices]] = rows.data
    phases = np.empty((count, m), dtype=np.complex128)
    numbers, found = BatchNumbers.of(count), np.zeros((len(FIELDS), count))
    options = BatchOptions(
        power_steps=_POWER_STEPS,
        gpm_steps=_GPM_STEPS,
        max_iterations=max_iterations,
        triangle=0,
        certify=True,
        gauge=1,
        swept=True,
        tolerance=tolerance,
        accepted=tolerance,
    )
    start = chirp(m).astype(np.complex128)
    kernels.solve_batch(stack.reshape(count, m, m), start, phases, numbers, found, options)
    field: dict[str, NDArray] = dict(zip(FIELDS, found, strict=True)) | {"status": numbers.status}
    claims = certificates(field, m, _CLAIMS)
    proved = (numbers.status == CONVERGED) & (claims["verdict"] == 0) & (field["nodes"] == m)
    moduli = np.abs(stack).reshape(count, m * m)
    least = np.where(moduli > 0, moduli, np.inf).min(axis=1)
    # what is tied by measurements of small weight needs a proof of its own, unless the optimum is unique
    proved &= (claims["unique"] > 0) | (moduli.max(axis=1) <= UNEVEN_RATIO * least)
    if proved.any():
        z[nodes[proved]] = phases[proved]
        solved[nodes[proved]] = True
        tally.add(m, proved, numbers, claims)
        if watch is not None:
            watch.tell(nodes, phases, numbers, proved)
