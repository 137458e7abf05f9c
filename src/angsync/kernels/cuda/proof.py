"""The CUDA kernels of the proofs, ``cuda/proof*.cu``: compiled and launched from here.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.proof_reference` says what is computed.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import cupy
import numpy as np

from angsync.kernels.cuda.proof_reference import DOUBLE, ENOUGH_SHARE, FAR, FIELDS, NEAR_ZERO_SHARE, SINGLE
from angsync.kernels.cuda.reference import MAX_ORDER
from angsync.kernels.cuda.source import source
from angsync.kernels.rounding import gamma


class Team(NamedTuple):
    """Threads of one problem in the pass by norms, and of a block."""

    size: int
    threads: int

    def shared_bytes(self, n: int) -> int:
        """Shared memory of a block: the struct ``Problem`` of proof_measure.cu for each of its problems."""
        return self.threads // self.size * _problem_bytes(n, self.size)


class Grid(NamedTuple):
    """Threads of one problem in a factorization, by rows and columns, and of a block."""

    rows: int
    columns: int
    threads: int

    def shared_bytes(self, n: int, single: bool) -> int:
        """Shared memory of a block: the struct ``Memory`` of proof.cu for each of its problems."""
        by_rows = self.rows * -(-n // self.rows)
        by_columns = self.columns * (-(-n // self.columns) + self.rows // self.columns)
        columns = sum(_aligned(2 * (8 if single else 16) * k) for k in (by_rows, by_columns))
        team = self.rows * self.columns
        return self.threads // team * (_problem_bytes(n, team) + columns)


def _aligned(size: int) -> int:
    return -(-size // 16) * 16


def _problem_bytes(n: int, team: int) -> int:
    unit, units = (16, n // 2) if n % 2 == 0 else (8, n)
    sizes = (unit * ((n + 1) // 2 * (units | 1) | 1), 16 * n, 8 * n, 8 * 11 * -(-team // 32), n)
    return sum(_aligned(size) for size in sizes)


def team_for(n: int) -> Team:
    """The fastest of those tried on an H200 at n = 10, 20, 32, 64 and 128."""
    if n <= 12:
        return Team(4, 128)
    if n <= 24:
        return Team(8, 256)
    if n <= 40:
        return Team(16, 64)
    return Team(32, 64) if n <= 64 else Team(128, 128)


def grid_for(n: int, single: bool) -> Grid:
    """Few enough entries of the matrix a thread (about 64 in single precision) that they stay in registers."""
    if single:
        if n <= 32:
            return Grid(2, 2, 64) if n <= 12 else Grid(4, 4, 32)
        return Grid(8, 8, 64) if n <= 64 else Grid(16, 16, 256)
    if n <= 64:
        return Grid(8, 4, 64) if n <= 32 else Grid(16, 8, 128)
    return Grid(32, 16, 512)


def _compiled(device: int, second: str, name: str, settings: dict[str, Any], shared_bytes: int) -> tuple[Any, int]:
    """A kernel, and how many blocks the device holds at a time."""
    code = source("proof_measure.cu", second)
    options = ("--std=c++17", *(f"-D{key}={value}" for key, value in settings.items()))
    kernel = cupy.RawModule(code=code, options=options).get_function(name)
    kernel.max_dynamic_shared_size_bytes = shared_bytes
    count = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
    resident = count(kernel.kernel.ptr, settings["THREADS"], shared_bytes)
    return kernel, resident * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


@functools.cache
def _norms_kernel(device: int, n: int, team: Team) -> tuple[Any, int]:
    settings = {"ORDER": n, "TEAM": team.size, "THREADS": team.threads}
    return _compiled(device, "proof_norms.cu", "bound_batch", settings, team.shared_bytes(n))


@functools.cache
def _factorizing_kernel(device: int, n: int, single: bool, grid: Grid) -> tuple[Any, int]:
    settings = {"ORDER": n, "REAL": "float" if single else "double", "TEAM": grid.rows * grid.columns}
    settings |= {"GRID_ROWS": grid.rows, "GRID_COLUMNS": grid.columns, "THREADS": grid.threads}
    return _compiled(device, "proof.cu", "prove_batch", settings, grid.shared_bytes(n, single))


@functools.cache
def _on_device(device: int, shares: tuple[float, ...]) -> Any:
    return cupy.asarray(np.array(shares))


def _bound_by_norms(C: Any, z: Any, found: Any, left: Any, left_count: Any, team: Team) -> None:
    count, n = C.shape[0], C.shape[1]
    kernel, resident = _norms_kernel(C.device.id, n, team)
    blocks = min(resident, -(-count // (team.threads // team.size)))
    arguments = (C, z, np.int32(count), np.float64(ENOUGH_SHARE), found, left, left_count)
    kernel((blocks,), (team.threads,), arguments, shared_mem=team.shared_bytes(n))


def _factorize(
    C: Any,
    z: Any,
    found: Any,
    chosen: tuple[Any, Any],
    left: tuple[Any, Any],
    shares: tuple[float, ...],
    single: bool,
    grid: Grid,
) -> None:
    count, n, device = C.shape[0], C.shape[1], C.device.id
    kernel, resident = _factorizing_kernel(device, n, single, grid)
    blocks = min(resident, -(-count // (grid.threads // (grid.rows * grid.columns))))
    just_below = next(k for k, step in enumerate(shares) if step < 0)
    limits = (np.int32(just_below), np.float64(FAR), np.float64(NEAR_ZERO_SHARE))
    arguments = (C, z, *chosen, _on_device(device, shares), np.int32(len(shares)), *limits, found, *left)
    kernel((blocks,), (grid.threads,), arguments, shared_mem=grid.shared_bytes(n, single))


@functools.cache
def _claiming_kernel(device: int) -> Any:
    return cupy.RawModule(code=source("claims.cu"), options=("--std=c++17",)).get_function("claim_batch")


def claim_batch(
    found: Any, status: Any, components: Any, skew: Any, n: int, tolerance: float, *, open_: Any = None
) -> dict[str, Any]:
    """Verdict, gaps and second eigenvalue from what :func:`prove_batch` found, as certificate/stacked.py says.

    ``open_``: a number on the device (one uint64), to which the problems without a proof are added.
    """
    count = status.size
    with status.device:
        kinds = {"verdict": cupy.int8, "gap_bound": cupy.float64, "relative_gap": cupy.float64,
                 "lambda_2": cupy.float64}  # fmt: skip
        out = {name: cupy.empty(count, dtype=kind) for name, kind in kinds.items()}
        if count > 0:
            # below the normal numbers each of a few n^2 operations is off by half of the smallest one instead
            rounding = (math.sqrt(2) * gamma(2 * n + 8), gamma(64), gamma(n * n + 64), 8 * n * n * 5e-324, tolerance)
            numbers = (np.float64(value) for value in rounding)
            counter = cupy.zeros(1, dtype=cupy.uint64) if open_ is None else open_
            arguments = (found, status, components, skew, np.int64(count), *numbers, *out.values(), counter)
            _claiming_kernel(status.device.id)((-(-count // 256),), (256,), arguments)
    return out


def prove_batch(C: Any, z: Any, *, team: Team | None = None, grid: Grid | None = None) -> dict[str, Any]:
    """The fields of :data:`~angsync.kernels.cuda.proof_reference.FIELDS` by name, for problems (count, n, n)."""
    found = proved(C, z, team=team, grid=grid)
    return {name: found[:, k] for k, name in enumerate(FIELDS)}


def proved(C: Any, z: Any, *, team: Team | None = None, grid: Grid | None = None) -> Any:
    """The same fields as one array (count, fields) in double precision.

    Three passes: norms for all, factorizations in single precision for those that norms do not settle, and in double
    precision for those that are then still near 0. Each leaves a list for the next one on the device: the host waits
    for none of them.
    """
    count, n = C.shape[0], C.shape[1]
    if not 1 <= n <= MAX_ORDER or C.dtype != np.complex64 or count >= 2**31:
        raise ValueError(f"the proof kernel takes fewer than 2^31 complex64 problems of order 1 to {MAX_ORDER}.")
    with C.device:
        C, z = cupy.ascontiguousarray(C), cupy.ascontiguousarray(z, dtype=cupy.complex64)
        if C.data.ptr % 16:
            C = C.copy()
        found = cupy.empty((count, len(FIELDS)), dtype=cupy.float64)
        if count > 0:
            left, sizes = cupy.empty((2, count), dtype=cupy.int32), cupy.zeros(2, dtype=cupy.int32)
            lists = [(left[k], sizes[k : k + 1]) for k in range(2)]
            nothing = (np.uintp(0), np.uintp(0))
            _bound_by_norms(C, z, found, *lists[0], team or team_for(n))
            _factorize(C, z, found, lists[0], lists[1], SINGLE, True, grid or grid_for(n, True))
            _factorize(C, z, found, lists[1], nothing, DOUBLE, False, grid_for(n, False))
    return found
