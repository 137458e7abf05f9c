"""A problem of a stack that is too large for the batch kernels, solved as a single problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall
from angsync.batch.result import BatchStatus
from angsync.certificate.verdict import Verdict
from angsync.errors import muted
from angsync.kernels.batch.numbers import BatchNumbers
from angsync.pipeline import plain
from angsync.pipeline.call import Call
from angsync.solvers.stopping import Status

# what is EMPTY or DISCONNECTED is settled for the whole stack, out of what has converged
_CODES = {
    Status.CONVERGED: BatchStatus.CONVERGED,
    Status.EMPTY: BatchStatus.CONVERGED,
    Status.STALLED: BatchStatus.STALLED,
}


def solve_alone(C: NDArray, z: NDArray, numbers: BatchNumbers, call: StackCall) -> dict[str, Any]:
    """Write the phases into ``z`` and the numbers into ``numbers``, stacks of one; return what is proved, by name."""
    if not np.isfinite(C).all():
        z[0] = numbers.objective[0] = numbers.residual[0] = np.nan
        numbers.iterations[0], numbers.status[0], numbers.components[0] = 0, BatchStatus.NOT_FINITE, 0
        return {"verdict": 1, "gap_bound": np.nan, "relative_gap": np.nan, "lambda_2": np.nan}
    own = Call(
        stopping=call.stopping,
        certify=call.certify,
        gauge=call.gauge,
        on_failure="ignore",
        hermitian=call.hermitian,  # type: ignore[arg-type]
        effort=call.effort,
    )
    with muted():
        one = plain.solve(C, own)
    if one.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    z[0] = one.z
    numbers.objective[0], numbers.residual[0], numbers.iterations[0] = one.objective, one.residual, one.iterations
    numbers.status[0] = _CODES.get(one.status, BatchStatus.ITERATION_LIMIT)
    numbers.components[0] = int(one.components.max()) + 1
    proof = one.certificate
    if proof is None:
        return {}
    return {
        "verdict": 0 if proof.verdict is Verdict.CERTIFIED else 1,
        "gap_bound": proof.gap_bound,
        "relative_gap": proof.relative_gap,
        "lambda_2": proof.lambda_2,
    }
