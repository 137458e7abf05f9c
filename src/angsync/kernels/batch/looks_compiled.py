"""Coherence matrices of a stack of images, compiled: what :mod:`angsync.kernels.batch.looks_reference` does."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.looks_reference import Region, Window
from angsync.kernels.library import ADDRESS, INT, address, function, threads_for


class LooksCall(ctypes.Structure):
    """``looks_t`` in looks.c."""

    _fields_ = (
        *(
            (name, ctypes.c_int32)
            for name in ("n", "rows", "columns", *Window._fields, *Region._fields, "wide", "threads")
        ),
        ("stack", ADDRESS), ("out", ADDRESS), ("C", ADDRESS), ("looks", ADDRESS),
    )  # fmt: skip


_coherence = function("looks_coherence", ctypes.POINTER(LooksCall), returns=INT)


def coherence(
    stack: NDArray, out: NDArray[np.bool_] | None, window: Window, region: Region, C: NDArray, looks: NDArray[np.int32]
) -> None:
    """What :func:`angsync.kernels.batch.looks_reference.coherence` does, in C; the stack is contiguous."""
    n, rows, columns = stack.shape
    pixels = (region.last_row - region.first_row) * (region.last_column - region.first_column)
    assert stack.dtype in (np.complex64, np.complex128)
    assert (C.shape, C.dtype, looks.shape, looks.dtype) == ((pixels, n, n), stack.dtype, (pixels,), np.int32)
    assert out is None or (out.shape, out.dtype) == ((rows, columns), np.bool_)
    call = LooksCall(
        n, rows, columns, *window, *region, stack.dtype == np.complex128, threads_for(pixels * n * n), address(stack),
        None if out is None else address(out), address(C), address(looks),
    )  # fmt: skip
    if _coherence(ctypes.byref(call)) < 0:
        raise MemoryError(f"no memory for the coherences of {n} images")


class AgreementCall(ctypes.Structure):
    """``agreement_t`` in looks.c."""

    _fields_ = (
        ("count", ctypes.c_int64), ("n", ctypes.c_int32), ("wide", ctypes.c_int32), ("threads", ctypes.c_int32),
        ("C", ADDRESS), ("z", ADDRESS), ("out", ADDRESS),
    )  # fmt: skip


_agreement = function("looks_agreement", ctypes.POINTER(AgreementCall), returns=INT)


def agreement(C: NDArray, z: NDArray) -> NDArray[np.float64]:
    """What :func:`angsync.kernels.batch.looks_reference.agreement` does, in C; contiguous arrays of one precision."""
    count, n = z.shape
    assert (C.shape, C.dtype) == ((count, n, n), z.dtype)
    out = np.empty(count)
    call = AgreementCall(
        count, n, C.dtype == np.complex128, threads_for(count * n * n), address(C), address(z), address(out)
    )
    if _agreement(ctypes.byref(call)) < 0:
        raise MemoryError(f"no memory for the phases of {n} images")
    return out
