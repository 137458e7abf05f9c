"""The answers for the components as one answer: units, gauge, history, certificate, and what is said about them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.verdict import TOLERANCE, Certificate, combine, interrupted
from angsync.errors import ConvergenceError, ConvergenceWarning, DisconnectedWarning, warn_user
from angsync.pipeline.component import Solved
from angsync.pipeline.result import SyncResult, in_gauge
from angsync.problem import pieces
from angsync.problem.operators import HermitianOperator, ScaledOperator
from angsync.solvers.stopping import Callback, History, Progress, Status


def settler(index: NDArray[np.int64], gauge: str | int) -> Callable[[NDArray], NDArray]:
    """The phases of one component in the gauge of the result, bit for bit as ``in_gauge`` gives them for the whole."""
    own = gauge if isinstance(gauge, str) else int(np.flatnonzero(index == gauge)[0])
    return lambda z: in_gauge(z, np.zeros(z.size, dtype=np.int64), own, None)


@dataclass(frozen=True)
class Units:
    """From the objective of a component as it is solved back to that of the C given: a power of two and a constant."""

    exponent: int = 0
    constant: float = 0.0
    """The sum of a diagonal that was left out."""

    @classmethod
    def of(cls, given: HermitianOperator, part: ScaledOperator) -> Units:
        left_out = part.base is not given
        return cls(part.exponent, float(given.diagonal().sum()) if left_out else 0.0)

    def restored(self, objective: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ldexp(objective, self.exponent) + self.constant

    def restored_for(self, callback: Callback | None, order: NDArray[np.int64] | None) -> Callback | None:
        """The callback sees the objective of the C given, and the nodes in their own order."""
        if callback is None:
            return None

        def wrapped(progress: Progress) -> Any:
            objective = math.ldexp(progress.objective, self.exponent) + self.constant
            z = progress.z
            if order is not None:
                z = np.empty_like(progress.z)
                z[order] = progress.z
            return callback(dataclasses.replace(progress, objective=objective, z=z))

        return wrapped


def report_pieces(components: NDArray[np.int64], labels: tuple[Hashable, ...] | None) -> None:
    note = pieces.in_words(components, labels)
    if note:
        warn_user(note, DisconnectedWarning)


def message(
    status: Status, components: NDArray[np.int64], labels: tuple[Hashable, ...] | None, unfinished: bool
) -> str:
    text = status.value
    if unfinished:
        text += " Some components were not reached; their phases are 0."
    note = pieces.in_words(components, labels)
    return f"{text} {note}" if note else text


def merged(histories: list[History]) -> History:
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


def one_certificate(certificates: list[Certificate], indices: list[NDArray[np.int64]], z: NDArray) -> Certificate:
    if len(certificates) < len(indices):
        return interrupted()
    return combine(certificates, indices, z, tolerance=TOLERANCE)


def method_of(parts: list[Solved], n: int) -> str:
    if not parts:
        return "nothing to solve: there is only one node" if n == 1 else "nothing to solve: there are no measurements"
    sentences = list(dict.fromkeys(part.method for part in parts))
    if len(sentences) > 3:
        sentences = [*sentences[:3], f"and {len(sentences) - 3} more"]
    return "; ".join(sentences)


def report_failure(result: SyncResult, on_failure: str) -> None:
    if result.status in (Status.CONVERGED, Status.STOPPED_BY_CALLBACK, Status.INTERRUPTED) or on_failure == "ignore":
        return
    text = f"{result.status.name}: {result.status.value} Residual {result.residual:.2e}."
    if on_failure == "raise":
        raise ConvergenceError(text, result)
    warn_user(text, ConvergenceWarning)
