"""The answers for the components as one answer: units, gauge, history, certificate, and what is said about them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.verdict import Certificate, combine, interrupted
from angsync.errors import ConvergenceError, ConvergenceWarning, warn_user
from angsync.pipeline.call import Call
from angsync.pipeline.gauge import in_gauge
from angsync.pipeline.result import SyncResult
from angsync.pipeline.tried_starts import Starts
from angsync.problem.intake import Intake, normalized
from angsync.problem.operators import Operator, ScaledOperator
from angsync.problem.residual import rounding_floor, shown_residual
from angsync.solvers.stopping import Callback, Clock, History, Progress, Status

# From the most to the least urgent: where components end differently, the result has the most urgent status.
_URGENCY = (
    Status.INTERRUPTED,
    Status.STOPPED_BY_CALLBACK,
    Status.TIME_LIMIT,
    Status.ITERATION_LIMIT,
    Status.STALLED,
    Status.CONVERGED,
    Status.EMPTY,
)


def component_gauge(index: NDArray[np.int64], gauge: str | int) -> Callable[[NDArray], NDArray]:
    """The function that turns the phases of one component into the gauge of the result.

    Its phases are, bit for bit, those that ``in_gauge`` gives for the whole problem.
    """
    own = gauge if isinstance(gauge, str) else int(np.flatnonzero(index == gauge)[0])
    return lambda z: in_gauge(z, np.zeros(z.size, dtype=np.int64), own, None)


@dataclass(frozen=True)
class Units:
    """The way back from the objective of a component, as it is solved, to the objective of the C given."""

    exponent: int = 0
    """The component was divided by two to this power."""
    constant: float = 0.0
    """What a diagonal that was left out adds to the objective: its sum."""

    @classmethod
    def of(cls, given: Operator, part: ScaledOperator) -> Units:
        left_out = part.base is not given
        return cls(part.exponent, float(given.diagonal().sum()) if left_out else 0.0)

    def restored(self, objective: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ldexp(objective, self.exponent) + self.constant

    def restored_for(self, callback: Callback | None, index: NDArray[np.int64]) -> Callback | None:
        """The callback, called with the objective of the C given and with the nodes in the order of the C given."""
        if callback is None:
            return None

        order = np.argsort(index)

        def wrapped(progress: Progress) -> Any:
            objective = math.ldexp(progress.objective, self.exponent) + self.constant
            return callback(dataclasses.replace(progress, objective=objective, z=progress.z[order], nodes=index[order]))

        return wrapped


def merged_history(histories: list[History]) -> History:
    """One history for all components: objectives add, residuals take the worst, steps add in squares."""
    if len(histories) < 2:
        return histories[0] if histories else History()
    length = max(h.objective.size for h in histories)

    def padded(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.pad(x, (0, length - x.size), mode="edge") if x.size else np.zeros(length)

    return History(
        objective=np.sum([padded(h.objective) for h in histories], axis=0),
        residual=np.max([padded(h.residual) for h in histories], axis=0),
        step=np.sqrt(np.sum([np.pad(h.step, (0, length - h.step.size)) ** 2 for h in histories], axis=0)),
    )


class Run(NamedTuple):
    """How a point was found, for one component or for all of them together: status, counts, history, words."""

    status: Status
    iterations: int
    matvecs: int
    history: History
    method: str


class Point(NamedTuple):
    """The phases that are returned, with their product, objective and residual."""

    z: NDArray
    product: NDArray
    objective: float
    residual: float


def point_at(operator: Operator, z: NDArray, known: tuple[ScaledOperator, NDArray] | None = None) -> Point:
    """C z, f(z) and the residual at the point returned, in double precision whatever the problem's precision.

    ``known``: C as it was solved, and its product with z.
    """
    wide = z.astype(np.complex128)
    wide /= np.abs(wide)
    if known is None:
        part = normalized(operator)
        product = part.apply(wide)
    else:
        part, product = known
    objective, residual = shown_residual(wide, product, rounding_floor(part, wide.dtype))
    units = Units.of(operator, part)
    product = ScaledOperator(operator, -part.exponent).scaled(product)
    if part.base is not operator:  # the diagonal would have drowned the rest
        product += operator.diagonal() * wide
        _, residual = shown_residual(wide, product, rounding_floor(operator, wide.dtype))
    return Point(z, product, float(units.restored(np.array(objective))), residual)


def joined_runs(runs: Sequence[Run], n: int) -> Run:
    """One run out of the runs of all components that have more than one node."""
    if len(runs) == 1:
        return runs[0]
    return Run(
        status=min(
            (run.status for run in runs), key=_URGENCY.index, default=Status.CONVERGED if n == 1 else Status.EMPTY
        ),
        iterations=max((run.iterations for run in runs), default=0),
        matvecs=sum(run.matvecs for run in runs),
        history=merged_history([run.history for run in runs]),
        method=_method_of(runs, n),
    )


def result_of(
    intake: Intake,
    call: Call,
    clock: Clock,
    point: Point,
    components: NDArray[np.int64],
    run: Run,
    certificate: Certificate | None,
    *,
    starts: Starts | None = None,
    note: str = "",
) -> SyncResult:
    """The one place where a result is filled, and where a failure is reported.

    ``note``: what is to be said beside the status, about components that do not hang together, or were not reached.
    """
    result = SyncResult(
        z=point.z,
        objective=point.objective,
        residual=point.residual,
        status=run.status,
        message=f"{run.status.value} {note}" if note else run.status.value,
        iterations=run.iterations,
        matvecs=run.matvecs,
        seconds=clock.seconds,
        history=run.history,
        certificate=certificate,
        method=run.method,
        components=components,
        tolerance=call.stopping.tolerance_for(intake.operator.dtype),
        gauge=call.gauge,
        labels=intake.labels,
        product=point.product,
        source=intake.source,
        starts=starts,
    )
    _report_failure(result, call.on_failure)
    return result


def stopped_by(result: SyncResult, status: Status, on_failure: str = "ignore") -> SyncResult:
    """The result of a call of which this was the end, whatever its last part says; its failure is told if wanted."""
    if result.status is status:
        return result
    message = result.message.replace(result.status.value, status.value)
    result = dataclasses.replace(result, status=status, message=message)
    _report_failure(result, on_failure)
    return result


def one_certificate(certificates: list[Certificate], indices: list[NDArray[np.int64]], z: NDArray) -> Certificate:
    if len(certificates) < len(indices):
        return interrupted()
    return combine(certificates, indices, z, tolerance=GAP_TOLERANCE)


def _method_of(runs: Sequence[Run], n: int) -> str:
    if not runs:
        return "nothing to solve: there is only one node" if n == 1 else "nothing to solve: there are no measurements"
    sentences = list(dict.fromkeys(run.method for run in runs))
    if len(sentences) > 3:
        sentences = [*sentences[:3], f"and {len(sentences) - 3} more"]
    return "; ".join(sentences)


def _report_failure(result: SyncResult, on_failure: str) -> None:
    silent = (Status.CONVERGED, Status.STOPPED_BY_CALLBACK, Status.INTERRUPTED)
    told = result.status is Status.EMPTY and on_failure == "warn"  # by the warning about nodes without measurements
    if result.status in silent or told or on_failure == "ignore":
        return
    text = f"{result.status.name}: {result.status.value} Residual {result.residual:.2e}."
    if on_failure == "raise":
        raise ConvergenceError(text, result)
    warn_user(text, ConvergenceWarning)
