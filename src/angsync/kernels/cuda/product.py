"""The CUDA product with one triangle of a large matrix: NVRTC compiles it when first used; launched from here.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.reference` says what each function computes;
the signatures are the same. Arrays are CuPy's and stay on the device.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import cupy
import numpy as np

from angsync.kernels.cuda.schedule import GRAIN, Schedule, schedule
from angsync.kernels.cuda.source import source

_WARPS = 8  # of a block in product.cu
ENTRIES, PARTS = 32, 8  # threads of a block in step.cu


class Pieces(NamedTuple):
    """The product kernel for one kind of matrix: see product.cu and schedule.py."""

    lane: int
    """Columns a lane."""
    column_groups: int
    rows: int
    """Rows that are added up across lanes together."""
    depth: int
    """Groups of so many rows on their way."""
    resident: int
    longest: int
    shortest: int = GRAIN
    rounds: float = 2.0
    leave_first: bool = True

    @property
    def width(self) -> int:
        return 32 * self.lane * self.column_groups

    def expression(self, entry: str, aligned: bool) -> str:
        kind = (entry, self.lane, self.column_groups, self.rows, str(aligned).lower(), self.depth, self.resident)
        return f"hermitian_pieces<{','.join(str(value) for value in kind)}>"

    def shared_bytes(self, entry: str) -> int:
        """Twice entries of x and sums of rows; the larger of what is on its way and the sums of columns."""
        staged = _WARPS * self.rows * self.depth * 32 * self.lane * (8 if entry == "float2" else 16)
        return 2 * 16 * (1 + self.column_groups) * GRAIN + max(staged, 16 * _WARPS * 32 * self.lane)


def pieces_for(n: int, single: bool) -> Pieces:
    """The fastest of those tried on an H200 at n = 8192, 16384, 32768 and 65536, complex64.

    Small problems: narrow strips, so that every multiprocessor has work; large ones: wide and high pieces, so that
    there are few slots, and so much of C that what stays in the cache does not matter.
    """
    rows, depth = (8, 1) if single else (2, 2)
    if n <= 12_288:
        return Pieces(4, 2, rows, depth, 2, 256)
    if n <= 24_576:
        return Pieces(4, 2, rows, depth, 2, 512, rounds=1.0)
    groups, longest = (4, 1024) if n <= 49_152 else (8, 2048)
    return Pieces(4, groups, rows, depth, 2, longest, leave_first=False)


@functools.cache
def _product_kernel(device: int, entry: str, pieces: Pieces, aligned: bool) -> Any:
    name = pieces.expression(entry, aligned)
    options = ("--std=c++17", f"-DLEAVE_FIRST={int(pieces.leave_first)}")
    kernel = cupy.RawModule(code=source("product.cu"), options=options, name_expressions=(name,)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = pieces.shared_bytes(entry)
    return kernel


@functools.cache
def step_kernels(device: int) -> tuple[Any, Any]:
    """``gather_slots`` and ``gpm_step`` of step.cu."""
    names = ("gather_slots", "gpm_step")
    module = cupy.RawModule(code=source("step.cu"), options=("--std=c++17",), name_expressions=names)
    return module.get_function(names[0]), module.get_function(names[1])


@functools.lru_cache(maxsize=16)
def _plan(device: int, n: int, kind: Pieces, blocks: int) -> tuple[Schedule, Any, Any]:
    """The schedule, and its pieces and counts on the device: a copy from the host would wait for what runs there."""
    plan = schedule(n, kind.width, blocks, longest=kind.longest, shortest=kind.shortest, rounds=kind.rounds)
    return plan, cupy.asarray(plan.pieces), cupy.asarray(plan.counts)


class Product:
    """C x for one C, with the slots that its pieces write: a callable that keeps its workspace for many products."""

    def __init__(self, C: Any, pieces: Pieces | None = None) -> None:
        if C.strides[1] != C.itemsize:
            C = cupy.ascontiguousarray(C)
        self.C, self.n = C, C.shape[0]
        self.pitch = C.strides[0] // C.itemsize
        single = C.dtype == np.complex64
        entry = "float2" if single else "double2"
        kind = pieces or pieces_for(self.n, single)
        aligned = not single or (self.pitch % 2 == 0 and C.data.ptr % 16 == 0)
        blocks = kind.resident * C.device.attributes["MultiProcessorCount"]
        plan, self.pieces, counts = _plan(C.device.id, self.n, kind, blocks)
        self.row_slots_at = plan.row_slots_at
        self.rounding_length = plan.rounding_length(kind.lane, kind.column_groups, _WARPS)
        values = cupy.empty((plan.slots, self.n), dtype=cupy.complex128)
        places = (np.int32(plan.strips), np.int32(kind.width), np.int32(plan.row_slots_at), np.int32(self.n))
        self.slots: tuple[Any, ...] = (values, counts, *places)
        self.never = cupy.zeros(1, dtype=cupy.int32)
        self.kernel = _product_kernel(C.device.id, entry, kind, aligned)
        self.shared_bytes = kind.shared_bytes(entry)

    def launch(self, x: Any, done: Any | None = None) -> None:
        """Fill the slots; nothing is done where ``done`` on the device is not 0."""
        flag = self.never if done is None else done
        matrix = (self.C, np.int64(self.pitch), np.int32(self.n))
        arguments = (*matrix, x, self.pieces, np.int32(self.row_slots_at), self.slots[0], flag)
        self.kernel((self.pieces.shape[0],), (32 * _WARPS,), arguments, shared_mem=self.shared_bytes)

    def __call__(self, x: Any) -> Any:
        x = cupy.ascontiguousarray(x, dtype=cupy.complex128)
        out = cupy.empty(self.n, dtype=cupy.complex128)
        self.launch(x)
        gather, _ = step_kernels(self.C.device.id)
        gather((-(-self.n // ENTRIES),), (ENTRIES, PARTS), (*self.slots, out))
        return out


def hermitian_product(C: Any, x: Any) -> Any:
    """C x in double precision from the upper triangle of C, complex64 or complex128; bitwise reproducible."""
    with C.device:
        return Product(C)(x)
