"""The CUDA kernel of the proofs, ``cuda/proof.cu``: compiled and launched from here.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda_proof_reference` says what is computed.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, NamedTuple

import cupy
import numpy as np

from angsync.kernels.cuda_proof_reference import DOUBLE, FIELDS, NEAR, SINGLE
from angsync.kernels.cuda_reference import MAX_ORDER


class Grid(NamedTuple):
    """Threads of one problem, by rows and columns, and of a block."""

    rows: int
    columns: int
    threads: int

    def shared_bytes(self, n: int, single: bool) -> int:
        """Shared memory of a block: the struct ``Memory`` of proof.cu for each of its problems."""
        team = self.rows * self.columns
        by_rows = self.rows * -(-n // self.rows)
        by_columns = self.columns * (-(-n // self.columns) + self.rows // self.columns)
        # every array is aligned to 16 bytes at most
        sizes = (16 * n, 8 * n, 72 * -(-team // 32), *(2 * (8 if single else 16) * k for k in (by_rows, by_columns)))
        own = sum(-(-size // 16) * 16 for size in (*sizes, 8 * (n * (n - 1) // 2 + 1), n))
        return self.threads // team * own


def grid_for(n: int, single: bool) -> Grid:
    """Few enough entries of the matrix a thread (about 64 in single precision) that they stay in registers."""
    if single:
        if n <= 32:
            return Grid(2, 2, 64) if n <= 12 else Grid(4, 4, 32)
        return Grid(8, 8, 64) if n <= 64 else Grid(16, 16, 256)
    if n <= 64:
        return Grid(8, 4, 64) if n <= 32 else Grid(16, 8, 128)
    return Grid(32, 16, 512)


@functools.cache
def _kernel(device: int, n: int, single: bool, grid: Grid) -> tuple[Any, int]:
    """The kernel for one order and precision, and how many blocks the device holds at a time."""
    settings = {"ORDER": n, "REAL": "float" if single else "double", "GRID_ROWS": grid.rows}
    settings |= {"GRID_COLUMNS": grid.columns, "THREADS": grid.threads}
    code = (resources.files("angsync.kernels") / "cuda" / "proof.cu").read_text(encoding="utf-8")
    options = ("--std=c++17", *(f"-D{key}={value}" for key, value in settings.items()))
    kernel = cupy.RawModule(code=code, options=options).get_function("prove_batch")
    size = grid.shared_bytes(n, single)
    kernel.max_dynamic_shared_size_bytes = size
    resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, grid.threads, size)
    return kernel, resident * cupy.cuda.Device(device).attributes["MultiProcessorCount"]


@functools.cache
def _on_device(device: int, shares: tuple[float, ...]) -> Any:
    return cupy.asarray(np.array(shares))


def _launch(
    C: Any, z: Any, found: Any, chosen: Any | None, shares: tuple[float, ...], single: bool, grid: Grid | None = None
) -> None:
    n, device = C.shape[1], C.device.id
    count = C.shape[0] if chosen is None else chosen.size
    grid = grid or grid_for(n, single)
    kernel, resident = _kernel(device, n, single, grid)
    teams = grid.threads // (grid.rows * grid.columns)
    which = np.uintp(0) if chosen is None else chosen
    arguments = (C, z, which, np.int32(count), _on_device(device, shares), np.int32(len(shares)), found)
    blocks = min(resident, -(-count // teams))
    kernel((blocks,), (grid.threads,), arguments, shared_mem=grid.shared_bytes(n, single))


def prove_batch(C: Any, z: Any, *, grid: Grid | None = None) -> dict[str, Any]:
    """The fields of :data:`~angsync.kernels.cuda_proof_reference.FIELDS` for complex64 problems (count, n, n).

    A pass in single precision for all, and one in double precision for those it could not bound above 0: between them
    the host reads how many those are.
    """
    count, n = C.shape[0], C.shape[1]
    if not 1 <= n <= MAX_ORDER or C.dtype != np.complex64 or count >= 2**31:
        raise ValueError(f"the proof kernel takes fewer than 2^31 complex64 problems of order 1 to {MAX_ORDER}.")
    with C.device:
        C, z = cupy.ascontiguousarray(C), cupy.ascontiguousarray(z, dtype=cupy.complex64)
        found = cupy.empty((count, len(FIELDS)), dtype=cupy.float64)
        if count > 0:
            _launch(C, z, found, None, SINGLE, True, grid)
            near = (found[:, 0] <= 0) & (found[:, 0] >= NEAR * found[:, FIELDS.index("rows_most")])
            left = cupy.flatnonzero(near).astype(cupy.int32)
            if left.size > 0:
                _launch(C, z, found, left, DOUBLE, False)
    return {name: found[:, k] for k, name in enumerate(FIELDS)}
