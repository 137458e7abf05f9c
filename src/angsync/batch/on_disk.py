"""A stack of matrices in a zarr store, solved chunk by chunk into another one: it can be ended, resumed and checked."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall, check_stack
from angsync.batch.chunk import ChunkSolver, answers
from angsync.batch.dataset import ORDER, attributes, attributes_of, check_absent, precision, settings_of
from angsync.batch.reading import StoredStack
from angsync.batch.result import BatchStatus
from angsync.errors import FileFormatError, InputError, MissingDependencyError
from angsync.io.chunked import arrays, fingerprint, manifest, markers, work
from angsync.io.chunked.grid import Chunk, Field, Grid
from angsync.io.chunked.runner import Runner, in_process
from angsync.io.chunked.source import Source
from angsync.io.chunked.task import Computed
from angsync.io.failures import check_free, listed
from angsync.kernels.batch.numbers import MAX_ORDER
from angsync.problem.memory import allowed
from angsync.problem.stored import check_not_encoded
from angsync.problem.zarr_origin import ABSENT

_KIND = "angsync solve"
_FILL: dict[str, Any] = {"status": int(BatchStatus.INTERRUPTED), "verdict": 1, "z": None}
"""What stands where nothing is written yet; otherwise NaN."""


class Solved(NamedTuple):
    """What became of a stack."""

    shape: tuple[int, ...]
    n: int
    counts: dict[str, int]
    """How many problems ended in which way, those of earlier runs included, and how many are UNDECIDED."""
    done: work.Done

    @property
    def problems(self) -> int:
        return math.prod(self.shape)


def open_stack(path: str | os.PathLike[str], variable: str | None = None) -> Any:
    """The zarr array of a store that is a stack of square matrices: the only one, or that of this name."""
    zarr = arrays.library(f"{path}")
    try:
        opened = zarr.open(os.fspath(path), mode="r")
    except Exception as error:  # whatever a damaged store makes the library raise
        raise FileFormatError(f"cannot open the zarr store {path} ({type(error).__name__}: {error}).") from None
    if arrays.is_zarr(opened):
        if variable is not None:
            raise FileFormatError(f"{path} is one array: there is no {variable!r} in it.")
        return opened
    found = {name: array for name, array in opened.arrays() if len(array.shape) > 2 and len(set(array.shape[-2:])) == 1}
    if variable is not None and variable in found:
        return found[variable]
    if variable is None and len(found) == 1:
        return next(iter(found.values()))
    names = ", ".join(sorted(found)) or "none"
    raise FileFormatError(f"{path} must hold one stack (..., n, n), but it holds: {names}. Give the path of the array.")


@dataclass(frozen=True)
class _Compute:
    """One chunk of the stack, read and solved in whatever process."""

    path: str
    memory: int
    solver: ChunkSolver
    absent: str

    def __call__(self, chunk: Chunk) -> Computed:
        array = open_stack(self.path)
        stack = StoredStack(array, self.memory, self.path, self.absent, self.solver.call.hermitian)
        box = tuple(slice(first, last) for first, last in zip(chunk.first, chunk.last, strict=True))
        with stack.held(box) as (C, absent):
            values = self.solver(C, chunk.first, absent)
        wanted = answers(self.solver.dtype, self.solver.call.certify)
        fields = {name: array for (name, _), array in zip(wanted, values, strict=True)}
        return Computed(fields, {"counts": _counts(fields)})

    def still(self, chunk: Chunk, marker: Mapping[str, Any]) -> bool:
        """Whether the input gives the answers that a marker tells. Solved again: what was read is not kept in the
        marker, as reading is what takes the time, and a checksum of it a tenth of that."""
        fields = self(chunk).fields
        return all(markers.checksum(np.ascontiguousarray(fields[name])) == crc for name, crc in marker["crc32"].items())


def _counts(fields: dict[str, NDArray]) -> dict[str, int]:
    found = np.bincount(fields["status"].ravel(), minlength=len(BatchStatus))
    counts = {BatchStatus(code).name: int(number) for code, number in enumerate(found) if number}
    if "verdict" in fields:
        counts["UNDECIDED"] = int(np.count_nonzero(fields["verdict"]))
    return counts


def solve_store(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    call: StackCall,
    *,
    memory: int | None = None,
    resume: bool = False,
    client: Any = None,
    max_seconds: float | None = None,
    absent: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> Solved:
    """Solve all problems of a store; ``client`` is a ``distributed.Client`` or the address of a scheduler.

    ``absent``: what a chunk is that the store does not have: an ``"error"``; ``"empty"``, problems with the status
    NO_DATA; or ``"zeros"`` that were not written. Chunks of the triangle that is not read do not count.
    """
    if absent not in ABSENT:
        raise InputError(f"absent (--absent) must be {listed(ABSENT)}, but it is {absent!r}.")
    output = work.check_output(output, resume=resume, source=path)
    array = open_stack(path)
    check_not_encoded(array)
    check_absent(array, absent)
    check_stack(tuple(array.shape), np.dtype(array.dtype))
    *leading, n, _ = array.shape
    if 0 in leading:
        raise InputError(f"{path} holds no problem: its shape is {tuple(array.shape)}.")
    call.gauge_code(n)
    limit = allowed(memory)
    solver = ChunkSolver(replace(call, seed=call.seed.from_the_beginning()), precision(array.dtype))
    plan = manifest.read_plan(output)
    sides = StoredStack(array, limit).sides()
    if plan is not None and plan["kind"] == _KIND:  # a resumed run cuts as the first one did
        sides = manifest.grid_of(plan).sides
    if client is None and n <= MAX_ORDER:  # whose bits do not depend on it
        solver = replace(solver, threads=None)
    todo = _work(Path(path), array, Grid(tuple(leading), sides), _Compute(_place(path), limit, solver, absent))
    runner = in_process if client is None else _on(client)
    done = work.carry_out(
        todo, output, resume=resume, runner=runner, progress=progress, max_seconds=max_seconds
    )  # fmt: skip
    counts: Counter[str] = Counter()
    for report in done.reports.values():
        counts.update(report["counts"])
    return Solved(tuple(leading), n, dict(counts), done)


def _on(client: Any) -> Runner:
    try:
        on_cluster: Any = import_module("angsync.io.chunked.on_cluster")
    except ImportError:
        raise MissingDependencyError("distributed", "cluster", "a Dask scheduler") from None
    runner: Runner = on_cluster.on_client(client)
    return runner


def _place(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)


def _work(path: Path, array: Any, grid: Grid, compute: _Compute) -> work.Work:
    solver = compute.solver
    n, depth = int(array.shape[-1]), len(grid.shape)
    dims, coordinates = _axes(path, array)
    check_free({*dims, *coordinates}, ORDER)
    kinds = dict(answers(solver.dtype, solver.call.certify))
    fields = {
        name: Field(
            (*grid.shape, n) if name == "z" else grid.shape, kinds[name].str, tuple(range(depth)),
            dims if name == "z" else dims[:-1], _FILL.get(name, np.nan), _plain(attributes_of(name)),
        )
        for name in ORDER if name in kinds
    }  # fmt: skip
    return work.Work(
        kind=_KIND, grid=grid, fields=fields, compute=compute,
        source=fingerprint.of_array(array, path), settings={**settings_of(solver), "absent": compute.absent},
        coordinates=coordinates, attributes=attributes(solver, str(path)),
        reads=partial(_keys, array), look_again=partial(fingerprint.of_array, array, path),
        still=compute.still,
    )  # fmt: skip


def _keys(array: Any, chunk: Chunk) -> list[str]:
    box = tuple(slice(first, last) for first, last in zip(chunk.first, chunk.last, strict=True))
    return Source(array).keys((*box, *(slice(0, size) for size in array.shape[-2:])))


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in told.items()}


def _axes(path: Path, array: Any) -> tuple[tuple[str, ...], dict[str, tuple[tuple[str, ...], NDArray]]]:
    """Names of the axes of z, and the coordinates along them that xarray finds; numbers where it is not there."""
    depth = len(array.shape) - 2
    dims = (*(f"dim_{k}" for k in range(depth)), "node")
    try:
        xarray = import_module("xarray")
        group = path if array.path else None
        given = None if group is None else xarray.open_zarr(str(group), chunks=None, consolidated=False)[array.path]
    except Exception:  # a group that xarray makes nothing of has no coordinates
        return dims, {}
    if given is None or len(set(given.dims)) != given.ndim:
        return dims, {}
    dims = tuple(str(name) for name in given.dims[:-1])
    own = {str(name): axis for name, axis in given.coords.items() if axis.dims == (name,) and name in dims}
    return dims, {name: ((name,), np.asarray(axis.values)) for name, axis in own.items()}
