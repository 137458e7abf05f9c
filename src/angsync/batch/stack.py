r"""Many small problems in one call: a stack (..., n, n) in, arrays (...) out.

The problems are solved in C, several at a time, and never know of each other: the answer of one has the same bits
wherever it stands in the stack. What is done to each is in :mod:`angsync.kernels.batch.reference`.

The certificate of a batch is CERTIFIED or UNDECIDED: a lower bound on S(z) over the complement of z by Cholesky
factorisation, and the gap of :mod:`angsync.certificate.gap` from it. A batch looks for no better point, so nothing is
ever REFUTED; ``ang.synchronize(stack[index])`` does that for one problem.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync.batch import input as batch_input
from angsync.batch.call import GAUGES, POWER_STEPS, TRIANGLES, StackCall, check_stack
from angsync.batch.result import BatchResult, BatchStatus
from angsync.certificate.stacked import certificates
from angsync.errors import ConvergenceError, ConvergenceWarning, InputError, warn_user
from angsync.kernels.batch.numbers import FIELDS, MAX_ORDER, BatchNumbers, BatchOptions, chirp
from angsync.pipeline.call import Call
from angsync.problem.array_libraries import is_foreign, on_cuda, to_numpy
from angsync.solvers.stopping import Stopping

GPM_STEPS = 6  # power steps after which Newton steps take over in any case
_PROOF_TOLERANCE = 5e-7  # residual of single precision where a proof follows: its gap is of second order in it
PROOFS: dict[str, Any] = {"verdict": np.int8, "gap_bound": float, "relative_gap": float, "lambda_2": float}
_NOT_REACHED: dict[str, Any] = {"status": BatchStatus.INTERRUPTED, "iterations": 0, "verdict": 1}  # otherwise NaN


def solve(data: Any, call: Call) -> BatchResult:
    """What ``ang.synchronize`` does with a stack: options that mean nothing for a stack are refused."""
    not_for_stacks = {
        "solver": call.solver is not None or call.robust is not None,
        "start": not call.is_free_to_start_anywhere,
        "callback": call.callback is not None,
        "anchors": call.anchors is not None,
        "priors": call.priors is not None,
    }
    for name, given in not_for_stacks.items():
        if given:
            raise InputError(
                f"{name} is not for a stack of problems: leave it out, or solve one problem at a time, "
                "[ang.synchronize(C) for C in stack]."
            )
    own = StackCall(call.stopping, call.certify, call.gauge, call.on_failure, call.hermitian)
    if is_foreign(data) and on_cuda(data):
        from angsync.batch.on_device import solve_where_it_lies

        return reported(solve_where_it_lies(data, own), own)
    return reported(_solve_stack(data, own), own)


def synchronize_stack(
    stack: Any,
    *,
    weights: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    stopping: Stopping | None = None,
    certify: bool = True,
    gauge: Literal["first", "mean"] = "first",
    on_failure: Literal["warn", "raise", "ignore"] = "warn",
    hermitian: Literal["full", "upper", "lower"] = "full",
    power_steps: int = POWER_STEPS,
    callback: Callable[[int, int], object] | None = None,
) -> BatchResult:
    r"""Solve every problem of a stack; the same as :func:`angsync.synchronize` on an array with three or more axes.

    Parameters
    ----------
    stack
        Array (..., n, n). complex64 is solved in single precision. It may be read-only, not contiguous or a memory map:
        about 32 MB, or 1024 problems where those are more, are copied at a time.
    weights
        Array (..., n, n) of real numbers, or one that broadcasts to it: the problems are ``weights * stack``.
    mask
        Array (..., n) of booleans, or one that broadcasts to it; True marks nodes to leave out. Their entries in the
        stack are not looked at, so they may be NaN, and their phase comes back as NaN.
    stopping
        Tolerance and ``max_iterations``, the latter for each problem.
    certify
        Whether to bound the gap of each problem.
    gauge
        ``"first"``: the first node that has measurements gets angle 0. ``"mean"``: the sum of z is positive.
    on_failure
        What to do, once, when some problems did not converge or are not finite.
    hermitian
        ``"full"``: both triangles are compared, and the upper one is used. ``"upper"``, ``"lower"``: only that is read.
    power_steps
        Products with C before the first phases are taken.
    callback
        Called after every block of problems with how many are done and how many there are; True ends the call.

    Ctrl-C, like a callback that returns True, ends the call with what is done: the other problems have the status
    INTERRUPTED, and NaN everywhere else.
    """
    stopping = Stopping() if stopping is None else stopping
    call = StackCall(stopping, certify, gauge, on_failure, hermitian, power_steps, callback)
    return reported(_solve_stack(stack, call, weights, mask), call)


def reported(result: BatchResult, call: StackCall) -> BatchResult:
    """The result, after saying what did not converge in it."""
    text = result.failures()
    if text and call.on_failure == "raise":
        raise ConvergenceError(text, result)
    if text and call.on_failure == "warn":
        warn_user(text, ConvergenceWarning)
    return result


def _solve_stack(
    stack: Any, call: StackCall, weights: ArrayLike | None = None, mask: ArrayLike | None = None
) -> BatchResult:
    """Block by block, in the memory of the host."""
    begin = time.perf_counter()
    stack = to_numpy(stack) if is_foreign(stack) else stack if isinstance(stack, np.ndarray) else np.asarray(stack)
    check_stack(stack.shape, stack.dtype)
    leading, n = stack.shape[:-2], stack.shape[-1]
    dtype = np.dtype(np.complex64 if stack.dtype in (np.complex64, np.float32, np.float16) else np.complex128)
    weighted = batch_input.broadcast(weights, stack.shape, "weights")
    masked = batch_input.broadcast(mask, stack.shape[:-1], "mask")
    if masked is not None and masked.dtype != bool:
        raise InputError(f"mask must be boolean (True leaves a node out), but its dtype is {masked.dtype}.")
    count = math.prod(leading)
    z = np.empty((count, n), dtype=dtype)
    numbers = BatchNumbers.of(count)
    proofs = {name: np.empty(count, dtype=kind) for name, kind in (PROOFS if call.certify else {}).items()}
    done, scratch = 0, np.empty((len(FIELDS), 0))
    in_place = stack.flags.c_contiguous and stack.dtype == dtype and weighted is None and masked is None
    try:
        for part in _parts(count, n, dtype, in_place):
            problems = batch_input.problems_of(stack, weighted, masked, part, dtype)
            if scratch.shape[1] != len(problems):
                scratch = np.zeros((len(FIELDS), len(problems)))
            found = _solve_part(problems, z[part], numbers.part(part), scratch, call, (part.start, leading))
            for name, values in proofs.items():
                values[part] = found[name]
            done = part.stop
            if call.callback is not None and call.callback(done, count):
                break
    except KeyboardInterrupt:
        pass  # problems that were not reached have the status INTERRUPTED
    z[done:] = np.nan
    kept = numbers._asdict() | proofs
    for name, values in kept.items():
        values[done:] = _NOT_REACHED.get(name, np.nan)
    if masked is not None:
        z[masked.reshape(count, n)] = np.nan
    return BatchResult(
        z=z.reshape(*leading, n),
        tolerance=call.stopping.tolerance_for(dtype),
        gauge=call.gauge,
        seconds=time.perf_counter() - begin,
        **{name: values.reshape(leading) for name, values in kept.items()},
    )


def _parts(count: int, n: int, dtype: np.dtype[Any], in_place: bool) -> Iterable[slice]:
    """Problems that are solved together; one by one where they are too large for the kernels."""
    if n <= MAX_ORDER:
        return batch_input.blocks(count, n, dtype, in_place=in_place)
    return _singles(count)


def _singles(count: int) -> Iterator[slice]:
    return (slice(k, k + 1) for k in range(count))


def _solve_part(
    problems: NDArray,
    z: NDArray,
    numbers: BatchNumbers,
    found: NDArray[np.float64],
    call: StackCall,
    place: tuple[int, tuple[int, ...]],
) -> dict[str, Any]:
    """Solve one part: write into ``z``, ``numbers`` and ``found``, and return what is proved, by name.

    ``place``: where the part begins in the stack, and the stack's shape.
    """
    n = problems.shape[1]
    if n > MAX_ORDER:
        from angsync.batch.one_by_one import solve_alone

        return solve_alone(problems[0], z, numbers, call)
    tolerance = call.stopping.tolerance_for(problems.dtype)
    if n == 1:
        z[:] = 1
        numbers.objective[:], numbers.residual[:], numbers.iterations[:] = problems[:, 0, 0].real, 0, 0
        finite = np.isfinite(problems[:, 0, 0])
        numbers.status[:] = np.where(finite, BatchStatus.CONVERGED, BatchStatus.NOT_FINITE)
    else:
        how = BatchOptions(
            power_steps=call.power_steps,
            gpm_steps=GPM_STEPS,
            max_iterations=call.stopping.max_iterations,
            triangle=TRIANGLES[call.hermitian],
            certify=call.certify,
            gauge=GAUGES[call.gauge],
            tolerance=min(tolerance, _PROOF_TOLERANCE) if call.certify and tolerance > 0 else tolerance,
            accepted=tolerance,
        )
        suspects = kernels.solve_batch(problems, chirp(n).astype(np.complex128), z, numbers, found, how)
        if suspects:
            finite = numbers.status != BatchStatus.NOT_FINITE
            batch_input.check_hermitian(problems, found, finite, *place, call.hermitian)
    if not call.certify:
        return {}
    return certificates(dict(zip(FIELDS, found, strict=True)) | {"status": numbers.status}, n)
