"""A whole dense problem in one compiled call: see :mod:`angsync.kernels.dense.whole_reference`."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense import whole_reference as reference
from angsync.kernels.dense.compiled import _VECTORS, HAS_AVX512, _aligned, _plain, _thread_count, _work
from angsync.kernels.dense.reference import MEMORY, NarrowCopy
from angsync.kernels.dense.whole_reference import ROUNDS, WholeSettings, WholeSolve
from angsync.kernels.sparse.compiled import _library, _pointer, _size


def dense_whole(
    matrix: NDArray[np.complex128],
    copy: NarrowCopy | None,
    settings: WholeSettings,
    *,
    avx512: bool = HAS_AVX512,
) -> WholeSolve | None:
    """See :func:`angsync.kernels.dense.whole_reference.dense_whole`."""
    if not _plain(matrix, np.complex128):
        return reference.dense_whole(matrix, copy, settings)
    n = matrix.shape[0]
    full_threads = _thread_count(n)
    narrow_threads = full_threads if copy is None else _thread_count(n, narrow=True)
    # one block for everything that is in double precision; the parts begin at multiples of eight numbers, that is, of a
    # cache line
    whole = -(-n // 8) * 8
    points = np.empty((2, n), dtype=np.complex128)
    sizes = (2 * whole, _VECTORS * whole, (4 + 4 * full_threads) * whole, 104, 4, 3 * (settings.most + ROUNDS + 2))
    places = [0, *itertools.accumulate(sizes)]
    block = _aligned(places[-1], np.float64)
    first = block.__array_interface__["data"][0]
    before, vectors, full, gram, report, trace = (ctypes.c_void_p(first + 8 * place) for place in places[:-1])
    order = (ctypes.c_int64 * (MEMORY + 1))()
    source: tuple[ctypes.c_void_p | None, ...] = (None, None, None)
    narrow_work = None
    work: ctypes.c_void_p = full
    if copy is not None:
        source = (_pointer(copy.blocks), _pointer(copy.scale), _pointer(copy.diagonal))
        narrow_work = _work(n, narrow_threads, narrow=True)
        work = _pointer(narrow_work)
    z, w = _pointer(points), ctypes.c_void_p(points.__array_interface__["data"][0] + 16 * n)
    numbers = (settings.rough, settings.tolerance, settings.deep, settings.floor, settings.least)
    told = block[places[4] : places[4] + 4]
    told[:] = 0
    interrupted = False
    try:
        _library.dense_whole(
            _size(n), _pointer(matrix), *source, ctypes.c_double(0.0 if copy is None else copy.error),
            ctypes.c_double(settings.share), _size(settings.strongest), *map(ctypes.c_double, numbers),
            _size(settings.budget), _size(settings.most), z, w, before, vectors, gram,
            order, work, full, ctypes.c_int(avx512), ctypes.c_int(narrow_threads), ctypes.c_int(full_threads), trace,
            report,
        )  # fmt: skip
    except KeyboardInterrupt:  # Python sees it when the call is over: what it found need not be lost
        if told[1] == 0:
            raise
        interrupted = True
    products, entries, objective, residual = told.tolist()
    if entries == 0:  # it gave up
        return None
    steps = block[places[5] : places[5] + 3 * int(entries)].reshape(-1, 3).copy()
    return WholeSolve(points[0], points[1], objective, residual, int(products), steps, interrupted)
