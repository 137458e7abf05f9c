"""Many small problems, compiled: what :mod:`angsync.kernels.batch.reference` does. Import fails where not built."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.bars_reference import pooling
from angsync.kernels.batch.emi_reference import UNEVEN_SHARE
from angsync.kernels.batch.numbers import (
    FIELDS,
    MAX_ORDER,
    OWN_START,
    BatchNumbers,
    BatchOptions,
    asymmetry_share,
)
from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, function, threads_for

if not function("batch_vectors", returns=INT)():
    raise ImportError("the compiler that built the kernels has no vectors")


class Options(ctypes.Structure):
    """``options_t`` in batch.c: the fields of :class:`BatchOptions`, in their order."""

    _fields_ = tuple(
        (name, REAL if name in ("tolerance", "accepted") else ctypes.c_int32) for name in BatchOptions._fields
    )


class BatchCall(ctypes.Structure):
    """``batch_t`` in batch.c, with its ``numbers_t`` and the history of a problem that is alone at the end."""

    _fields_ = (
        ("count", SIZE), ("n", ctypes.c_int32), ("threads", ctypes.c_int32),
        ("options", Options), ("askew", REAL), ("stack", ADDRESS), ("start", ADDRESS), ("z", ADDRESS),
        ("objective", ADDRESS), ("residual", ADDRESS), ("iterations", ADDRESS), ("status", ADDRESS),
        ("components", ADDRESS), ("found", ADDRESS), ("history", ADDRESS),
    )  # fmt: skip


_SOLVERS = {
    np.dtype(np.complex64): function("batch_single", ctypes.POINTER(BatchCall), returns=SIZE),
    np.dtype(np.complex128): function("batch_double", ctypes.POINTER(BatchCall), returns=SIZE),
}


class EmiCall(ctypes.Structure):
    """``emi_t`` in batch.c."""

    _fields_ = (
        ("count", SIZE), ("n", ctypes.c_int32), ("threads", ctypes.c_int32),
        ("wide", ctypes.c_int32), ("given", ctypes.c_int32), ("beta", ADDRESS), ("limit", REAL), ("askew", REAL),
        ("C", ADDRESS), ("coherence", ADDRESS), ("out", ADDRESS), ("state", ADDRESS),
    )  # fmt: skip


_emi = function("batch_emi", ctypes.POINTER(EmiCall), returns=INT)


class BarsCall(ctypes.Structure):
    """``bars_t`` in batch.c."""

    _fields_ = (
        ("count", SIZE), ("n", ctypes.c_int32), ("threads", ctypes.c_int32),
        ("wide", ctypes.c_int32), ("weights", ctypes.c_int32), ("reference", ctypes.c_int32), ("C", ADDRESS),
        ("beta", ADDRESS), ("looks", ADDRESS), ("moduli", ADDRESS), ("pool", ADDRESS), ("out", ADDRESS),
    )  # fmt: skip


_bars = function("batch_bars", ctypes.POINTER(BarsCall), returns=INT)
_MOST_ITERATIONS = 2**30  # what fits into the counter of batch.c


def solve(
    stack: NDArray,
    start: NDArray[np.complex128],
    z: NDArray,
    numbers: BatchNumbers,
    found: NDArray[np.float64],
    options: BatchOptions,
    history: NDArray[np.float64] | None = None,
) -> int:
    """What :func:`angsync.kernels.batch.reference.solve` does, in C; the stack is contiguous, its order 2 to 256."""
    count, n = stack.shape[:2]
    assert (z.shape, z.dtype) == ((count, n), stack.dtype)
    assert found.shape == (len(FIELDS), count)
    assert 2 <= n <= MAX_ORDER
    assert numbers.suits(count)
    assert history is None or (count, history.shape) == (1, (options.max_iterations + 1, 4))
    if start.shape != (n,):
        assert (start.shape, options.swept) == ((count, n), False)
        options = options._replace(swept=OWN_START)
    if options.max_iterations > _MOST_ITERATIONS:
        options = options._replace(max_iterations=_MOST_ITERATIONS)
    arrays: tuple[NDArray, ...] = (stack, start, z, *numbers, found)
    shared, askew = threads_for(count * n * n), asymmetry_share(stack.dtype)
    kept = None if history is None else address(history)
    call = BatchCall(count, n, shared, Options(*options), askew, *(address(array) for array in arrays), kept)
    suspects: int = _SOLVERS[stack.dtype](ctypes.byref(call))
    if suspects < 0:
        raise MemoryError(f"no memory for the work of {count} problems of order {n}")
    return suspects


def emi(
    C: NDArray,
    coherence: NDArray | None,
    beta: NDArray[np.float64],
    limit: float,
    out: NDArray,
    state: NDArray[np.int8],
) -> None:
    """What :func:`angsync.kernels.batch.emi_reference.emi` does, in C; contiguous arrays, the order at most 256."""
    count, n = C.shape[:2]
    assert n <= MAX_ORDER
    assert (out.shape, out.dtype, state.shape, state.dtype) == (C.shape, C.dtype, (count,), np.int8)
    assert coherence is None or coherence.shape == C.shape
    assert (beta.shape, beta.dtype) == ((count,), np.float64)
    given = 0 if coherence is None else 1 if coherence.dtype == np.float32 else 2
    call = EmiCall(
        count, n, threads_for(count * n * n), C.dtype == np.complex128, given, address(beta),
        limit, UNEVEN_SHARE, address(C), None if coherence is None else address(coherence), address(out),
        address(state),
    )  # fmt: skip
    if _emi(ctypes.byref(call)) < 0:
        raise MemoryError(f"no memory for the work of {count} problems of order {n}")


def bars(
    C: NDArray,
    beta: NDArray[np.float64],
    looks: NDArray[np.float64],
    moduli: NDArray[np.float64] | None,
    weights: int,
    reference: int,
    out: NDArray[np.float64],
) -> None:
    """What :func:`angsync.kernels.batch.bars_reference.bars` does, in C; contiguous arrays, the order at most 256."""
    count, n = C.shape[:2]
    assert n <= MAX_ORDER
    assert 0 <= reference < n
    assert (out.shape, out.dtype) == ((count, n), np.float64)
    assert all((given.shape, given.dtype) == ((count,), np.float64) for given in (beta, looks))
    assert moduli is None or (moduli.shape, moduli.dtype) == ((count, n), np.float64)
    pool = pooling(n)
    call = BarsCall(
        count, n, threads_for(count * n * n), C.dtype == np.complex128, weights, reference,
        address(C), address(beta), address(looks), None if moduli is None else address(moduli), address(pool),
        address(out),
    )  # fmt: skip
    if _bars(ctypes.byref(call)) < 0:
        raise MemoryError(f"no memory for the work of {count} problems of order {n}")
