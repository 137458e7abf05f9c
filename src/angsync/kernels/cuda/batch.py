"""The CUDA kernel of a batch of small problems: NVRTC compiles it through CuPy when first used; launched from here.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.reference` says what is computed; the
signature is the same. Arrays are CuPy's and stay on the device.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import cupy
import numpy as np

from angsync.kernels.cuda.reference import MAX_ORDER, SETTLED_RADIANS
from angsync.kernels.cuda.source import source
from angsync.kernels.rounding import pair_floor, pair_share

_REGISTERS = 65_536  # of a multiprocessor

NONE_ASYMMETRIC = 2**63
_SINGLE = np.dtype(np.complex64)


class Layout(NamedTuple):
    """How the problems of one order are spread over lanes: see batch.cu."""

    rows: int
    split: int
    threads: int
    resident: int
    padded: bool = False

    def shared_bytes(self, n: int) -> int:
        """Shared memory of a block: the matrices on their way, the vectors, and a few sums."""
        lanes = -(-n // self.rows) * self.split
        in_warp = lanes <= 32
        problems = 32 // lanes if in_warp else 1
        teams = self.threads // 32 if in_warp else 1
        unit, units = (16, n // 2) if n % 2 == 0 else (8, n)
        vector = -(-units // self.split) * self.split
        pitch = units | 1 if self.padded else units
        matrices, vectors = unit * problems * n * pitch, 2 * unit * problems * vector
        own = matrices + vectors + 8 + 16 * (32 if in_warp else self.threads // 32)
        return teams * -(-(own + 4 * problems) // unit) * unit


def layout_for(n: int) -> Layout:
    """Rows a lane, lanes a row, threads a block: the fastest of those tried on an H200 at n = 10, 20, 32, 64, 128.

    C has to fit into the registers of its lanes (at most about 128 of 255 each). More rows a lane: fewer reads of the
    vector. As many lanes a row as 128 bytes hold units: no two of them meet in a bank, and rows need no padding.
    """
    if n <= 12:
        return Layout(min(n, 5), 1, 32, 8)
    if n <= 24:
        # rows of a multiple of 128 bytes would all begin in the same bank
        return Layout(4, 2, 128, 3, padded=n % 16 == 0)
    if n <= 32:
        return Layout(8, 4, 32, 8)
    if n <= 64:
        return Layout(8, 8, 64, 4)
    threads = -(-(-(-n // 4) * 8) // 32) * 32
    return Layout(4, 8, threads, max(1, _REGISTERS // (threads * 200)))


@functools.cache
def _batch_kernel(device: int, n: int, layout: Layout, polish_steps: int, checking: bool) -> tuple[Any, int]:
    """The kernel for one order, and how many blocks the device holds at a time."""
    settings = {"ORDER": n, "POLISH_STEPS": polish_steps, "CHECKING": int(checking)}
    settings |= {name.upper(): int(value) for name, value in layout._asdict().items()}
    options = ("--std=c++17", *(f"-D{key}={value}" for key, value in settings.items()))
    code = source("batch_layout.cu", "batch_product.cu", "batch.cu")
    kernel = cupy.RawModule(code=code, options=options).get_function("solve_batch")
    size = layout.shared_bytes(n)
    kernel.max_dynamic_shared_size_bytes = size
    resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, layout.threads, size)
    return kernel, resident * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


@functools.cache
def _examining_kernel(device: int, n: int) -> tuple[Any, int]:
    """The kernel for one order, and a number of blocks that fills the device."""
    module = cupy.RawModule(code=source("batch_examine.cu"), options=("--std=c++17", f"-DORDER={n}"))
    kernel = module.get_function("examine_batch")
    kernel.max_dynamic_shared_size_bytes = _examining_bytes(n)
    return kernel, 8 * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


def _examining_warps(n: int) -> int:
    """Problems of a block of examine_batch at a time, one a warp: their matrices are in shared memory."""
    return 4 if n <= 64 else 1


def _examining_bytes(n: int) -> int:
    return _examining_warps(n) * 8 * n * (n | 1)


def solve_batch(
    C: Any,
    *,
    fixed_start: Any,
    shifts: Any | None = None,
    tolerance: float,
    max_iterations: int,
    power_steps: int,
    settled: float = SETTLED_RADIANS,
    polish_steps: int = 0,
    start: Any | None = None,
    gauge_node: int = 0,
    checking: bool = True,
    layout: Layout | None = None,
) -> dict[str, Any]:
    """Solve the problems of a complex64 array (count, n, n), n at most 128: one launch, C read once.

    The whole of C is read, not one triangle: at these sizes a row is a few sectors of memory long. ``polish_steps``
    are those of :func:`~angsync.kernels.cuda.reference.polished`, made while C is still there. ``start``: phases
    (count, n) to begin with, without power steps. Without ``checking`` each problem is taken to be Hermitian and in one
    piece. ``told``: three numbers on the device, the problems that were looked
    at more closely, those that have another status than converged, and the first one that is not Hermitian
    (``NONE_ASYMMETRIC`` where all are).
    """
    count, n = C.shape[0], C.shape[1]
    if not 1 <= n <= MAX_ORDER or C.dtype != np.complex64:
        raise ValueError(f"the batch kernel takes complex64 problems of order 1 to {MAX_ORDER}.")
    layout = layout or layout_for(n)
    with C.device:
        C = cupy.ascontiguousarray(C)
        if C.data.ptr % 16:
            C = C.copy()
        out = {
            "z": cupy.empty((count, n), dtype=cupy.complex64),
            "objective": cupy.empty(count, dtype=cupy.float64),
            "residual": cupy.empty(count, dtype=cupy.float64),
            "iterations": cupy.empty(count, dtype=cupy.int32),
            "status": cupy.empty(count, dtype=cupy.int8),
            "components": cupy.empty(count, dtype=cupy.int32),
            "skew": (cupy.empty if checking and polish_steps > 0 else cupy.zeros)(count, dtype=cupy.float64),
        }
        told = _untold(C.device.id).copy()
        if count == 0:
            return out | {"told": told}
        kernel, resident = _batch_kernel(C.device.id, n, layout, polish_steps, checking)
        lanes = -(-n // layout.rows) * layout.split
        together = (32 // lanes) * (layout.threads // 32) if lanes <= 32 else 1
        powers = np.int32(power_steps if start is None else 0)
        steps = (np.float32(tolerance), np.int32(max_iterations), powers, np.float32(settled))
        # sums of |re| and |im| are compared, within sqrt(2) of moduli: what is suspected wrongly is looked at again
        settings = (*steps, np.float32(pair_share(_SINGLE) / 1.5), np.int32(gauge_node))
        fixed_start = cupy.asarray(fixed_start, dtype=cupy.complex64)
        nothing = np.uintp(0)
        shift = nothing if shifts is None else cupy.ascontiguousarray(shifts, dtype=cupy.float32)
        first = nothing if start is None else cupy.ascontiguousarray(start, dtype=cupy.complex64)
        suspects = cupy.empty(count, dtype=cupy.int32)
        arguments = (C, np.int64(count), fixed_start, shift, first, *settings, *out.values(), suspects, told)
        kernel((min(resident, -(-count // together)),), (layout.threads,), arguments, shared_mem=layout.shared_bytes(n))
        if checking:
            examine, blocks = _examining_kernel(C.device.id, n)
            shares = (np.float64(pair_share(_SINGLE)), np.float64(pair_floor(_SINGLE)), np.int32(gauge_node))
            looked_at = (C, suspects, *shares, out["z"], out["status"], out["components"], told)
            examine((blocks,), (32 * _examining_warps(n),), looked_at, shared_mem=_examining_bytes(n))
    return out | {"told": told}


@functools.cache
def _untold(device: int) -> Any:
    """What ``told`` begins with, kept on the device: a copy from the host would wait for every kernel before it."""
    return cupy.asarray(np.array([0, 0, NONE_ASYMMETRIC], dtype=np.uint64))
