"""Multifrontal Cholesky factorization, compiled; :mod:`angsync.kernels.sparse.fronts_reference` says what is computed.

The dense work inside a front is done by SciPy's BLAS and LAPACK, whose addresses SciPy offers to compiled code
(``scipy.linalg.cython_blas``), in one thread.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.blas import in_one_thread
from angsync.kernels.library import ADDRESS, INT, SIZE, address, function
from angsync.kernels.sparse.fronts_reference import Entries, Plan, Run
from angsync.kernels.time_limit import waited_for

_WAITED_FOR_NUMBERS = 1_000_000  # of the factor, from which it may take longer than Ctrl-C should wait
_NO_MEMORY, _STOPPED = -1, 2  # as in fronts.c


class _Fronts(ctypes.Structure):
    """``fronts_t`` in fronts.c."""

    _fields_ = (
        ("n", SIZE), ("count", SIZE), ("left_out", SIZE), ("indptr", ADDRESS), ("indices", ADDRESS), ("data", ADDRESS),
        ("inverse_root", ADDRESS), ("diagonal", ADDRESS), ("order", ADDRESS), ("place", ADDRESS), ("starts", ADDRESS),
        ("bounds", ADDRESS), ("rows", ADDRESS), ("parent", ADDRESS), ("sums", ADDRESS), ("terms", ADDRESS),
        ("kept", ADDRESS), ("offsets", ADDRESS), ("stop", ADDRESS), ("failed", SIZE),
        ("potrf", ADDRESS), ("trsm", ADDRESS), ("herk", ADDRESS),
    )  # fmt: skip


_factorize = function("fronts_factorize", ctypes.POINTER(_Fronts), returns=INT)
_solve = function("fronts_solve", ctypes.POINTER(_Fronts), ADDRESS, SIZE)


@cache
def _routine(module: str, name: str) -> int:
    """The address of a routine of SciPy's BLAS or LAPACK."""
    capsule = import_module(f"scipy.linalg.{module}").__pyx_capi__[name]
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    found: int = get_pointer(capsule, get_name(capsule))
    return found


def _of_plan(plan: Plan, offsets: NDArray[np.int64]) -> dict[str, int]:
    sizes = {"n": plan.order.size, "count": plan.starts.size - 1}
    return sizes | {name: address(x) for name, x in plan._asdict().items()} | {"offsets": address(offsets)}


def fronts_factorize(entries: Entries, plan: Plan, *, keep: bool) -> Run:
    """A = L L^H, or how far that goes."""
    n, offsets = plan.order.size, plan.offsets
    sums, terms, stop = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int32)
    kept = np.empty(offsets[-1], dtype=np.complex128) if keep else None
    if plan.parent.size == 0:
        return Run(-1, sums, terms, kept)
    fronts = _Fronts(
        **_of_plan(plan, offsets),
        left_out=entries.left_out,
        **{name: address(x) for name, x in entries._asdict().items() if name != "left_out"},
        sums=address(sums),
        terms=address(terms),
        stop=address(stop),
        kept=None if kept is None else address(kept),
        potrf=_routine("cython_lapack", "zpotrf"),
        trsm=_routine("cython_blas", "ztrsm"),
        herk=_routine("cython_blas", "zherk"),
    )

    # the call may go on when nobody waits for it any more: it holds what it works on
    def work(_held: object = (entries, plan, offsets, sums, terms, kept, stop)) -> int:
        with in_one_thread():
            code: int = _factorize(ctypes.byref(fronts))
        return code

    try:
        code = work() if offsets[-1] < _WAITED_FOR_NUMBERS else waited_for(work)
    finally:
        stop[0] = 1  # a call that nobody waits for ends with its front
    if code == _NO_MEMORY:
        raise MemoryError(f"no memory to factorize a sparse matrix of order {n}")
    assert code != _STOPPED
    return Run(int(fronts.failed), sums, terms, kept)


def fronts_solve(plan: Plan, kept: NDArray[np.complex128], b: NDArray, upto: int) -> NDArray[np.complex128]:
    """The solution of L L^H x = b, for the leading ``upto`` places of a factor that was kept; 0 at the others."""
    x = np.zeros(plan.order.size, dtype=np.complex128)
    x[:upto] = b[:upto]
    offsets = plan.offsets
    if x.size:
        _solve(ctypes.byref(_Fronts(**_of_plan(plan, offsets), kept=address(kept))), address(x), upto)
    return x
