"""The compiled batch kernels, called through ctypes. Import fails where they are not built.

``ANGSYNC_INSTRUCTIONS=avx512``, ``avx2`` or ``plain`` in the environment asks for one set of instructions; without it
the best one of the machine is taken. Read once, when this module is imported.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.kernels.batch.numbers import Numbers, asymmetry_share
from angsync.kernels.batch.reference import FIELDS, MAX_ORDER
from angsync.kernels.sparse import compiled

SETS = ("plain", "avx2", "avx512")
"""The sets of instructions by name; their numbers in C are their places."""

try:
    _solvers = {
        np.dtype(np.complex64): compiled._library.batch_single,
        np.dtype(np.complex128): compiled._library.batch_double,
    }
    for _solver in _solvers.values():
        _solver.restype = ctypes.c_int64
    _best = int(compiled._library.batch_instructions())
except AttributeError:
    raise ImportError("the compiled kernels hold none for batches") from None
if _best < 0:
    raise ImportError("the compiler that built the kernels has no vectors")


def available() -> tuple[str, ...]:
    """The sets that this machine has."""
    return SETS[: _best + 1]


def choose(wanted: str | None) -> str:
    """The set of this name, or the best one where none is named."""
    if not wanted:
        return SETS[_best]
    if wanted.lower() not in available():
        raise InputError(
            f"ANGSYNC_INSTRUCTIONS is {wanted!r}, but this machine has {', '.join(available())}: "
            "name one of these, or unset it to get the best one."
        )
    return wanted.lower()


instructions = choose(os.environ.get("ANGSYNC_INSTRUCTIONS"))
"""The set in use."""


def solve(
    stack: NDArray,
    start: NDArray[np.complex128],
    z: NDArray,
    found: NDArray[np.float64],
    *,
    power_steps: int,
    gpm_steps: int,
    max_iterations: int,
    tolerance: float,
    triangle: int,
    certify: bool,
    gauge: int,
    accepted: float | None = None,
    numbers: Numbers | None = None,
) -> int:
    """What :func:`angsync.kernels.batch.reference.solve` does, in C; the stack is contiguous, its order 2 to 128."""
    count, n = stack.shape[:2]
    kept = Numbers.of(count) if numbers is None else numbers
    assert stack.flags.c_contiguous
    assert start.flags.c_contiguous
    assert (z.shape, z.dtype) == ((count, n), stack.dtype)
    assert found.shape == (len(FIELDS), count)
    assert 2 <= n <= MAX_ORDER
    assert kept.suits(count)
    whole, real = ctypes.c_int, ctypes.c_double
    code = _solvers[stack.dtype](
        ctypes.c_int64(count),
        whole(n),
        compiled._pointer(stack),
        compiled._pointer(start),
        whole(power_steps),
        whole(gpm_steps),
        whole(min(max_iterations, 2**30)),
        real(tolerance),
        real(tolerance if accepted is None else accepted),
        real(asymmetry_share(stack.dtype)),
        whole(triangle),
        whole(certify),
        whole(gauge),
        compiled._pointer(z),
        compiled._pointer(kept.objective),
        compiled._pointer(kept.residual),
        compiled._pointer(kept.iterations),
        compiled._pointer(kept.status),
        compiled._pointer(found),
        compiled._threads_for(count * n * n),
        whole(SETS.index(instructions)),
    )
    if code < 0:
        raise MemoryError(f"no memory for the work of {count} problems of order {n}")
    if numbers is None:
        found[0], found[1], found[2], found[3] = kept.objective, kept.residual, kept.iterations, kept.status
    return int(code)
