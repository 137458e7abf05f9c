"""Coherence matrices of a stack of images, and the error bars of the phases that are found from such matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.batch import bars_reference
from angsync.kernels.batch.looks_reference import Region, Window
from angsync.kernels.batch.numbers import MAX_ORDER

_ENTRIES_AT_ONCE = 1 << 18  # of matrices of large order, which NumPy works on together


def coherence_matrices(
    stack: NDArray, window: tuple[int, int], region: tuple[int, int, int, int], out: NDArray[np.bool_] | None = None
) -> tuple[NDArray, NDArray[np.int32]]:
    """The sample coherences (pixels, n, n) of the pixels in ``region`` (rows from, to, columns from, to), and how many
    looks each has: :func:`angsync.kernels.batch.looks_reference.coherence` says what is computed.

    ``stack`` (n, rows, columns) is a part of the images with all that the windows need; ``out`` marks pixels to leave
    out. The bits of a pixel do not depend on the part.
    """
    kind: Any = np.complex64 if stack.dtype == np.complex64 else np.complex128
    stack = np.ascontiguousarray(stack, dtype=kind)
    where = Region(*region)
    pixels = (where.last_row - where.first_row) * (where.last_column - where.first_column)
    C = np.empty((pixels, len(stack), len(stack)), dtype=kind)
    looks = np.empty(pixels, dtype=np.int32)
    hidden = None if out is None else np.ascontiguousarray(out, dtype=np.bool_)
    kernels.coherence(stack, hidden, Window.of(*window), where, C, looks)
    return C, looks


def temporal_coherence(C: NDArray, z: NDArray) -> NDArray[np.float64]:
    """How well phases (count, n) agree with those of all pairs, 0 to 1:
    :func:`angsync.kernels.batch.looks_reference.agreement`."""
    return kernels.agreement(np.ascontiguousarray(C), np.ascontiguousarray(z, dtype=C.dtype))


def coherence_errors(
    C: NDArray,
    looks: NDArray[np.float64],
    beta: NDArray[np.float64],
    *,
    moduli: NDArray | None = None,
    inverse: bool = True,
    reference: int = 0,
) -> NDArray[np.float64]:
    """Standard errors (count, n) in radians of phases found from sample coherences (count, n, n), against one date.

    :mod:`angsync.kernels.batch.bars_reference` has the formulas. ``inverse``: whether the weights are those of
    :func:`angsync.batch.emi_matrix` with this ``beta``, or the moduli of C; ``moduli``: of the eigenvector that the
    phases are those of.
    """
    count, n = C.shape[:2]
    C = np.ascontiguousarray(C)
    beta, looks = (np.ascontiguousarray(np.broadcast_to(x, (count,)), dtype=np.float64) for x in (beta, looks))
    looks = np.maximum(looks, 1)  # pixels without any have no data either
    sizes = None if moduli is None else np.ascontiguousarray(moduli, dtype=np.float64)
    weights = bars_reference.INVERSE if inverse else bars_reference.MODULI
    errors = np.empty((count, n))
    if n <= MAX_ORDER and kernels.batch_kernels().bars is not bars_reference.bars:
        kernels.link_bars(C, beta, looks, sizes, weights, reference, errors)
        return errors
    size = max(1, _ENTRIES_AT_ONCE // n**2)
    for k in range(0, count, size):
        part = slice(k, k + size)
        own = None if sizes is None else sizes[part]
        bars_reference.bars(C[part], beta[part], looks[part], own, weights, reference, errors[part])
    return errors
