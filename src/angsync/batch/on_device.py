"""A stack in the memory of a device: solved there, the phases stay there, a few numbers a problem come back."""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall, check_stack
from angsync.batch.result import BatchResult
from angsync.certificate.stacked import certificates
from angsync.errors import InputError, ShapeError
from angsync.kernels.batch.numbers import MAX_ORDER, chirp
from angsync.kernels.cuda import proof_reference as cuda_proof_reference
from angsync.kernels.cuda import reference as cuda_reference
from angsync.kernels.cuda.reference import SETTLED_RADIANS
from angsync.problem.array_libraries import (
    as_cupy,
    as_type,
    cupy,
    double_precision,
    dtype_name,
    from_cupy,
    from_numpy,
    joined,
    namespace,
    to_numpy,
)

POLISH_STEPS = 2
"""Steps before a proof: with two, all problems of the easy model in ``benchmarks/gpu.py`` are certified."""

_CHUNK_ENTRIES = 1 << 26  # of the problems solved at a time by the library's own products, which keep a few copies


def solve_where_it_lies(data: Any, call: StackCall) -> BatchResult:
    """The stack of a device, with what a device can do: full matrices, the first node as the gauge."""
    begin = time.perf_counter()
    if call.hermitian != "full" or call.gauge != "first":
        raise InputError("on a device, a stack of problems is taken in full, with gauge='first': leave both out.")
    dtype = np.dtype(dtype_name(data))
    check_stack(tuple(data.shape), dtype)
    tolerance = call.stopping.tolerance_for(dtype)
    limit = min(call.stopping.max_iterations, 2**30)
    # a gap is of second order in the residual: a proof is worth two more steps, made while C is at hand
    steps = POLISH_STEPS if call.certify else 0
    found = solve_batch_on_device(data, tolerance=tolerance, max_iterations=limit, polish_steps=steps)
    z = found["z"] * namespace(data).conj(found["z"][..., :1])
    numbers = {name: to_numpy(found[name]) for name in ("objective", "residual", "iterations", "status")}
    proofs: dict[str, NDArray] = {}
    if call.certify:
        proofs = certificates({**prove_batch_on_device(data, z), "status": numbers["status"]}, data.shape[-1])
    return BatchResult(
        z=z,
        objective=numbers["objective"].astype(np.float64),
        residual=numbers["residual"].astype(np.float64),
        iterations=numbers["iterations"].astype(np.int32),
        status=numbers["status"].astype(np.int8),
        tolerance=tolerance,
        gauge="first",
        seconds=time.perf_counter() - begin,
        **proofs,
    )


def solve_batch_on_device(
    C: Any,
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    power_steps: int = 20,
    settled: float = SETTLED_RADIANS,
    polish_steps: int = 0,
) -> dict[str, Any]:
    r"""Solve a stack of problems where it lies.

    Parameters
    ----------
    C
        Array (..., n, n), complex64 or complex128, of CuPy, torch, JAX or NumPy. Each matrix is taken to be Hermitian,
        which is not checked.
    tolerance
        No phase turns by more than this at the end: :math:`|\mathrm{Im}(\bar z_j w_j)| \le \mathrm{tolerance}\,|w_j|`
        with :math:`w = C z`. The residual is then no larger either.
    max_iterations
        Steps :math:`z \leftarrow w / |w|` a problem.
    power_steps
        Products before the first phases are taken, at most: an easy problem needs two, a hard one that gets no more may
        end at a worse optimum.
    settled
        Radians: the power steps of a problem end (but not before the second) when none of its phases turns by more.
    polish_steps
        Further steps after that, each kept where it lowers the residual of its problem.

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
    given = {"tolerance": tolerance, "max_iterations": max_iterations, "power_steps": power_steps, "settled": settled,
             "polish_steps": polish_steps}  # fmt: skip
    for name, value in given.items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"{name} must be a number of 0 or more, but it is {value}.")
    n, count = shape[-1], math.prod(shape[:-2])
    space = namespace(C)
    stack = space.reshape(C, (count, n, n))
    options: dict[str, Any] = dict(given)
    device = as_cupy(stack)
    if device is not None and n <= MAX_ORDER and dtype_name(C) == "complex64":
        from angsync.kernels.cuda import batch as cuda_batch

        found = cuda_batch.solve_batch(device, fixed_start=_fixed_start_on_device(device.device.id, n), **options)
        found = {name: from_cupy(array, C) for name, array in found.items()}
    else:
        with double_precision(C):
            found = _generally(stack, options)
    return {name: space.reshape(array, shape[:-2] + ((n,) if name == "z" else ())) for name, array in found.items()}


@functools.cache
def _fixed_start_on_device(device: int, n: int) -> Any:
    """The chirp, kept on the device: a copy from the host would wait for every kernel before it."""
    module = cupy()
    with module.cuda.Device(device):
        return module.asarray(chirp(n))


def _generally(stack: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Any order, either precision: batched products of the library, a chunk of the problems at a time."""
    space = namespace(stack)
    count, n = stack.shape[0], stack.shape[1]
    fixed_start = from_numpy(chirp(n).astype(np.dtype(dtype_name(stack))), stack)
    size = max(1, _CHUNK_ENTRIES // n**2)
    parts = []
    for k in range(0, max(count, 1), size):
        chosen = slice(k, min(count, k + size))
        parts.append(cuda_reference.solve_batch(stack[chosen, :, :], fixed_start=fixed_start, xp=space, **options))
    found = _joined(parts)
    found["iterations"] = as_type(found["iterations"], "int32")
    found["status"] = as_type(found["status"], "int8")
    return found


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: joined([part[name] for part in parts]) if len(parts) > 1 else parts[0][name] for name in parts[0]}


def prove_batch_on_device(C: Any, z: Any) -> dict[str, NDArray[np.float64]]:
    r"""Lower bounds on :math:`S(z)` over the complement of z, and what the gap is made of, for a stack where it lies.

    Parameters
    ----------
    C
        Array (..., n, n), complex64 or complex128. Each matrix is Hermitian by its upper triangle.
    z
        Its phases (..., n), of the same library. The bounds are for z scaled to unit modulus in double precision.

    Returns
    -------
    dict
        The fields of :data:`angsync.kernels.cuda.proof_reference.FIELDS`, NumPy arrays of shape (...).
    """
    shape = tuple(C.shape)
    n, count = shape[-1], math.prod(shape[:-2])
    space = namespace(C)
    stack, points = space.reshape(C, (count, n, n)), space.reshape(z, (count, n))
    device = as_cupy(stack)
    if device is not None and n <= MAX_ORDER and dtype_name(C) == "complex64":
        from angsync.kernels.cuda import proof as cuda_proof

        found = cuda_proof.prove_batch(device, as_cupy(points))
    else:
        size = max(1, _CHUNK_ENTRIES // n**2)
        place = functools.partial(from_numpy, like=C)
        with double_precision(C):
            parts = [
                cuda_proof_reference.prove_batch(
                    stack[k : min(count, k + size), :, :], points[k : min(count, k + size), :],
                    shares=cuda_proof_reference.EVERY, single=False, xp=space, place=place, cast=as_type,
                )
                for k in range(0, max(count, 1), size)
            ]  # fmt: skip
            found = _joined(parts)
    return {name: to_numpy(array).reshape(shape[:-2]) for name, array in found.items()}
