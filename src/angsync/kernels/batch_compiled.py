"""The compiled batch kernels, called through ctypes. Import fails where they are not built."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from angsync.kernels import compiled
from angsync.kernels.batch_reference import FIELDS, MAX_ORDER

try:
    _solvers = {
        np.dtype(np.complex64): compiled._library.batch_solve_single,
        np.dtype(np.complex128): compiled._library.batch_solve_double,
    }
except AttributeError:
    raise ImportError("the compiled kernels hold none for batches") from None


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
) -> None:
    """What :func:`angsync.kernels.batch_reference.solve` does, in C; the stack is contiguous, its order 2 to 128."""
    count, n = stack.shape[:2]
    assert stack.flags.c_contiguous
    assert start.flags.c_contiguous
    assert (z.shape, z.dtype) == ((count, n), stack.dtype)
    assert found.shape == (count, len(FIELDS))
    assert 2 <= n <= MAX_ORDER
    whole = ctypes.c_int
    code = _solvers[stack.dtype](
        ctypes.c_int64(count),
        whole(n),
        compiled._pointer(stack),
        compiled._pointer(start),
        whole(power_steps),
        whole(gpm_steps),
        whole(min(max_iterations, 2**30)),
        ctypes.c_double(tolerance),
        whole(triangle),
        whole(certify),
        whole(gauge),
        compiled._pointer(z),
        compiled._pointer(found),
        compiled._threads_for(count * n * n),
    )
    if code != 0:
        raise MemoryError(f"no memory for the work of {count} problems of order {n}")
