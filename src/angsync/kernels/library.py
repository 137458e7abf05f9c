"""The compiled extension: loaded once, its version checked, with what every call of it needs.

All kernels are built once per set of instructions. ``ANGSYNC_INSTRUCTIONS=avx512``, ``avx2`` or ``plain`` in the
environment asks for one; without it the best one of the machine is taken. Read once, when this module is imported.

Importing this module fails where the extension is not built. Each object (``sparse/``, ``dense/``, ``lanczos/``,
``batch/``) declares the functions that it calls, with :func:`function`, in its own Python files; a function of more
than a dozen arguments takes a struct, a :class:`ctypes.Structure` here.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import struct
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.kernels import spare_memory
from angsync.kernels.thread_count import have_no_threads, threads, told_to_work_off_alone

# Waiting threads must not spin for long: beside another busy process, or the threads of BLAS, that costs several-fold.
# For some microseconds they may: waking one up costs fifty, as much as a product at n = 500. The settings are read
# once, when the OpenMP library is loaded, and are not left behind.
_settings = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
if any(name in os.environ for name in _settings):
    _settings = {}
SIZE, INT, REAL = ctypes.c_int64, ctypes.c_int, ctypes.c_double
ADDRESS = ctypes.c_void_p
"""The type of an argument that is the address of an array (:func:`address`), or None."""

ABI = 60
"""Version of the functions and structs, ``angsync_abi`` in library.c: raised whenever one is added or changed."""

_ELF = struct.Struct("=40xQ10xHH2x")  # of 64 bits: where the table of sections begins, bytes per entry, entries
SETS = ("plain", "avx2", "avx512")
"""The sets of instructions by name; their numbers in C are their places."""


def _module(name: str) -> str:
    return f"angsync.kernels._native_{name}".removesuffix("_plain")


def _load(name: str) -> ctypes.CDLL:
    """Load the kernels for a set of instructions."""
    found = find_spec(_module(name))
    if found is None:
        raise ModuleNotFoundError(f"{_module(name)} is not built")
    _check_whole(str(found.origin))
    loaded = ctypes.CDLL(str(found.origin))
    if loaded.angsync_abi() != ABI:
        raise ImportError("the compiled kernels are of another version; install angsync again")
    return loaded


def _check_whole(path: str) -> None:
    """Refuse a library that was cut off while it was written: on Linux, loading one ends the process by SIGBUS."""
    with open(path, "rb") as file:
        header = file.read(_ELF.size)
    if header.startswith(b"\x7fELF"):
        table, entry, entries = _ELF.unpack(header.ljust(_ELF.size, b"\xff"))
        if table + entry * entries > os.path.getsize(path):  # the table of sections is the last part of a library
            raise ImportError(f"{path} is cut off; install angsync again")


def _best_or(wanted: str) -> str:
    """The set of instructions of this name, or the best one of the machine."""
    if wanted not in ("", *AVAILABLE):
        raise InputError(
            f"ANGSYNC_INSTRUCTIONS is {wanted!r}, but this machine has {', '.join(AVAILABLE)}: "
            "name one of these, or unset it to get the best one."
        )
    return wanted or AVAILABLE[-1]


os.environ.update(_settings)
try:
    _machine = SETS[: _load(SETS[0]).angsync_instructions() + 1]
    AVAILABLE = [name for name in _machine if find_spec(_module(name))]
    INSTRUCTIONS = _best_or(os.environ.get("ANGSYNC_INSTRUCTIONS", "").lower())
    _library = _load(INSTRUCTIONS)
finally:
    for _name in _settings:
        del os.environ[_name]


def function(name: str, *arguments: Any, returns: Any = None) -> Callable[..., Any]:
    """A function of the extension with the types of its arguments and of what it returns."""
    found = _library[name]
    found.argtypes, found.restype = arguments, returns
    return found


OPENMP = bool(function("angsync_openmp", returns=INT)())
NAME = "compiled" + (", OpenMP" if OPENMP else "")

if not OPENMP:
    have_no_threads()
with contextlib.suppress(AttributeError):
    # With no level of parallel regions active, one thread does the work of all. The symbol is that of the OpenMP
    # library which the extension loaded.
    _levels = function("omp_set_max_active_levels", INT)
    told_to_work_off_alone(lambda: _levels(0))

SHARED_FROM_ENTRIES = 20_000  # up to which starting threads costs more than they save


def threads_for(entries: int) -> int:
    """How many threads share the work on so many entries of sparse matrices or of small problems.

    Each row, and each problem, is the work of one thread, so the number does not change a bit.
    """
    return threads() if entries > SHARED_FROM_ENTRIES else 1


def address(x: NDArray) -> int:
    """Where the numbers of a contiguous array are."""
    assert x.flags.c_contiguous
    # a sixth of the time of x.ctypes.data; spare_memory.own_address is faster, for arrays that nobody gave us
    place: int = x.__array_interface__["data"][0]
    return place


def plain(x: Any, kind: Any) -> bool:
    """Whether the kernels read the array as it is: of this type, contiguous, at a multiple of 16 bytes."""
    return x.dtype == kind and bool(x.flags.c_contiguous) and x.__array_interface__["data"][0] % 16 == 0


def aligned(shape: int | tuple[int, ...], kind: Any) -> NDArray:
    """An empty array at the beginning of a cache line."""
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(kind).itemsize
    return spare_memory.take(size).view(kind).reshape(shape)
