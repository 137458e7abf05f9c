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
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync.batch import input as batch_input
from angsync.batch.device import POLISH_STEPS, prove_batch_on_device, solve_batch_on_device
from angsync.batch.input import GAUGES, TRIANGLES, emi_matrix
from angsync.batch.proof import certificates
from angsync.batch.result import BatchResult, BatchStatus
from angsync.errors import ConvergenceError, ConvergenceWarning, InputError
from angsync.kernels.batch.numbers import FIELDS, MAX_ORDER, BatchOptions, Numbers, chirp
from angsync.problem.arrays import dtype_name, is_foreign, namespace, on_cuda, to_numpy
from angsync.solvers.stopping import Status, Stopping

__all__ = ["BatchResult", "BatchStatus", "emi_matrix", "synchronize_stack"]

POWER_STEPS = 10  # two leave about one hard problem in a hundred at a worse optimum
GPM_STEPS = 6  # after which Newton steps take over in any case
_PROOF_TOLERANCE = 5e-7  # residual of single precision where a proof follows: its gap is of second order in it
_PROOFS: dict[str, Any] = {"verdict": np.int8, "gap_bound": float, "relative_gap": float, "lambda_2": float}
_NOT_REACHED: dict[str, Any] = {"status": BatchStatus.INTERRUPTED, "iterations": 0, "verdict": 1}  # otherwise NaN


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
    begin = time.perf_counter()
    stack = to_numpy(stack) if is_foreign(stack) else stack if isinstance(stack, np.ndarray) else np.asarray(stack)
    stopping = Stopping() if stopping is None else stopping
    batch_input.check_call(stack, stopping, gauge, on_failure, hermitian, power_steps)
    leading, n = stack.shape[:-2], stack.shape[-1]
    dtype = np.dtype(np.complex64 if stack.dtype in (np.complex64, np.float32, np.float16) else np.complex128)
    tolerance = stopping.tolerance_for(dtype)
    weighted = batch_input.broadcast(weights, stack.shape, "weights")
    masked = batch_input.broadcast(mask, stack.shape[:-1], "mask")
    if masked is not None and masked.dtype != bool:
        raise InputError(f"mask must be boolean (True leaves a node out), but its dtype is {masked.dtype}.")
    count = math.prod(leading)
    z = np.empty((count, n), dtype=dtype)
    numbers = Numbers.of(count)
    proofs = {name: np.empty(count, dtype=kind) for name, kind in (_PROOFS if certify else {}).items()}
    done, scratch = 0, np.empty((len(FIELDS), 0))
    in_place = stack.flags.c_contiguous and stack.dtype == dtype and weighted is None and masked is None
    options: dict[str, Any] = {"gauge": gauge, "hermitian": hermitian, "certify": certify}
    solve = _solve_block if n <= MAX_ORDER else _one_by_one
    try:
        for part in batch_input.blocks(count, n, dtype, in_place=in_place) if n <= MAX_ORDER else _singles(count):
            problems = batch_input.problems_of(stack, weighted, masked, part, dtype)
            if scratch.shape[1] != len(problems):
                scratch = np.zeros((len(FIELDS), len(problems)))
            place = (part.start, leading)
            found = solve(problems, z[part], numbers.part(part), scratch, stopping, power_steps, place, options)
            for name, values in proofs.items():
                values[part] = found[name]
            done = part.stop
            if callback is not None and callback(done, count):
                break
    except KeyboardInterrupt:
        pass  # the statuses say how far it went
    z[done:] = np.nan
    kept = numbers._asdict() | proofs
    for name, values in kept.items():
        values[done:] = _NOT_REACHED.get(name, np.nan)
    if masked is not None:
        z[masked.reshape(count, n)] = np.nan
    result = BatchResult(
        z=z.reshape(*leading, n),
        tolerance=tolerance,
        gauge=gauge,
        seconds=time.perf_counter() - begin,
        **{name: values.reshape(leading) for name, values in kept.items()},
    )
    _report_failure(result, on_failure)
    return result


def from_front_door(**options: Any) -> Any:
    """What ``ang.synchronize`` does with a stack: options that mean something for it, and a word about the others."""
    data = options.pop("data")
    for name in ("solver", "start", "callback", "anchors", "priors"):
        value = options.pop(name, None)
        if value is not None and not (isinstance(value, str) and value == "auto"):
            raise InputError(
                f"{name} is not for a stack of problems: leave it out, or solve one problem at a time, "
                "[ang.synchronize(C) for C in stack]."
            )
    known = {"stopping", "certify", "gauge", "on_failure", "hermitian"}
    if is_foreign(data) and on_cuda(data):
        return _on_device(data, {name: value for name, value in options.items() if name in known})
    return synchronize_stack(data, **{name: value for name, value in options.items() if name in known})


def _solve_block(
    problems: NDArray,
    z: NDArray,
    numbers: Numbers,
    found: NDArray[np.float64],
    stopping: Stopping,
    power_steps: int,
    place: tuple[int, tuple[int, ...]],
    options: dict[str, Any],
) -> dict[str, NDArray]:
    """Phases into ``z``, numbers into ``numbers`` and ``found``, and what is proved, by name, back.

    ``place``: where the block begins in the stack, and the stack's shape.
    """
    n = problems.shape[1]
    certify, tolerance = options["certify"], stopping.tolerance_for(problems.dtype)
    if n == 1:
        z[:] = 1
        numbers.objective[:], numbers.residual[:], numbers.iterations[:] = problems[:, 0, 0].real, 0, 0
        finite = np.isfinite(problems[:, 0, 0])
        numbers.status[:] = np.where(finite, BatchStatus.CONVERGED, BatchStatus.NOT_FINITE)
    else:
        how = BatchOptions(
            power_steps=power_steps,
            gpm_steps=GPM_STEPS,
            max_iterations=stopping.max_iterations,
            triangle=TRIANGLES[options["hermitian"]],
            certify=certify,
            gauge=GAUGES[options["gauge"]],
            tolerance=min(tolerance, _PROOF_TOLERANCE) if certify and tolerance > 0 else tolerance,
            accepted=tolerance,
        )
        suspects = kernels.solve_batch(problems, chirp(n).astype(np.complex128), z, numbers, found, how)
        if suspects:
            finite = numbers.status != BatchStatus.NOT_FINITE
            batch_input.check_hermitian(problems, found, finite, *place, options["hermitian"])
    if not certify:
        return {}
    return certificates(dict(zip(FIELDS, found, strict=True)) | {"status": numbers.status}, n)


def _singles(count: int) -> Any:
    return (slice(k, k + 1) for k in range(count))


def _one_by_one(
    problems: NDArray,
    z: NDArray,
    numbers: Numbers,
    scratch: NDArray[np.float64],
    stopping: Stopping,
    power_steps: int,
    place: tuple[int, tuple[int, ...]],
    options: dict[str, Any],
) -> dict[str, Any]:
    """A problem too large for the kernels: through the front door."""
    import angsync

    if not np.isfinite(problems).all():
        z[0] = numbers.objective[0] = numbers.residual[0] = np.nan
        numbers.iterations[0], numbers.status[0] = 0, BatchStatus.NOT_FINITE
        return dict.fromkeys(_PROOFS, np.nan) | {"verdict": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = angsync.synchronize(problems[0], stopping=stopping, on_failure="ignore", **options)
    if one.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    z[0] = one.z
    codes = {Status.CONVERGED: BatchStatus.CONVERGED, Status.STALLED: BatchStatus.STALLED}
    numbers.objective[0], numbers.residual[0], numbers.iterations[0] = one.objective, one.residual, one.iterations
    numbers.status[0] = codes.get(one.status, BatchStatus.ITERATION_LIMIT)
    found: dict[str, Any] = {}
    proof = one.certificate
    if proof is not None:
        found |= {"gap_bound": proof.gap_bound, "relative_gap": proof.relative_gap, "lambda_2": proof.lambda_2}
        found["verdict"] = 0 if proof.verdict.name == "CERTIFIED" else 1
    return found


def _on_device(data: Any, options: dict[str, Any]) -> BatchResult:
    """A stack in the memory of a device: the phases stay there, a few numbers a problem come back."""
    begin = time.perf_counter()
    if options.get("hermitian", "full") != "full" or options.get("gauge", "first") != "first":
        raise InputError("on a device, a stack of problems is taken in full, with gauge='first': leave both out.")
    stopping = options.get("stopping") or Stopping()
    tolerance = stopping.tolerance_for(np.dtype(dtype_name(data)))
    limit = min(stopping.max_iterations, 2**30)
    certify = options.get("certify", True)
    # a proof needs points beyond single precision's first digits: two more steps, while C is at hand
    steps = POLISH_STEPS if certify else 0
    found = solve_batch_on_device(data, tolerance=tolerance, max_iterations=limit, polish_steps=steps)
    z = found["z"] * namespace(data).conj(found["z"][..., :1])
    numbers = {name: to_numpy(found[name]) for name in ("objective", "residual", "iterations", "status")}
    proofs: dict[str, NDArray] = {}
    if certify:
        proofs = certificates({**prove_batch_on_device(data, z), "status": numbers["status"]}, data.shape[-1])
    result = BatchResult(
        z=z,
        objective=numbers["objective"].astype(np.float64),
        residual=numbers["residual"].astype(np.float64),
        iterations=numbers["iterations"].astype(np.int32),
        status=numbers["status"].astype(np.int8),
        tolerance=tolerance,
        gauge="first",
        seconds=time.perf_counter() - begin,
        **proofs,
    )
    _report_failure(result, options.get("on_failure", "warn"))
    return result


def _report_failure(result: BatchResult, on_failure: str) -> None:
    text = result.failures()
    if not text or on_failure == "ignore":
        return
    if on_failure == "raise":
        raise ConvergenceError(text, result)
    warnings.warn(text, ConvergenceWarning, stacklevel=5)
