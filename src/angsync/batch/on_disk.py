"""A stack of matrices in a zarr store, solved chunk by chunk into another one: it can be ended, resumed and checked."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall, check_stack
from angsync.batch.chunk import ChunkSolver, answers
from angsync.batch.dataset import ORDER, attributes, attributes_of, precision, settings_of
from angsync.batch.reading import StoredStack
from angsync.batch.result import BatchStatus
from angsync.errors import InputError
from angsync.io import chunks
from angsync.io.chunks import Chunk, Computed, Done, Field, Grid, Work
from angsync.io.coordinates import of_zarr
from angsync.io.failures import check_free, listed
from angsync.io.zarr_input import open_array
from angsync.kernels.batch.numbers import MAX_ORDER
from angsync.problem.absent import ABSENT
from angsync.problem.memory import allowed
from angsync.problem.stored import check_not_encoded

_KIND = "angsync solve"
_FILL: dict[str, Any] = {"status": int(BatchStatus.INTERRUPTED), "verdict": 1, "z": complex(np.nan, np.nan)}
"""The values of problems that are not solved yet; those of other answers are NaN."""


class Solved(NamedTuple):
    """What became of a stack."""

    shape: tuple[int, ...]
    n: int
    counts: dict[str, int]
    """How many problems ended in which way, those of earlier runs included, and how many are UNDECIDED."""
    done: Done

    @property
    def problems(self) -> int:
        return math.prod(self.shape)


def open_stack(path: str | os.PathLike[str], variable: str | None = None) -> Any:
    """Return the zarr array of a store that is a stack of square matrices: the only one, or that of this name."""
    return open_array(
        path, "one stack (..., n, n)", lambda one: len(one.shape) > 2 and len(set(one.shape[-2:])) == 1, variable
    )


@dataclass(frozen=True, eq=False)
class _Compute:
    """Read and solve one chunk of the stack (:class:`angsync.io.chunks.Compute`)."""

    stack: StoredStack
    solver: ChunkSolver

    def __call__(self, chunk: Chunk) -> Computed:
        with self.stack.held(chunk.box) as C:
            values = self.solver(C, chunk.first)
        wanted = answers(self.solver.dtype, self.solver.call.certify)
        fields = {name: array for (name, _), array in zip(wanted, values, strict=True)}
        return Computed(fields, {"counts": _counts(fields)})

    def stamp(self, chunk: Chunk) -> str:
        data = self.stack.data
        return chunks.stamp_of(data, None, (*chunk.box, *(slice(0, size) for size in data.shape[-2:])))


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
    variable: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Solved:
    """Solve all problems of a store; ``client`` is a ``distributed.Client`` or the address of a scheduler.

    ``absent``: what a chunk is that the store does not have: an ``"error"``; ``"empty"``, problems with the status
    NO_DATA; or ``"zeros"`` that were not written. Chunks of the triangle that is not read do not count.
    ``variable``: the name of the stack, where the store holds several.
    """
    if absent not in ABSENT:
        raise InputError(f"absent (--absent) must be {listed(ABSENT)}, but it is {absent!r}.")
    output = chunks.check_output(output, resume=resume, source=path)
    array = open_stack(path, variable)
    check_not_encoded(array)
    check_stack(tuple(array.shape), np.dtype(array.dtype))
    *leading, n, _ = array.shape
    if 0 in leading:
        raise InputError(f"{path} holds no problem: its shape is {tuple(array.shape)}.")
    call.gauge_code(n)
    solver = ChunkSolver(replace(call, seed=call.seed.from_the_beginning()), precision(array.dtype))
    if client is None and n <= MAX_ORDER:  # whose bits do not depend on it
        solver = replace(solver, threads=None)
    stack = StoredStack(array, allowed(memory), os.path.abspath(path), absent, call.hermitian)
    sides = stack.sides()
    grid = Grid(tuple(leading), chunks.sides_of(output, _KIND) or sides)  # a resumed run cuts as the first one did
    work = _work(Path(path), grid, _Compute(stack, solver))
    done = chunks.carry_out(
        work, output, resume=resume, client=client, progress=progress, max_seconds=max_seconds
    )  # fmt: skip
    counts: Counter[str] = Counter()
    for report in done.reports.values():
        counts.update(report["counts"])
    return Solved(tuple(leading), n, dict(counts), done)


def _work(path: Path, grid: Grid, compute: _Compute) -> Work:
    solver, array = compute.solver, compute.stack.data
    n, depth = int(array.shape[-1]), len(grid.shape)
    dims, beside = of_zarr(array, path, without_last=True)
    dims = dims[:-1] if len(set(dims)) == depth + 2 else (*(f"dim_{k}" for k in range(depth)), "node")
    check_free({*dims, *beside.names}, ORDER)
    kinds = dict(answers(solver.dtype, solver.call.certify))
    fields = {
        name: Field(
            (*grid.shape, n) if name == "z" else grid.shape, kinds[name].str, tuple(range(depth)),
            own := dims if name == "z" else dims[:-1], _FILL.get(name, np.nan),
            {**_plain(attributes_of(name)), **beside.attributes_for(own)},
        )
        for name in ORDER if name in kinds
    }  # fmt: skip
    return Work(
        _KIND, grid, fields, compute,
        {**settings_of(solver), **chunks.facts_of(array), "absent": compute.stack.absent},
        beside.dataset, attributes(solver, str(path)),
    )  # fmt: skip


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in told.items()}
