"""Solve and prove small problems and components with the kernels for stacks: those of equal order make a stack.

The loop of the pipeline takes a millisecond, however few nodes there are; a stack takes a microsecond for each problem.
What a stack does not prove is left to the loop, which looks for other optima as well: all that is taken from here is
certified. A connected problem is a stack of one, for which the kernel records the history.
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
from angsync.kernels.batch.numbers import CONVERGED, FIELDS, MAX_ORDER, PROVE_ALL, BatchNumbers, BatchOptions, chirp
from angsync.pipeline.assembly import Run
from angsync.pipeline.call import Call
from angsync.problem.operators import DenseOperator, Operator, SparseOperator
from angsync.problem.residual import objective_and_residual, rounding_floor
from angsync.solvers.loop import UNEVEN_RATIO, is_even
from angsync.solvers.stopping import Callback, Clock, History, Progress, Status

# Orders of a connected problem: a stack of one uses one lane of a vector, and costs n^3. With the kernels for dense
# matrices the loop is as fast from the second on (0.3 ms); sparse graphs take it 3 ms at the first.
_CONNECTED_UP_TO, _DENSE_UP_TO = 128, 47
_MOST_ITERATIONS = 100  # a few are usual; a call that allows fewer is left to the loop, which counts them
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
        self.history: NDArray[np.float64] | None = None
        """Of a connected problem: objective, residual, length of the step and products so far at every iterate."""

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
        """The run of all of them. Of several no history is kept: what was found is the start, where the run ends."""
        if self.history is not None:
            objective, residual, step, products = self.history.T.copy()
            method = (
                f"power and Newton steps of the kernel for stacks, because there are few nodes (n = {self.largest})"
            )
            return Run(Status.CONVERGED, self.iterations, int(products[-1]), History(objective, residual, step), method)
        total = math.fsum(float(x) for part in self.objectives for x in part)
        history = History(np.array([total]), np.array([self.residual]), np.zeros(1))
        method = (
            f"{self.count} components of {self.largest} nodes or fewer in stacks, at most {self.iterations} iterations "
            "each, because they are small"
        )
        return Run(Status.CONVERGED, 0, self.products, history, method)


def is_for_stacks(operator: Operator, call: Call, sizes: NDArray[np.int64]) -> bool:
    """Return True if there are small components, and nothing was asked for that the kernels for stacks do not do."""
    if (
        not isinstance(operator, SparseOperator | DenseOperator)
        or operator.dtype != np.complex128
        or operator.asymmetry() != 0  # the certificates of a stack would have to know it part by part
        or call.solver is not None
        or call.stopping.max_iterations < _MOST_ITERATIONS
        or not call.stopping.tolerance_for(operator.dtype) > 0
    ):
        return False
    if sizes.size == 1:
        if not 1 < operator.n <= _CONNECTED_UP_TO or not call.is_free_to_start_anywhere or call.callback is not None:
            return False
        return not operator.is_dense_matrix or operator.n <= _DENSE_UP_TO or not is_even(operator.abs_row_sums())
    # a proved optimum needs no start
    free = call.is_free_to_start_anywhere or not isinstance(call.start, str)
    return free and bool(((sizes > 1) & (sizes <= MAX_ORDER)).any())


def solve_small(
    operator: Operator, call: Call, components: NDArray[np.int64], sizes: NDArray[np.int64], clock: Clock
) -> Solved | None:
    """Solve and certify the small components; None if nothing was proved, or no time was left."""
    assert isinstance(operator, SparseOperator | DenseOperator)  # seen by is_for_stacks
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
            _solve_block(operator, nodes, local, z, solved, tally, tolerance, watch)
    if tally.count == 0:
        return None
    stopped = Status.STOPPED_BY_CALLBACK if watch is not None and watch.stopped else None
    run = tally.run()
    if stopped is not None:
        run = run._replace(status=stopped)
    return Solved(z, solved, run, tally.certificate(), stopped)


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
    operator: SparseOperator | DenseOperator,
    nodes: NDArray[np.int64],
    local: NDArray[np.int32],
    z: NDArray,
    solved: NDArray[np.bool_],
    tally: _Tally,
    tolerance: float,
    watch: _Watch | None,
) -> None:
    """Solve the components whose nodes are the rows of ``nodes``; keep what is certified."""
    count, m = nodes.shape
    stack = _matrices(operator, nodes, local)
    phases = np.empty((count, m), dtype=np.complex128)
    numbers, found = BatchNumbers.of(count), np.zeros((len(FIELDS), count))
    options = BatchOptions(
        power_steps=_POWER_STEPS,
        gpm_steps=_GPM_STEPS,
        max_iterations=_MOST_ITERATIONS,
        triangle=0,
        certify=PROVE_ALL,
        gauge=1,
        swept=True,
        tolerance=tolerance,
        accepted=tolerance,
    )
    start = chirp(m).astype(np.complex128)
    history = np.empty((_MOST_ITERATIONS + 1, 4)) if m == operator.n else None
    kernels.solve_batch(stack, start, phases, numbers, found, options, history)
    fields: dict[str, NDArray] = {"status": numbers.status, "components": numbers.components}
    claims = certificates(dict(zip(FIELDS, found, strict=True)) | fields, m, _CLAIMS)
    proved = (numbers.status == CONVERGED) & (claims["verdict"] == 0) & (found[FIELDS.index("nodes")] == m)
    if proved.any() and history is not None and operator.diagonal().any():
        # the kernel leaves the diagonal out: with it, C z may nearly vanish
        _, residual = objective_and_residual(phases[0], operator.apply(phases[0]), rounding_floor(operator))
        proved &= residual <= tolerance
    for k in np.flatnonzero(proved & ~(claims["unique"] > 0)):
        # what is tied by measurements of small weight needs a proof of its own, unless the optimum is unique
        moduli = np.abs(stack[k])
        proved[k] = moduli.max() <= UNEVEN_RATIO * moduli[moduli > 0].min()
    if proved.any():
        z[nodes[proved]] = phases[proved]
        solved[nodes[proved]] = True
        tally.add(m, proved, numbers, claims)
        if history is not None:
            tally.history = history[: tally.iterations + 1]
        if watch is not None:
            watch.tell(nodes, phases, numbers, proved)


def _matrices(
    operator: SparseOperator | DenseOperator, nodes: NDArray[np.int64], local: NDArray[np.int32]
) -> NDArray[np.complex128]:
    """The matrices of the components whose nodes are the rows of ``nodes``, contiguous."""
    count, m = nodes.shape
    if isinstance(operator, DenseOperator):
        whole = operator.to_dense()
        picked = whole[None] if m == operator.n else whole[nodes[:, :, None], nodes[:, None, :]]
        return np.ascontiguousarray(picked, dtype=np.complex128)
    rows = operator.matrix[nodes.ravel()]
    stack = np.zeros((count * m, m), dtype=np.complex128)
    stack[np.repeat(np.arange(count * m), np.diff(rows.indptr)), local[rows.indices]] = rows.data
    return stack.reshape(count, m, m)
