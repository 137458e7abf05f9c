"""A whole dense problem in one compiled call (whole.c): start, Anderson's method, refinement, gauge."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.anderson import MEMORY
from angsync.kernels.dense.compiled import VECTORS
from angsync.kernels.dense.narrow import NarrowCopy
from angsync.kernels.dense.source import Products, Source, as_source, is_readable, thread_count
from angsync.kernels.dense.view import TriangleView
from angsync.kernels.dense.whole_settings import WholeEnding, WholeSettings, WholeSolve
from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, aligned, function
from angsync.kernels.spare_memory import own_address

_LINE_NUMBERS = 8  # doubles of a cache line
# the settings that are whole numbers in C; all others are doubles
_INTEGERS = ("strongest", "gauge", "budget", "most", "rounds", "patience", "exact")


class Settings(ctypes.Structure):
    """``whole_settings_t`` in whole.c: the fields of :class:`WholeSettings`, in their order."""

    _fields_ = tuple((name, SIZE if name in _INTEGERS else REAL) for name in WholeSettings._fields)


class Whole(ctypes.Structure):
    """``whole_t`` in whole.c: one call."""

    _fields_ = (
        ("model", Source), ("full", Source), ("error", REAL), ("seconds", REAL), ("tell", ADDRESS),
        ("settings", Settings), ("turn", ADDRESS), ("z", ADDRESS), ("w", ADDRESS), ("known", SIZE), ("before", ADDRESS),
        ("vectors", ADDRESS), ("gram", ADDRESS), ("order", ADDRESS), ("trace", ADDRESS), ("products", SIZE),
        ("entries", SIZE), ("objective", REAL), ("residual", REAL), ("off", REAL),
    )  # fmt: skip


_Order = SIZE * (MEMORY + 1)  # a type of its own, made once: to make it takes longer than to fill it
_dense_whole = function("dense_whole", ctypes.POINTER(Whole), returns=INT)
_TELL = ctypes.CFUNCTYPE(INT, REAL, REAL, REAL)
Tell = Callable[[float, float, float, NDArray[np.complex128]], object]
"""Is told objective, residual, length of the step and phases of every iterate; something true ends the call."""


class _Told:
    """A function that is told of every iterate, as C calls it; what it raises is kept, and ends the call."""

    def __init__(self, tell: Tell, z: NDArray[np.complex128]) -> None:
        self._tell, self._z = tell, z
        self.error: BaseException | None = None
        self.call = _TELL(self._called)

    def _called(self, objective: float, residual: float, step: float) -> int:
        try:
            return 1 if self._tell(objective, residual, step, self._z.copy()) else 0
        except BaseException as error:  # Ctrl-C too: nothing may pass through C
            self.error = error
            return 1


def dense_whole(
    matrix: NDArray | TriangleView | Callable[[NDArray], NDArray],
    copy: NarrowCopy | None,
    settings: WholeSettings,
    turn: NDArray[np.complex128] | None = None,
    *,
    start: NDArray | None = None,
    known: NDArray | None = None,
    tell: Tell | None = None,
    seconds: float = math.inf,
) -> WholeSolve | None:
    """Solve from the phases of one column: Lanczos, Anderson's method, refinement with products of C.

    ``turn``: phases by which the start is turned, for a real C, which would keep a real start real for ever. ``matrix``
    may be the function that multiplies with C; a start is then given, as it may be for a matrix, and ``known`` is the
    product with it where that is known. After ``seconds`` no further product is begun, but for the one without which
    there is no answer. None where the call gives up: a matrix that the kernels do not read, a step that lowers the
    objective, an inner solve that did not reach its target.
    """
    if callable(matrix):
        assert start is not None
        n = start.size
    elif is_readable(matrix):
        n = matrix.shape[0]
    else:
        return None
    given = as_source(matrix, n)
    # one block for everything in double precision; its parts begin at multiples of a cache line
    length = -(-n // _LINE_NUMBERS) * _LINE_NUMBERS
    full_length = 0 if isinstance(given, Products) else (4 + 4 * thread_count(n, narrow=False)) * length
    gram_length = -(-(MEMORY**2) // _LINE_NUMBERS) * _LINE_NUMBERS
    trace_length = 3 * (settings.most + settings.rounds + 2)
    sizes = (4 * length, VECTORS * length, full_length, gram_length, trace_length)
    places = [0, *itertools.accumulate(sizes)]
    block = aligned(places[-1], np.float64)
    first = own_address(block)
    before, vectors, work, gram, trace = (first + 8 * place for place in places[:-1])
    points = np.empty((2, n), dtype=np.complex128)
    if start is not None:
        points[0] = start
    if known is not None:
        points[1] = known
    z = own_address(points)
    order = _Order()
    full = Source(given, None, work=work)
    # without a copy, the model multiplies with C as well, and the two never do so at the same time
    model, error = (full, 0.0) if copy is None else (Source(given, copy), copy.error)
    told = None if tell is None else _Told(tell, points[0])
    call = Whole(
        model, full, error, seconds, None if told is None else ctypes.cast(told.call, ADDRESS), Settings(*settings),
        None if turn is None else address(turn),
        z, z + 16 * n, known is not None, before, vectors, gram, ctypes.addressof(order), trace,
    )  # fmt: skip
    interrupted = False
    try:
        ending = WholeEnding(_dense_whole(ctypes.byref(call)))
        if told is not None and told.error is not None:
            raise told.error
        if isinstance(given, Products):
            given.raise_again()
    except KeyboardInterrupt:  # Python sees it when the call is over: what it found need not be lost
        if call.entries == 0:
            raise
        interrupted, ending = True, WholeEnding.SOLVED
    entries = call.entries
    if entries == 0:  # it gave up
        return None
    steps = block[places[-2] : places[-2] + 3 * entries].reshape(-1, 3).copy()
    return WholeSolve(points[0], points[1], call.objective, call.residual, call.products, steps, interrupted, ending)
