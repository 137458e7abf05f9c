"""Many small problems on a device, solved there: one call, arrays in, arrays out."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from angsync._arrays import as_cupy, as_type, cupy, double_precision, dtype_name, from_cupy, from_numpy, namespace
from angsync.errors import InputError, ShapeError
from angsync.kernels import cuda_reference
from angsync.kernels.cuda_reference import CONVERGED, ITERATION_LIMIT, MAX_ORDER, NOT_FINITE

__all__ = ["CONVERGED", "ITERATION_LIMIT", "MAX_ORDER", "NOT_FINITE", "solve_batch_on_device"]

_CHUNK_ENTRIES = 1 << 26  # the general way keeps a few copies of so many entries


def solve_batch_on_device(
    C: Any,
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    power_steps: int = 10,
    shifts: Any | None = None,
) -> dict[str, Any]:
    r"""Solve a stack of problems where it lies.

    Parameters
    ----------
    C
        Array (..., n, n), complex64 or complex128, of CuPy, torch, JAX or NumPy. Each matrix is taken to be Hermitian,
        which is not checked.
    tolerance
        No phase turns by more than this at the end: :math:`|\mathrm{Im}(\bar z_j w_j)| \le \mathrm{tolerance}\,|w_j|`
        with :math:`w = (C + \mathrm{shift}\, I) z`. The residual is then no larger either.
    max_iterations
        Steps :math:`z \leftarrow w / |w|` a problem.
    power_steps
        Products before the first phases are taken. Two are faster, and leave about one hard problem in a hundred at a
        worse optimum.
    shifts
        Array (...): one number a problem. With a shift of at least :math:`-\lambda_{min}(C)` the objective never falls;
        a coherence matrix, which is positive semidefinite, needs none.

    Returns
    -------
    dict
        ``z`` (..., n), ``objective`` :math:`z^H C z`, ``residual``, ``iterations`` and ``status`` (0 converged,
        1 iteration limit, 2 not finite) of shape (...), arrays of the caller's library on the caller's device. A
        problem with an entry that is not finite gets NaN and status 2; the others do not notice.
    """
    shape = tuple(C.shape)
    if len(shape) < 3 or shape[-1] != shape[-2] or shape[-1] == 0:
        raise ShapeError(f"C must be a stack of square matrices (..., n, n), but its shape is {shape}.")
    if dtype_name(C) not in ("complex64", "complex128"):
        raise InputError(f"C must be complex64 or complex128, but it is {dtype_name(C)}: convert it first.")
    if not (math.isfinite(tolerance) and tolerance >= 0) or max_iterations < 0 or power_steps < 0:
        raise InputError(
            f"tolerance, max_iterations and power_steps must be 0 or more, not {tolerance}, {max_iterations} and "
            f"{power_steps}."
        )
    if shifts is not None and tuple(shifts.shape) != shape[:-2]:
        raise ShapeError(f"shifts must have one number a problem, shape {shape[:-2]}, not {tuple(shifts.shape)}.")
    n, count = shape[-1], math.prod(shape[:-2])
    space = namespace(C)
    stack = space.reshape(C, (count, n, n))
    flat = None if shifts is None else space.reshape(shifts, (count,))
    options: dict[str, Any] = {"tolerance": tolerance, "max_iterations": max_iterations, "power_steps": power_steps}
    device = as_cupy(stack)
    if device is not None and n <= MAX_ORDER and dtype_name(C) == "complex64":
        from angsync.kernels import cuda_module

        given = None if flat is None else as_cupy(flat)
        found = cuda_module.solve_batch(device, bias=_bias_on_device(device.device.id, n), shifts=given, **options)
        found = {name: from_cupy(array, C) for name, array in found.items()}
    else:
        with double_precision(C):
            found = _generally(stack, flat, options)
    return {name: space.reshape(array, shape[:-2] + ((n,) if name == "z" else ())) for name, array in found.items()}


@functools.cache
def _bias_on_device(device: int, n: int) -> Any:
    """Kept there: a copy from the host would wait for every kernel before it."""
    module = cupy()
    with module.cuda.Device(device):
        return module.asarray(cuda_reference.chirp(n))


def _generally(stack: Any, shifts: Any | None, options: dict[str, Any]) -> dict[str, Any]:
    """Any order, either precision: batched products of the library, a chunk of the problems at a time."""
    space = namespace(stack)
    count, n = stack.shape[0], stack.shape[1]
    bias = from_numpy(cuda_reference.chirp(n).astype(np.dtype(dtype_name(stack))), stack)
    size = max(1, _CHUNK_ENTRIES // n**2)
    parts = []
    for k in range(0, max(count, 1), size):
        chosen = slice(k, min(count, k + size))
        given = None if shifts is None else shifts[chosen]
        parts.append(cuda_reference.solve_batch(stack[chosen, :, :], bias=bias, shifts=given, xp=space, **options))
    join = getattr(space, "concat", None) or space.concatenate
    found = {name: join([part[name] for part in parts]) if len(parts) > 1 else parts[0][name] for name in parts[0]}
    found["iterations"] = as_type(found["iterations"], "int32")
    found["status"] = as_type(found["status"], "int8")
    return found
