"""Stacks of matrices on their way to the batch kernels: checks, blocks, weights, masks, and the objective of EMI."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, NotHermitianError, ShapeError
from angsync.kernels.batch.numbers import FIELDS, asymmetry_share
from angsync.solvers.stopping import Stopping

TRIANGLES = {"full": 0, "upper": 1, "lower": 2}
GAUGES = {"first": 1, "mean": 2}
BLOCK_BYTES = 1 << 25
"""Of the stack at a time, or 1024 problems where those are more: all that is ever copied."""
_IN_PLACE = 4  # times as much where nothing has to be copied: what stands around a block is some 200 microseconds


def check_call(
    stack: NDArray, stopping: Stopping, gauge: Any, on_failure: str, hermitian: str, power_steps: int
) -> None:
    """Refuse what means nothing for a stack of problems."""
    if stack.ndim < 3 or stack.shape[-1] != stack.shape[-2]:
        raise ShapeError(f"a stack of problems has the shape (..., n, n), but this one has {stack.shape}.")
    if stack.shape[-1] == 0:
        raise InputError("the problems are empty (n = 0): there are no phases to find.")
    if stack.dtype.kind not in "biufc":
        raise InputError(f"the stack must be numeric, but its dtype is {stack.dtype}.")
    if gauge not in GAUGES:
        raise InputError(f"gauge must be 'first' or 'mean' for a stack of problems, but it is {gauge!r}.")
    if on_failure not in ("warn", "raise", "ignore"):
        raise InputError(f"on_failure must be 'warn', 'raise' or 'ignore', but it is {on_failure!r}.")
    if hermitian not in TRIANGLES:
        raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {hermitian!r}.")
    if stopping.max_seconds is not None:
        raise InputError("max_seconds is not for a stack of problems: limit max_iterations instead.")
    if power_steps < 0:
        raise InputError(f"power_steps must be 0 or more, but it is {power_steps}.")


def broadcast(given: ArrayLike | None, shape: tuple[int, ...], name: str) -> NDArray | None:
    """Weights or masks as an array of this shape, without a copy."""
    if given is None:
        return None
    array = np.asarray(given)
    if np.iscomplexobj(array):
        raise InputError(f"{name} must be real, but its dtype is {array.dtype}.")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ShapeError(f"{name} has the shape {array.shape}, which does not broadcast to {shape}.") from None


def blocks(count: int, n: int, dtype: np.dtype[Any], *, in_place: bool = False) -> Iterator[slice]:
    """Problems that are solved together: many enough for all threads, few enough for the memory."""
    limit = BLOCK_BYTES * (_IN_PLACE if in_place else 1)
    size = max(1024, limit // (n * n * dtype.itemsize) // 64 * 64)
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


def problems_of(
    stack: NDArray, weights: NDArray | None, mask: NDArray | None, part: slice, dtype: np.dtype[Any]
) -> NDArray:
    """One block, contiguous, weighted, masked nodes without measurements."""
    problems = np.ascontiguousarray(_taken(stack, part, 2), dtype=dtype)
    if weights is not None:
        problems = problems * _taken(weights, part, 2).astype(problems.real.dtype)
    if mask is not None:
        out = _taken(mask, part, 1)
        problems = np.where(out[:, :, None] | out[:, None, :], problems.dtype.type(0), problems)
    return problems


def check_hermitian(
    problems: NDArray,
    found: NDArray[np.float64],
    finite: NDArray[np.bool_],
    first: int,
    leading: tuple[int, ...],
    hermitian: str,
) -> None:
    """The kernels report a number that is 0 for a Hermitian matrix; suspects are looked at entry by entry."""
    share = float(np.sqrt(np.finfo(problems.dtype).eps))
    asymmetry, largest = (found[FIELDS.index(name)] for name in ("asymmetry", "largest"))
    with np.errstate(invalid="ignore"):
        suspects = np.flatnonzero((asymmetry > asymmetry_share(problems.dtype) * largest) & finite)
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


def emi_matrix(C: ArrayLike, coherence: ArrayLike | None = None) -> NDArray:
    r"""The objective of the maximum-likelihood phases of a stack of coherence matrices, :math:`-|\Gamma|^{-1} \circ C`.

    (Ansari, De Zan and Bamler, *Efficient phase estimation for interferogram stacks*, IEEE TGRS 56(7), 2018.) The
    result is nearly negative definite, so the power method needs the shift
    :math:`\lambda_{\max}(|\Gamma|^{-1} \circ C)`; a batch finds that by itself. ``coherence`` is :math:`|\Gamma|`, the
    moduli of C unless given. A problem whose coherence is singular, with a condition number
    :math:`\||\Gamma|\|_1 \||\Gamma|^{-1}\|_1` above a tenth of 1 / eps in the precision it is given in, comes back as
    NaN, which a batch reports as NOT_FINITE: its inverse would be made of rounding errors.
    """
    C = np.asarray(C)
    if C.ndim < 2 or C.shape[-1] != C.shape[-2]:
        raise ShapeError(f"C must be square matrices (..., n, n), but its shape is {C.shape}.")
    gamma = np.abs(C) if coherence is None else np.asarray(coherence)
    if gamma.shape != C.shape:
        raise ShapeError(f"coherence must have the shape of C, {C.shape}, not {gamma.shape}.")
    if np.iscomplexobj(gamma):
        raise InputError(f"coherence must be real, the moduli of Gamma, but its dtype is {gamma.dtype}.")
    limit = 0.1 / float(np.finfo(gamma.dtype).eps if gamma.dtype.kind == "f" else np.finfo(np.float64).eps)
    wide = gamma.astype(np.float64).reshape(math.prod(C.shape[:-2]), *C.shape[-2:])
    try:
        inverse = np.linalg.inv(wide)
    except np.linalg.LinAlgError:  # one of them is exactly singular, and NumPy does not say which
        inverse = np.stack([_inverse_or_nan(matrix) for matrix in wide])
    with np.errstate(invalid="ignore", over="ignore"):
        condition = np.abs(wide).sum(axis=1).max(axis=1) * np.abs(inverse).sum(axis=1).max(axis=1)
        inverse[~(condition <= limit)] = np.nan
        return (-inverse.reshape(C.shape) * C).astype(C.dtype if np.iscomplexobj(C) else np.complex128)


def _inverse_or_nan(matrix: NDArray) -> NDArray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
