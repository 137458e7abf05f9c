"""A whole dense problem in one compiled call (whole.c): start, Anderson's method, refinement, gauge."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.anderson import MEMORY
from angsync.kernels.dense.compiled import VECTORS
from angsync.kernels.dense.narrow import NarrowCopy
from angsync.kernels.dense.source import HAS_AVX512, Matrix, Source, is_readable, thread_count
from angsync.kernels.dense.view import TriangleView
from angsync.kernels.dense.whole_settings import WholeSettings, WholeSolve
from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, aligned, function

_LINE_NUMBERS = 8  # doubles of a cache line
# the settings that are whole numbers in C; all others are doubles
_INTEGERS = ("strongest", "budget", "most", "rounds", "patience")


class Settings(ctypes.Structure):
    """``whole_settings_t`` in whole.c: the fields of :class:`WholeSettings`, in their order."""

    _fields_ = tuple((name, SIZE if name in _INTEGERS else REAL) for name in WholeSettings._fields)


class Whole(ctypes.Structure):
    """``whole_t`` in whole.c: one call."""

    _fields_ = (
        ("model", Source), ("matrix", Matrix), ("error", REAL), ("full", ADDRESS), ("full_threads", SIZE),
        ("settings", Settings), ("turn", ADDRESS), ("z", ADDRESS), ("w", ADDRESS), ("before", ADDRESS),
        ("vectors", ADDRESS), ("gram", ADDRESS), ("order", ADDRESS), ("trace", ADDRESS), ("products", SIZE),
        ("entries", SIZE), ("objective", REAL), ("residual", REAL),
    )  # fmt: skip


_Order = SIZE * (MEMORY + 1)  # a type of its own, made once: to make it takes longer than to fill it
_dense_whole = function("dense_whole", ctypes.POINTER(Whole), returns=INT)


def dense_whole(
    matrix: NDArray | TriangleView,
    copy: NarrowCopy | None,
    settings: WholeSettings,
    turn: NDArray[np.complex128] | None = None,
    *,
    avx512: bool = HAS_AVX512,
) -> WholeSolve | None:
    """Solve from the phases of one column: Lanczos, Anderson's method, refinement with products of C.

    ``turn``: phases by which the start is turned, for a real C, which would keep a real start real for ever. None where
    the call gives up: a matrix that the kernels do not read, a step that lowers the objective, an inner solve that did
    not reach its target.
    """
    if not is_readable(matrix):
        return None
    n = matrix.shape[0]
    full_threads = thread_count(n, narrow=False)
    # one block for everything in double precision; its parts begin at multiples of a cache line
    length = -(-n // _LINE_NUMBERS) * _LINE_NUMBERS
    full_length = (4 + 4 * full_threads) * length
    gram_length = -(-(MEMORY**2) // _LINE_NUMBERS) * _LINE_NUMBERS
    trace_length = 3 * (settings.most + settings.rounds + 2)
    sizes = (2 * length, VECTORS * length, full_length, gram_length, trace_length)
    places = [0, *itertools.accumulate(sizes)]
    block = aligned(places[-1], np.float64)
    first = address(block)
    before, vectors, full, gram, trace = (first + 8 * place for place in places[:-1])
    points = np.empty((2, n), dtype=np.complex128)
    z = address(points)
    order = _Order()
    # without a copy, the model multiplies with C as well, and the two never do so at the same time
    model = Source(matrix, copy, avx512=avx512, work=full if copy is None else None)
    error = 0.0 if copy is None else copy.error
    call = Whole(
        model, model.matrix, error, full, full_threads, Settings(*settings), None if turn is None else address(turn),
        z, z + 16 * n, before, vectors, gram, ctypes.addressof(order), trace,
    )  # fmt: skip
    interrupted = False
    try:
        _dense_whole(ctypes.byref(call))
    except KeyboardInterrupt:  # Python sees it when the call is over: what it found need not be lost
        if call.entries == 0:
            raise
        interrupted = True
    entries = call.entries
    if entries == 0:  # it gave up
        return None
    steps = block[places[-2] : places[-2] + 3 * entries].reshape(-1, 3).copy()
    return WholeSolve(points[0], points[1], call.objective, call.residual, call.products, steps, interrupted)
