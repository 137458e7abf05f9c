r"""Many small problems in one call: a stack (..., n, n) in, arrays (...) out.

The problems are solved in C, several at a time, and never know of each other: the answer of one has the same bits
wherever it stands in the stack. What is done to each is in :mod:`angsync.kernels.batch_reference`.

The certificate of a batch is CERTIFIED or UNDECIDED: a lower bound on S(z) over the complement of z by Cholesky
factorisation, and the gap of :mod:`angsync.gap` from it. A batch looks for no better point, so nothing is ever
REFUTED; ``ang.synchronize(stack[index])`` does that for one problem.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync._arrays import dtype_name, is_foreign, namespace, on_cuda, to_numpy
from angsync.batch_result import CERTIFICATE_TOLERANCE, BatchResult, BatchStatus
from angsync.errors import ConvergenceError, ConvergenceWarning, InputError, NotHermitianError, ShapeError
from angsync.iteration import Stopping
from angsync.kernels import batch_reference
from angsync.kernels.batch_reference import FIELDS, MAX_ORDER
from angsync.kernels.cuda_reference import chirp
from angsync.operators.device_batch import solve_batch_on_device
from angsync.rounding import gamma

__all__ = ["BatchResult", "BatchStatus", "emi_matrix", "synchronize_stack"]

POWER_STEPS = 10  # two leave about one hard problem in a hundred at a worse optimum
GPM_STEPS = 6  # before Newton steps take over
_CHUNK_BYTES = 1 << 25  # of the input at a time: all that is ever copied
_PROOF_TOLERANCE = (
    1e-6  # residual that single precision aims at where a proof follows: its gap is of second order in it
)
_NUMBERS: dict[str, Any] = {"objective": float, "residual": float, "iterations": np.int32, "status": np.int8}
_PROOFS: dict[str, Any] = {"verdict": np.int8, "gap_bound": float, "relative_gap": float, "lambda_2": float}
_TRIANGLES = {"full": 0, "upper": 1, "lower": 2}
_GAUGES = {"first": 1, "mean": 2}


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
) -> BatchResult:
    r"""Solve every problem of a stack; the same as :func:`angsync.synchronize` on an array with three or more axes.

    Parameters
    ----------
    stack
        Array (..., n, n). complex64 is solved in single precision. It may be read-only, not contiguous or a memory map:
        only a few megabytes are copied at a time.
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
    """
    begin = time.perf_counter()
    stack = to_numpy(stack) if is_foreign(stack) else stack if isinstance(stack, np.ndarray) else np.asarray(stack)
    stopping = Stopping() if stopping is None else stopping
    _check_call(stack, stopping, gauge, on_failure, hermitian, power_steps)
    leading, n = stack.shape[:-2], stack.shape[-1]
    dtype = np.dtype(np.complex64 if stack.dtype in (np.complex64, np.float32, np.float16) else np.complex128)
    tolerance = stopping.tolerance_for(dtype)
    weighted = _broadcast(weights, stack.shape, "weights")
    masked = _broadcast(mask, stack.shape[:-1], "mask")
    if masked is not None and masked.dtype != bool:
        raise InputError(f"mask must be boolean (True leaves a node out), but its dtype is {masked.dtype}.")
    if n > MAX_ORDER:
        return _one_by_one(stack, weighted, masked, dtype, stopping, certify, gauge, on_failure, hermitian, begin)
    count = math.prod(leading)
    z = np.empty((count, n), dtype=dtype)
    kept = {name: np.empty(count, dtype=kind) for name, kind in (_NUMBERS | (_PROOFS if certify else {})).items()}
    options = {
        "power_steps": power_steps,
        "gpm_steps": GPM_STEPS,
        "max_iterations": stopping.max_iterations,
        "tolerance": min(tolerance, _PROOF_TOLERANCE) if certify and tolerance > 0 else tolerance,
        "triangle": _TRIANGLES[hermitian],
        "certify": certify,
        "gauge": _GAUGES[gauge],
    }
    start = chirp(n).astype(np.complex128)
    solve = _solver()
    scratch = np.empty((0, len(FIELDS)))
    for part in _chunks(count, n, dtype):
        problems = _problems(stack, weighted, masked, part, dtype)
        if len(scratch) < len(problems):
            scratch = np.zeros((len(problems), len(FIELDS)))
        found = scratch[: len(problems)]
        if n == 1:
            z[part], found[:] = 1, 0
            found[:, 0] = problems[:, 0, 0].real
            found[:, 3] = np.where(np.isfinite(problems[:, 0, 0]), BatchStatus.CONVERGED, BatchStatus.NOT_FINITE)
        else:
            solve(problems, start, z[part], found, **options)
            _check_hermitian(problems, found, part.start, leading, hermitian)
            found[found[:, 1] <= tolerance, 3] = BatchStatus.CONVERGED
        field = {name: found[:, k] for k, name in enumerate(FIELDS)}
        for name, values in (field | (_certificates(field, n) if certify else {})).items():
            if name in kept:
                kept[name][part] = values
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


def emi_matrix(C: ArrayLike, coherence: ArrayLike | None = None) -> NDArray:
    r"""The objective of the maximum-likelihood phases of a stack of coherence matrices, :math:`-|\Gamma|^{-1} \circ C`.

    (Ansari, De Zan and Bamler, *Efficient phase estimation for interferogram stacks*, IEEE TGRS 56(7), 2018.) The
    result is nearly negative definite, so the power method needs the shift
    :math:`\lambda_{\max}(|\Gamma|^{-1} \circ C)`; a batch finds that by itself. ``coherence`` is :math:`|\Gamma|`, the
    moduli of C unless given. A problem whose coherence cannot be inverted comes back as NaN, which a batch reports as
    NOT_FINITE.
    """
    C = np.asarray(C)
    if C.ndim < 2 or C.shape[-1] != C.shape[-2]:
        raise ShapeError(f"C must be square matrices (..., n, n), but its shape is {C.shape}.")
    gamma_matrix = np.abs(C) if coherence is None else np.asarray(coherence)
    if gamma_matrix.shape != C.shape:
        raise ShapeError(f"coherence must have the shape of C, {C.shape}, not {gamma_matrix.shape}.")
    wide = gamma_matrix.astype(np.float64).reshape(-1, *C.shape[-2:])
    try:
        inverse = np.linalg.inv(wide)
    except np.linalg.LinAlgError:
        inverse = np.stack([_inverse_or_nan(matrix) for matrix in wide])
    return (-inverse.reshape(C.shape) * C).astype(C.dtype if np.iscomplexobj(C) else np.complex128)


def _inverse_or_nan(matrix: NDArray) -> NDArray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def _solver() -> Any:
    """The kernel: compiled where it was built."""
    if kernels.active is not kernels.reference:
        try:
            from angsync.kernels import batch_compiled
        except ImportError:
            return batch_reference.solve
        return batch_compiled.solve
    return batch_reference.solve


def _check_call(
    stack: NDArray, stopping: Stopping, gauge: Any, on_failure: str, hermitian: str, power_steps: int
) -> None:
    if stack.ndim < 3 or stack.shape[-1] != stack.shape[-2]:
        raise ShapeError(f"a stack of problems has the shape (..., n, n), but this one has {stack.shape}.")
    if stack.shape[-1] == 0:
        raise InputError("the problems are empty (n = 0): there are no phases to find.")
    if stack.dtype.kind not in "biufc":
        raise InputError(f"the stack must be numeric, but its dtype is {stack.dtype}.")
    if gauge not in ("first", "mean"):
        raise InputError(f"gauge must be 'first' or 'mean' for a stack of problems, but it is {gauge!r}.")
    if on_failure not in ("warn", "raise", "ignore"):
        raise InputError(f"on_failure must be 'warn', 'raise' or 'ignore', but it is {on_failure!r}.")
    if hermitian not in _TRIANGLES:
        raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {hermitian!r}.")
    if stopping.max_seconds is not None:
        raise InputError("max_seconds is not for a stack of problems: limit max_iterations instead.")
    if power_steps < 0:
        raise InputError(f"power_steps must be 0 or more, but it is {power_steps}.")


def _broadcast(given: ArrayLike | None, shape: tuple[int, ...], name: str) -> NDArray | None:
    if given is None:
        return None
    array = np.asarray(given)
    if np.iscomplexobj(array):
        raise InputError(f"{name} must be real, but its dtype is {array.dtype}.")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ShapeError(f"{name} has the shape {array.shape}, which does not broadcast to {shape}.") from None


def _chunks(count: int, n: int, dtype: np.dtype[Any]) -> Iterator[slice]:
    size = max(1024, _CHUNK_BYTES // (n * n * dtype.itemsize) // 64 * 64)
    for first in range(0, count, size):
        yield slice(first, min(count, first + size))


def _taken(array: NDArray, part: slice, own: int) -> NDArray:
    """Problems ``part`` of an array whose last ``own`` axes are theirs, without a copy of the whole."""
    leading = array.shape[: array.ndim - own]
    if array.flags.c_contiguous:
        return array.reshape(-1, *array.shape[array.ndim - own :])[part]
    if len(leading) == 1:
        return array[part]
    return array[np.unravel_index(np.arange(part.start, part.stop), leading)]


def _problems(
    stack: NDArray, weights: NDArray | None, mask: NDArray | None, part: slice, dtype: np.dtype[Any]
) -> NDArray:
    problems = np.ascontiguousarray(_taken(stack, part, 2), dtype=dtype)
    if weights is not None:
        problems = problems * _taken(weights, part, 2).astype(problems.real.dtype)
    if mask is not None:
        out = _taken(mask, part, 1)
        problems = np.where(out[:, :, None] | out[:, None, :], problems.dtype.type(0), problems)
    return problems


def _check_hermitian(
    problems: NDArray, found: NDArray[np.float64], first: int, leading: tuple[int, ...], hermitian: str
) -> None:
    """The kernels report a number that is 0 for a Hermitian matrix; suspects are looked at entry by entry."""
    share = float(np.sqrt(np.finfo(problems.dtype).eps))
    asymmetry, largest = found[:, FIELDS.index("asymmetry")], found[:, FIELDS.index("largest")]
    with np.errstate(invalid="ignore"):
        suspects = np.flatnonzero((asymmetry > 0.25 * share * largest) & (found[:, 3] != BatchStatus.NOT_FINITE))
    for k in suspects:
        C = problems[k] if hermitian == "full" else np.diag(np.diagonal(problems[k]))
        gap = np.abs(C - C.conj().T)
        row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
        limit = share * float(np.abs(problems[k]).max())
        if gap[row, column] > limit:
            index = tuple(int(i) for i in np.unravel_index(first + int(k), leading))
            raise NotHermitianError(
                f"the problems must be Hermitian: in problem {index}, |C[{row},{column}] - conj(C[{column},{row}])| = "
                f"{gap[row, column]:.2e}, allowed {limit:.2e}. If only one triangle is filled, pass "
                "hermitian='upper' or 'lower'."
            )


def _certificates(field: dict[str, NDArray[np.float64]], n: int) -> dict[str, NDArray]:
    """Gap and verdict from the bound on S: the formulas of :mod:`angsync.gap`, for arrays."""
    g = math.sqrt(2) * gamma(2 * n + 8)
    nodes = field["nodes"]
    several = nodes > 1
    m = np.where(several, nodes, 1.0)
    value, f = field["bound"], field["bare_objective"]
    rounding = (g + gamma(64)) * field["rows_total"]
    with np.errstate(invalid="ignore"):
        misfit = np.maximum(field["moduli"] - f, 0) + rounding + gamma(n * n + 64) * field["moduli"]
        e = (field["gradient"] + g * field["rows_norm"]) / np.sqrt(m)
        offset = rounding / m
        root = np.hypot(value + offset, 2 * e)
        positive = -(e * e + value * offset) / np.where(value > 0, (value - offset + root) / 2, 1)
        smallest = np.where(value > 0, positive, (value - offset - root) / 2)
        smallest = np.where(np.isneginf(value), -np.inf, smallest)
        gap = np.minimum(m * np.maximum(0, -smallest), misfit) + rounding
        scale = np.maximum(np.minimum(np.abs(f), misfit), 4 * rounding / CERTIFICATE_TOLERANCE)
        lambda_2 = value - g * field["rows_most"]
        relative = np.where(scale > 0, gap / np.where(scale > 0, scale, 1), np.where(gap > 0, np.inf, 0.0))
    bad = field["status"] == BatchStatus.NOT_FINITE
    gap = np.where(bad, np.nan, np.where(several, gap, 0.0))
    relative = np.where(bad, np.nan, np.where(several, relative, 0.0))
    lambda_2 = np.where(bad, np.nan, np.where(several, lambda_2, np.inf))
    verdict = np.where(relative <= CERTIFICATE_TOLERANCE, 0, 1).astype(np.int8)
    return {"verdict": verdict, "gap_bound": gap, "relative_gap": relative, "lambda_2": lambda_2}


def _one_by_one(
    stack: NDArray,
    weights: NDArray | None,
    mask: NDArray | None,
    dtype: np.dtype[Any],
    stopping: Stopping,
    certify: bool,
    gauge: str,
    on_failure: str,
    hermitian: Literal["full", "upper", "lower"],
    begin: float,
) -> BatchResult:
    """Problems too large for the kernels: the front door, one after the other."""
    import angsync

    leading, n = stack.shape[:-2], stack.shape[-1]
    count = math.prod(leading)
    codes = {"CONVERGED": BatchStatus.CONVERGED, "STALLED": BatchStatus.STALLED}
    z = np.full((count, n), np.nan, dtype=dtype)
    numbers = np.full((count, 6), np.nan)
    status = np.full(count, BatchStatus.NOT_FINITE, dtype=np.int8)
    iterations, verdict = np.zeros(count, dtype=np.int32), np.ones(count, dtype=np.int8)
    for k in range(count):
        C = _problems(stack, weights, mask, slice(k, k + 1), dtype)[0]
        if not np.isfinite(C).all():
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = angsync.synchronize(
                C, stopping=stopping, certify=certify, gauge=gauge, on_failure="ignore", hermitian=hermitian
            )
        z[k] = one.z
        status[k] = codes.get(one.status.name, BatchStatus.ITERATION_LIMIT)
        iterations[k] = one.iterations
        proof = one.certificate
        numbers[k, :2] = one.objective, one.residual
        if proof is not None:
            numbers[k, 2:5] = proof.gap_bound, proof.relative_gap, proof.lambda_2
            verdict[k] = 0 if proof.verdict.name == "CERTIFIED" else 1
    if mask is not None:
        z[mask.reshape(count, n)] = np.nan
    objective, residual, gap, relative, lambda_2, _ = (column.reshape(leading).copy() for column in numbers.T)
    proofs = {"verdict": verdict.reshape(leading), "gap_bound": gap, "relative_gap": relative, "lambda_2": lambda_2}
    result = BatchResult(
        z=z.reshape(*leading, n), objective=objective, residual=residual, iterations=iterations.reshape(leading),
        status=status.reshape(leading), tolerance=stopping.tolerance_for(dtype), gauge=gauge,
        seconds=time.perf_counter() - begin, **(proofs if certify else {}),
    )  # fmt: skip
    _report_failure(result, on_failure)
    return result


def _on_device(data: Any, options: dict[str, Any]) -> BatchResult:
    """A stack in the memory of a device: the phases stay there, one number a problem comes back. No certificates."""
    begin = time.perf_counter()
    if options.get("hermitian", "full") != "full" or options.get("gauge", "first") != "first":
        raise InputError("on a device, a stack of problems is taken in full, with gauge='first': leave both out.")
    stopping = options.get("stopping") or Stopping()
    tolerance = stopping.tolerance_for(np.dtype(dtype_name(data)))
    limit = min(stopping.max_iterations, 2**30)
    found = solve_batch_on_device(data, tolerance=tolerance, max_iterations=limit, power_steps=POWER_STEPS)
    space, first = namespace(data), found["z"][..., :1]
    numbers = {name: to_numpy(found[name]) for name in ("objective", "residual", "iterations", "status")}
    result = BatchResult(
        z=found["z"] * space.conj(first),
        objective=numbers["objective"].astype(np.float64),
        residual=numbers["residual"].astype(np.float64),
        iterations=numbers["iterations"].astype(np.int32),
        status=numbers["status"].astype(np.int8),
        tolerance=tolerance,
        gauge="first",
        seconds=time.perf_counter() - begin,
    )
    _report_failure(result, options.get("on_failure", "warn"))
    return result


def _report_failure(result: BatchResult, on_failure: str) -> None:
    text = result.failures()
    if not text or on_failure == "ignore":
        return
    if on_failure == "raise":
        raise ConvergenceError(text, result)
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
