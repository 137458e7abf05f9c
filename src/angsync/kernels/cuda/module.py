"""The CUDA kernels: compiled by NVRTC through CuPy when they are first used, and launched from here.

Those of the proofs are in :mod:`angsync.kernels.cuda.proof`.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.reference` says what each function computes;
the signatures are the same. Arrays are CuPy's and stay on the device.
"""

from __future__ import annotations

import functools
import math
from importlib import resources
from typing import Any, NamedTuple

import cupy
import numpy as np

from angsync.kernels.cuda.reference import CONVERGED, ITERATION_LIMIT, MAX_ORDER, NOT_FINITE, SETTLED, LoopResult
from angsync.kernels.cuda.schedule import GRAIN, Schedule, schedule

_WARPS = 8  # of a block in product.cu
_ENTRIES, _PARTS = 32, 8  # threads of a block in step.cu
_REGISTERS = 65_536  # of a multiprocessor
_POWER, _NORMALISE, _GPM = 0, 1, 2  # rules of gpm_step


def _source(name: str) -> str:
    return (resources.files("angsync.kernels.cuda") / name).read_text(encoding="utf-8")


class Pieces(NamedTuple):
    """The product kernel for one kind of matrix: see product.cu and cuda_schedule.py."""

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
    kernel = cupy.RawModule(code=_source("product.cu"), options=options, name_expressions=(name,)).get_function(name)
    kernel.max_dynamic_shared_size_bytes = pieces.shared_bytes(entry)
    return kernel


@functools.cache
def _step_kernels(device: int) -> tuple[Any, Any]:
    names = ("gather_slots", "gpm_step")
    module = cupy.RawModule(code=_source("step.cu"), options=("--std=c++17",), name_expressions=names)
    return module.get_function(names[0]), module.get_function(names[1])


@functools.lru_cache(maxsize=16)
def _plan(device: int, n: int, kind: Pieces, blocks: int) -> tuple[Schedule, Any, Any]:
    """The schedule, and its pieces and counts on the device: a copy from the host would wait for what runs there."""
    plan = schedule(n, kind.width, blocks, longest=kind.longest, shortest=kind.shortest, rounds=kind.rounds)
    return plan, cupy.asarray(plan.pieces), cupy.asarray(plan.counts)


class _Product:
    """C x for one C, with the slots that its pieces write."""

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
        gather, _ = _step_kernels(self.C.device.id)
        gather((-(-self.n // _ENTRIES),), (_ENTRIES, _PARTS), (*self.slots, out))
        return out


def hermitian_product(C: Any, x: Any) -> Any:
    """C x in double precision from the upper triangle of C, complex64 or complex128; bitwise reproducible."""
    with C.device:
        return _Product(C)(x)


product = _Product
"""``product(C)`` is a callable ``x -> C x`` that keeps its workspace: for many products with one C."""


def gpm(
    C: Any,
    z: Any,
    *,
    tolerance: float,
    max_iterations: int,
    alpha: float = math.inf,
    power_steps: int = 0,
    scale: float = 1.0,
    check_every: int = 8,
) -> LoopResult:
    """The generalized power method on the device: two launches an iteration and no wait between them.

    Every ``check_every`` iterations a flag is copied to the host, and looked at only when the next ones are on their
    way already, so the device never waits. Launches after the end return at once.
    """
    with C.device:
        return _Loop(C, z, tolerance, max_iterations, alpha, power_steps, scale).run(max(1, check_every))


class _Loop:
    """The arrays of one run on the device."""

    def __init__(
        self,
        C: Any,
        z: Any,
        tolerance: float,
        max_iterations: int,
        alpha: float,
        power_steps: int,
        scale: float,
    ) -> None:
        self.product = _Product(C)
        n = self.product.n
        self.n, self.blocks = n, -(-n // _ENTRIES)
        self.tolerance, self.scale = tolerance, scale
        self.weight = 0.0 if math.isinf(alpha) else alpha / n / scale
        self.power_steps, self.max_iterations = power_steps, max_iterations
        self.iterates = (cupy.array(z, dtype=cupy.complex128), cupy.empty(n, dtype=cupy.complex128))
        self.image = cupy.empty(n, dtype=cupy.complex128)
        self.block_sums = cupy.empty(3 * self.blocks, dtype=cupy.float64)
        self.arrived = cupy.zeros(1, dtype=cupy.uint32)
        self.history = cupy.zeros((max_iterations + 1, 2), dtype=cupy.float64)
        self.done = cupy.zeros(1, dtype=cupy.int32)
        _, self.kernel = _step_kernels(C.device.id)

    def step(self, number: int) -> None:
        """Launch step ``number``, power steps counted."""
        iteration = number - self.power_steps
        rule = _GPM if iteration >= 0 else _NORMALISE if iteration == -1 else _POWER
        here, there = self.iterates[number % 2], self.iterates[(number + 1) % 2]
        self.product.launch(here, self.done)
        arguments = (
            *self.product.slots,
            np.float64(self.scale),
            np.int32(rule),
            np.float64(self.weight),
            np.float64(self.tolerance),
            np.int32(max(0, iteration)),
            here,
            self.image,
            there,
            self.block_sums,
            self.arrived,
            self.history,
            self.done,
        )
        self.kernel((self.blocks,), (_ENTRIES, _PARTS), arguments)

    def run(self, check_every: int) -> LoopResult:
        total = self.power_steps + self.max_iterations + 1
        flags = _Flags(self.done)
        for number in range(total):
            self.step(number)
            if (number + 1) % check_every == 0 and flags.any_before_this_one():
                break
        flag = int(self.done[0])
        iterations = abs(flag) - 1 if flag else self.max_iterations
        history = cupy.asnumpy(self.history[: iterations + 1])
        return LoopResult(
            z=self.iterates[(self.power_steps + iterations) % 2],
            product=self.image / self.scale,
            objective=history[:, 0] / self.scale,
            residual=history[:, 1].copy(),
            status=CONVERGED if flag > 0 else NOT_FINITE if flag < 0 else ITERATION_LIMIT,
            iterations=iterations,
            products=self.power_steps + iterations + 1,
        )


class _Flags:
    """Copies of a flag on their way to the host, read one round late."""

    def __init__(self, flag: Any) -> None:
        self.flag = flag
        memory = cupy.cuda.alloc_pinned_memory(8)
        self.host = np.frombuffer(memory, dtype=np.int32, count=2)
        self.round = 0
        self.previous: Any = None

    def any_before_this_one(self) -> bool:
        """Send for the flag; True when the one sent for the last time had been raised."""
        place = self.host[self.round % 2 : self.round % 2 + 1]
        self.flag.get(out=place, blocking=False)
        event = cupy.cuda.Event(disable_timing=True)
        event.record()
        raised = False
        if self.previous is not None:
            self.previous.synchronize()
            raised = bool(self.host[(self.round + 1) % 2])
        self.previous = event
        self.round += 1
        return raised


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
        own = matrices + vectors + 8 + 12 * (32 if in_warp else self.threads // 32)
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
def _batch_kernel(device: int, n: int, layout: Layout, polish_steps: int) -> tuple[Any, int]:
    """The kernel for one order, and how many blocks the device holds at a time."""
    settings = {"ORDER": n, "POLISH_STEPS": polish_steps}
    settings |= {name.upper(): int(value) for name, value in layout._asdict().items()}
    options = ("--std=c++17", *(f"-D{key}={value}" for key, value in settings.items()))
    code = "".join(_source(name) for name in ("batch_layout.cu", "batch_product.cu", "batch.cu"))
    kernel = cupy.RawModule(code=code, options=options).get_function("solve_batch")
    size = layout.shared_bytes(n)
    kernel.max_dynamic_shared_size_bytes = size
    resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, layout.threads, size)
    return kernel, resident * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


def solve_batch(
    C: Any,
    *,
    bias: Any,
    shifts: Any | None = None,
    tolerance: float,
    max_iterations: int,
    power_steps: int,
    settled: float = SETTLED,
    polish_steps: int = 0,
    start: Any | None = None,
    layout: Layout | None = None,
) -> dict[str, Any]:
    """Solve the problems of a complex64 array (count, n, n), n at most 128: one launch, C read once.

    The whole of C is read, not one triangle: at these sizes a row is a few sectors of memory long. ``polish_steps``
    are those of :func:`~angsync.kernels.cuda.reference.polished`, made while C is still there. ``start``: phases
    (count, n) to begin with, without power steps.
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
            "objective": cupy.empty(count, dtype=cupy.float32),
            "residual": cupy.empty(count, dtype=cupy.float32),
            "iterations": cupy.empty(count, dtype=cupy.int32),
            "status": cupy.empty(count, dtype=cupy.int8),
        }
        if count == 0:
            return out
        kernel, resident = _batch_kernel(C.device.id, n, layout, polish_steps)
        lanes = -(-n // layout.rows) * layout.split
        together = (32 // lanes) * (layout.threads // 32) if lanes <= 32 else 1
        powers = np.int32(power_steps if start is None else 0)
        settings = (np.float32(tolerance), np.int32(max_iterations), powers, np.float32(settled))
        bias = cupy.asarray(bias, dtype=cupy.complex64)
        nothing = np.uintp(0)
        shift = nothing if shifts is None else cupy.ascontiguousarray(shifts, dtype=cupy.float32)
        first = nothing if start is None else cupy.ascontiguousarray(start, dtype=cupy.complex64)
        arguments = (C, np.int64(count), bias, shift, first, *settings, *out.values())
        kernel((min(resident, -(-count // together)),), (layout.threads,), arguments, shared_mem=layout.shared_bytes(n))
    return out
