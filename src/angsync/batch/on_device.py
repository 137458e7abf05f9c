"""A stack in the memory of a device: solved and certified there, and everything found stays there."""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall, check_stack
from angsync.batch.input import check_hermitian
from angsync.batch.pieces import settle_status
from angsync.batch.result import BatchResult
from angsync.batch.source import Source
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.stacked import certificates
from angsync.errors import InputError, ShapeError
from angsync.kernels.batch.numbers import FIELDS, GAUGE_MEAN, GAUGE_NODE, NOT_FINITE, chirp
from angsync.kernels.batch.pieces_reference import count_pieces, first_of_piece, in_gauge
from angsync.kernels.cuda import proof_reference as cuda_proof_reference
from angsync.kernels.cuda import reference as cuda_reference
from angsync.kernels.cuda.few import Few
from angsync.kernels.cuda.reference import MAX_ORDER, SETTLED_RADIANS
from angsync.kernels.rounding import pair_share
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
"""Steps before a proof: with two, all problems of the easy model in ``benchmarks/cases/gpu.py`` are certified."""

_CHUNK_ENTRIES = 1 << 26  # of the problems solved at a time by the library's own products, which keep a few copies


def solve_where_it_lies(data: Any, call: StackCall) -> tuple[BatchResult, bool]:
    """The stack of a device, and whether some problem is other than converged, or asked to be certified and is not.

    The host waits for the device once.
    """
    begin = time.perf_counter()
    dtype = np.dtype(dtype_name(data))
    check_stack(tuple(data.shape), dtype)
    shape, n = tuple(data.shape[:-2]), data.shape[-1]
    gauge = call.gauge_code(n)
    tolerance = call.stopping.tolerance_for(dtype)
    stack = _stack(_filled(data, call.hermitian))
    options = {"tolerance": tolerance, "max_iterations": min(call.stopping.max_iterations, 2**30)}
    # a gap is of second order in the residual: a proof is worth two more steps, made while C is at hand
    options["polish_steps"] = POLISH_STEPS if call.certify else 0
    device = as_cupy(stack)
    by_kernels = device is not None and n <= MAX_ORDER and dtype_name(stack) == "complex64"
    if by_kernels:
        found, told = _by_kernels(device, gauge, call.certify, options)
        found = {name: from_cupy(array, data) for name, array in found.items()}
    else:
        with double_precision(data):
            found, troubled = _by_the_library(stack, gauge, call.certify, options, shape)
    space = namespace(data)
    arrays = {name: space.reshape(array, (*shape, n) if name == "z" else shape) for name, array in found.items()}
    if by_kernels:  # here the host waits, once
        _, unusual, asymmetric = (int(number) for number in told.get())
        troubled = unusual > 0
        if asymmetric < math.prod(shape):
            _check_hermitian(device[asymmetric], asymmetric, shape)
    seconds = time.perf_counter() - begin
    source = Source(data, None, None, None, call.hermitian)
    return BatchResult(tolerance=tolerance, gauge=call.gauge, seconds=seconds, source=source, **arrays), troubled


def _stack(C: Any) -> Any:
    """All problems along one axis."""
    return namespace(C).reshape(C, (math.prod(C.shape[:-2]), *C.shape[-2:]))


def _filled(C: Any, hermitian: str) -> Any:
    """The matrices as they are, or with the other triangle filled from the one that is given."""
    if hermitian == "full":
        return C
    space, n = namespace(C), C.shape[-1]
    kept = np.triu(np.ones((n, n), dtype=bool))
    kept = from_numpy(kept if hermitian == "upper" else kept.T.copy(), C)
    return space.where(kept, C, space.conj(space.swapaxes(C, -1, -2)))


def _check_hermitian(problem: Any, number: int, shape: tuple[int, ...]) -> None:
    """Raise what the host raises where a problem is not Hermitian."""
    check_hermitian(to_numpy(problem)[None], np.ones((len(FIELDS), 1)), np.ones(1, bool), number, shape, "full")


def _by_kernels(C: Any, gauge: int, certify: bool, options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """complex64 problems of at most 128 nodes: kernels for all, launched one after the other, and what they tell."""
    from angsync.kernels.cuda import batch as cuda_batch
    from angsync.kernels.cuda import proof as cuda_proof

    n = C.shape[1]
    options = {"power_steps": 20, "fixed_start": _fixed_start_on_device(C.device.id, n)} | options
    found = cuda_batch.solve_batch(C, gauge_node=max(0, gauge - GAUGE_NODE), **options)
    told = found.pop("told")
    if gauge == GAUGE_MEAN:
        found["z"] = _with_positive_sums(found["z"])
    if certify:
        fields = cuda_proof.proved(C, found["z"])
        known = (found["status"], found["components"], found["skew"])
        found |= cuda_proof.claim_batch(fields, *known, n, GAP_TOLERANCE, open_=told[1:2])
    del found["skew"]
    return found, told


def _with_positive_sums(z: Any) -> Any:
    """Phases turned so that the sum over each problem is positive; one phase for all nodes, whatever the pieces."""
    space = namespace(z)
    total = space.sum(z, axis=1)[:, None]
    return cuda_reference.phases(z * space.conj(total), z, xp=space)


def _by_the_library(
    C: Any, gauge: int, certify: bool, options: dict[str, Any], shape: tuple[int, ...]
) -> tuple[dict[str, Any], bool]:
    """Any order, either precision: array functions of the library, and the host for problems in several pieces.

    Also whether some problem is other than converged, or not certified.
    """
    space, n = namespace(C), C.shape[1]
    found = _generally(C, {"power_steps": 20, "settled": SETTLED_RADIANS} | options)
    found = {name: as_type(array, "float64") if name in ("objective", "residual") else array
             for name, array in found.items()}  # fmt: skip
    node = max(0, gauge - GAUGE_NODE)
    turn = space.conj(found["z"][:, node : node + 1])
    found["z"] = found["z"] * turn if gauge != GAUGE_MEAN else _with_positive_sums(found["z"])
    skew = _settle_pieces(C, found, gauge, shape)
    if certify:
        proved = {name: to_numpy(array) for name, array in _proved(C, found["z"]).items()}
        known = {name: to_numpy(found[name]) for name in ("status", "components")} | {"skew": skew}
        found |= {name: from_numpy(array, C) for name, array in certificates(proved | known, n).items()}
    return found, bool(space.any(found["status"] != 0)) or (certify and bool(space.any(found["verdict"] != 0)))


def _settle_pieces(C: Any, found: dict[str, Any], gauge: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Refuse what is not Hermitian, count the pieces of all, and settle status and gauge where there are several.

    Returns the sum of |C_jl - conj(C_lj)| over j < l of each problem. What is in several pieces, or may not be
    Hermitian, comes to the host.
    """
    n, count = C.shape[1], C.shape[0]
    finite = to_numpy(found["status"]) != NOT_FINITE
    parts = [_triangles_and_pieces(C[chunk, :, :]) for chunk in _chunks(count, n)]
    skew, suspicious, in_one = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    for k in np.flatnonzero(suspicious & finite):
        _check_hermitian(to_numpy(C[int(k), :, :]), int(k), shape)
    components = finite.astype(np.int32)
    several = np.flatnonzero(finite & ~in_one)
    if several.size:
        z, status = np.array(to_numpy(found["z"])), np.array(to_numpy(found["status"]))
        for chunk in _chunks(several.size, n):
            which = several[chunk]
            joined_nodes = np.triu(to_numpy(C[from_numpy(which, C)]) != 0, 1)
            joined_nodes |= joined_nodes.swapaxes(1, 2)
            first = first_of_piece(joined_nodes)
            components[which] = count_pieces(first)
            z[which] = in_gauge(z[which], first, joined_nodes.any(axis=2), gauge)
        settle_status(status, components, n)
        found["z"], found["status"] = from_numpy(z, C), from_numpy(status, C)
    found["components"] = from_numpy(components, C)
    return np.where(finite, skew, 0.0)


def _triangles_and_pieces(C: Any) -> tuple[NDArray, NDArray, NDArray]:
    """What the triangles of each problem differ by, whether that may be too much, and whether it is in one piece."""
    space, n = namespace(C), C.shape[1]
    above, diagonal = (from_numpy(mask, C) for mask in (np.triu(np.ones((n, n), dtype=bool), 1), np.eye(n, dtype=bool)))
    size, apart = space.abs(C), space.abs(C - space.conj(space.swapaxes(C, 1, 2)))
    share = pair_share(np.dtype(dtype_name(C)))
    suspicious = space.any(space.any(apart > share * size, axis=2), axis=1)
    skew = space.sum(as_type(apart * above, "float64"), axis=(1, 2))
    in_one = space.any(space.all((size > 0) | diagonal, axis=2), axis=1) & ~suspicious
    if not bool(space.all(in_one)):
        few = Few(~in_one, skew, space)
        measured = (few.taken(size) > 0) & above  # the upper triangle says what is measured
        joined_nodes = measured | space.swapaxes(measured, 1, 2) | diagonal
        in_one = few.put_back(_all_reached(joined_nodes, space), in_one)
    return to_numpy(skew), to_numpy(suspicious), to_numpy(in_one)


def _all_reached(joined_nodes: Any, space: Any) -> Any:
    """Whether all nodes are reached from the first one, in graphs (count, n, n); nodes are joined with themselves."""
    reached = joined_nodes[:, 0, :]
    for _ in range(joined_nodes.shape[1]):
        further = space.any(joined_nodes & reached[:, None, :], axis=2)
        if bool(space.all(further == reached)):
            break
        reached = further
    return space.all(reached, axis=1)


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

        found = cuda_batch.solve_batch(
            device, fixed_start=_fixed_start_on_device(device.device.id, n), checking=False, **options
        )
        found = {name: from_cupy(found[name], C) for name in ("z", "objective", "residual", "iterations", "status")}
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
    parts = [
        cuda_reference.solve_batch(stack[chunk, :, :], fixed_start=fixed_start, xp=space, **options)
        for chunk in _chunks(count, n)
    ]
    found = _joined(parts)
    found["iterations"] = as_type(found["iterations"], "int32")
    found["status"] = as_type(found["status"], "int8")
    return found


def _chunks(count: int, n: int) -> list[slice]:
    """Problems of order n that are worked on at a time; one chunk where there are none."""
    size = max(1, _CHUNK_ENTRIES // n**2)
    return [slice(k, min(count, k + size)) for k in range(0, max(count, 1), size)]


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: joined([part[name] for part in parts]) if len(parts) > 1 else parts[0][name] for name in parts[0]}


def _proved(C: Any, z: Any) -> dict[str, Any]:
    """The fields of a proof by array functions in double precision, a chunk of the problems at a time."""
    space, count, n = namespace(C), C.shape[0], C.shape[1]
    parts = [
        cuda_proof_reference.prove_batch(
            C[chunk, :, :], z[chunk, :],
            shares=cuda_proof_reference.EVERY, single=False, xp=space, place=functools.partial(from_numpy, like=C),
            cast=as_type,
        )
        for chunk in _chunks(count, n)
    ]  # fmt: skip
    return _joined(parts)
