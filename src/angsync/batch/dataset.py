"""Stacks of xarray, dask and zarr: ``ang.synchronize`` gives an ``xarray.Dataset``, one variable an answer.

If the stack is not in memory, nothing is computed before ``compute``, ``to_zarr`` or ``load``: one dask task per chunk
solves its problems once, and gives all variables.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall, check_stack
from angsync.batch.chunk import Answer, ChunkSolver, answers, in_memory
from angsync.batch.further import Search
from angsync.batch.reading import READ_BYTES, StoredStack, check_one_problem, split_sides
from angsync.batch.result import VERDICTS, BatchStatus, failures_in_words
from angsync.errors import ConvergenceWarning, InputError, MissingDependencyError, warn_user
from angsync.io.failures import check_free
from angsync.problem.absent import marked, only_reads
from angsync.problem.array_libraries import chunk_shape, store_library
from angsync.problem.memory import allowed
from angsync.problem.stored import check_not_encoded

_LONG_NAMES = {
    "z": "phases of unit modulus",
    "status": "how the problem ended",
    "verdict": "what is proved about its phases",
    "gap_bound": "proved upper bound on f* - f(z)",
    "residual": "norm of Im(conj(z) Cz) over norm of Cz",
    "lambda_2": "proved lower bound on the second eigenvalue of S(z)",
    "objective": "f(z) = z^H C z",
}
ORDER = ("z", "status", "verdict", "gap_bound", "residual", "lambda_2", "objective")
"""The order of the variables."""


def solve(data: Any, call: StackCall, threads: int | None, memory: int | None, absent: str | None = None) -> Any:
    """Return the answers of all problems as variables of a Dataset, lazy unless the stack is in memory."""
    xarray = _library("xarray", "a stack of zarr, dask or xarray")
    values, template = _taken_apart(data)
    check_not_encoded(values)
    if template is not None:
        check_free({*template.dims, *template.coords}, ORDER)
    check_stack(tuple(values.shape), np.dtype(values.dtype))
    n = int(values.shape[-1])
    call.gauge_code(n)  # a missing node is reported now
    own = ChunkSolver(replace(call, seed=_frozen(call, n)), precision(values.dtype), threads or 1)
    here = replace(own, threads=threads, keeps_part=True)
    if isinstance(values, np.ndarray):  # xarray, in memory
        found = _at_once(values, here)
    elif 0 in values.shape:
        found = _at_once(np.zeros(values.shape, values.dtype), here)
    elif store_library(values) == "dask":
        found = _of_dask(values, own, allowed(memory), absent)
    else:
        stack = StoredStack(values, allowed(memory), uuid.uuid4().hex, absent or "empty", call.hermitian)
        found = _lazily(stack, own)
    return _dataset(xarray, found, template, data, own)


def precision(dtype: Any) -> np.dtype[Any]:
    """Return the precision that problems with such entries are solved in."""
    single = np.dtype(dtype).name in ("complex64", "float32", "float16")
    return np.dtype(np.complex64 if single else np.complex128)


def _frozen(call: StackCall, n: int) -> Any:
    """Return the random numbers as they are now, for every chunk alike; a generator continues as after one stack."""
    frozen = call.seed.from_the_beginning()
    if frozen.told is None:
        search = Search(call.effort, call.seed, n)
        if search.is_wanted:
            search.points()
    return frozen


def _taken_apart(data: Any) -> tuple[Any, Any]:
    """Return the array of numbers, or what is read in parts, and a DataArray (..., node) with coordinates, or None."""
    if store_library(data) != "xarray":
        return data, None
    if len(set(data.dims)) < data.ndim:
        raise InputError(
            f"the axes of the stack are called {data.dims}: give the last one another name, for example "
            f"xarray.DataArray(stack.data, dims={(*data.dims[:-1], f'{data.dims[-1]}_2')})."
        )
    along = [name for name, coordinate in data.coords.items() if data.dims[-1] in coordinate.dims]
    template = data.drop_vars(along).isel({data.dims[-1]: 0}, drop=True)  # of w(i, j), w(i) would be something else
    if data.chunks is not None:
        return data.data, template
    return (in_memory(data.values) if data.variable._in_memory else data), template


# Lazily, by dask

_BEHIND_DASK = (
    "if it was not written because it holds nothing but zeros, pass absent='zeros'; to go on without its problems, "
    "absent='empty' (they are NO_DATA or NOT_FINITE then)"
)


@dataclass(frozen=True)
class _Task:
    """What dask calls for one chunk; ``stack`` is None if dask brings the problems."""

    solver: ChunkSolver
    stack: StoredStack | None
    token: str
    warned: dict[int, str] = field(default_factory=dict, compare=False)
    """The chunk that was warned about: one for all in this process."""

    def __call__(self, *given: NDArray) -> tuple[NDArray, ...]:
        places = given if self.stack is not None else given[1:]
        box = tuple(slice(int(place.flat[0]), int(place.flat[-1]) + 1) for place in places)
        first = tuple(part.start for part in box)
        if self.stack is None:
            values = self.solver(given[0], first)
        else:
            with self.stack.held(box) as C:
                values = self.solver(C, first)
        where = f"in the chunk that begins at {first} (others are not counted: the variable status has all), "
        _said(_named(values, self.solver), self.solver, where, self.warned)
        return values

    def __dask_tokenize__(self) -> str:
        return self.token


def _of_dask(array: Any, solver: ChunkSolver, memory: int, absent: str | None) -> dict[str, Any]:
    """Solve a dask array by its own chunks, cut along the stack if they are too large, whole along the nodes."""
    if any(math.isnan(side) for sides in array.chunks for side in sides):
        raise InputError("the sizes of the chunks are not known: call array.compute_chunk_sizes() first.")
    *leading, n, _ = array.shape
    check_one_problem(n, array.dtype.itemsize, memory)
    largest = chunk_shape(array)
    assert largest is not None
    array = marked(array, absent or ("empty" if only_reads(array) else "error"), _BEHIND_DASK)
    matrix = n * n * array.dtype.itemsize
    most = max(matrix, memory // (os.cpu_count() or 1))  # dask's threads hold a chunk each
    sides = split_sides(tuple(leading), matrix, largest[:-2], most)
    if math.prod(largest[:-2]) * matrix > most:
        array = array.rechunk((*sides, n, n))
    elif len(array.chunks[-1]) > 1 or len(array.chunks[-2]) > 1:
        array = array.rechunk({array.ndim - 2: n, array.ndim - 1: n})
    return _applied([array], _Task(solver, None, f"{_token(solver)}-{absent}"), array.chunks[:-2], n)


def _lazily(stack: StoredStack, solver: ChunkSolver) -> dict[str, Any]:
    """Solve a stack of zarr, or of xarray over a file, which the tasks read themselves."""
    *leading, n, _ = stack.data.shape
    share = math.prod(stack.data.shape) * np.dtype(stack.data.dtype).itemsize // (4 * (os.cpu_count() or 1))
    sides = stack.sides(min(READ_BYTES, share))  # a few tasks a core at least
    chunks = tuple(
        tuple(min(side, size - first) for first in range(0, size, side))
        for size, side in zip(leading, sides, strict=True)
    )
    # the store may be another one tomorrow: no two calls share a name
    return _applied([], _Task(solver, stack, stack.token), chunks, n)


def _applied(given: list[Any], task: _Task, chunks: tuple[tuple[int, ...], ...], n: int) -> dict[str, Any]:
    """Make one task per chunk, with the places of its problems along each axis, and a variable for every answer."""
    da = _library("dask.array", "a stack of zarr, dask or xarray")
    depth = len(chunks)
    places = [
        da.arange(sum(sides), chunks=(sides,), dtype=np.int64)[
            (None,) * axis + (slice(None),) + (None,) * (depth - 1 - axis)
        ]
        for axis, sides in enumerate(chunks)
    ]
    wanted = answers(task.solver.dtype, task.solver.call.certify)
    signature = (
        ",".join(["(i,j)"] * len(given) + ["()"] * depth)
        + "->"
        + ",".join("(k)" if name == "z" else "()" for name, _ in wanted)
    )
    # given types: dask would try to make float64 from complex numbers to find out, and warn about it
    meta = tuple(np.empty((0,) * (depth + (name == "z")), kind) for name, kind in wanted)
    made = da.apply_gufunc(task, signature, *given, *places, output_sizes={"k": n}, meta=meta)
    return {name: array for (name, _), array in zip(wanted, made, strict=True)}


def _token(solver: ChunkSolver) -> str:
    """Return a name that depends on the settings alone, so that dask recognizes the same work."""
    seed = solver.call.seed.told
    known = [repr(replace(solver.call, seed=None)), str(seed), str(solver.dtype), str(solver.threads)]  # type: ignore[arg-type]
    return "angsync-" + (uuid.uuid4().hex if seed is None else "-".join(known))


# At once, in this process


def _at_once(array: NDArray, solver: ChunkSolver) -> dict[str, Any]:
    return _said(_named(solver(array, (0,) * (array.ndim - 2)), solver), solver)


def _named(values: tuple[NDArray, ...], solver: ChunkSolver) -> dict[str, Any]:
    return {name: array for (name, _), array in zip(_answers(solver), values, strict=True)}


def _answers(solver: ChunkSolver) -> tuple[Answer, ...]:
    return answers(solver.dtype, solver.call.certify)


def _said(
    found: dict[str, Any], solver: ChunkSolver, where: str = "", warned: dict[int, str] | None = None
) -> dict[str, Any]:
    """Return the answers; warn about what did not converge or is empty, unless ``warned`` holds another place."""
    text = failures_in_words(found["status"])
    empty = int(np.count_nonzero(found["status"] == BatchStatus.EMPTY))
    apart = int(np.count_nonzero(found["status"] == BatchStatus.DISCONNECTED))
    parts = [text] * bool(text) + [f"{empty} problems have no measurement."] * bool(empty)
    parts += [f"{apart} problems are in several pieces."] * bool(apart)
    is_first = bool(parts) and (warned is None or warned.setdefault(0, where) is where)
    if is_first and solver.call.on_failure != "ignore":
        warn_user(where + " ".join(parts), ConvergenceWarning)
    return found


# The Dataset


def _dataset(xarray: Any, found: dict[str, Any], template: Any, data: Any, solver: ChunkSolver) -> Any:
    depth = data.ndim - 2
    if template is None:
        dims, coords = (*(f"dim_{k}" for k in range(depth)), "node"), None
    else:
        dims, coords = template.dims, template.coords
    projection = {} if template is None else _projection(data, template)
    variables = {
        name: (dims if name == "z" else dims[:-1], found[name], {**attributes_of(name), **projection})
        for name in ORDER
        if name in found
    }
    return xarray.Dataset(variables, coords, attributes(solver, _source_of(data)))


def _projection(data: Any, template: Any) -> dict[str, Any]:
    """Return the attribute of CF that names the coordinate with the map projection, if there is one."""
    told = str(data.encoding.get("grid_mapping") or data.attrs.get("grid_mapping") or "")
    known = bool(told) and told.split()[0].rstrip(":") in template.coords
    return {"grid_mapping": told} if known else {}


def attributes_of(name: str) -> dict[str, Any]:
    """Return the attributes of a variable: its meaning, and those of its codes in the way of the CF conventions."""
    told: dict[str, Any] = {"long_name": _LONG_NAMES[name]}
    if name == "status":
        return told | _flags([status.name for status in BatchStatus])
    if name == "verdict":
        return told | _flags([verdict.name for verdict in VERDICTS])
    return told


def _flags(names: list[str]) -> dict[str, Any]:
    return {"flag_values": np.arange(len(names), dtype=np.int8), "flag_meanings": " ".join(names)}


def attributes(solver: ChunkSolver, source: str) -> dict[str, str]:
    """Version, settings and source of a Dataset, as text."""
    from angsync import __version__

    return {"angsync_version": __version__, "settings": json.dumps(settings_of(solver)), "source": source}


def settings_of(solver: ChunkSolver) -> dict[str, Any]:
    """Return all that decides an answer, by the names of the arguments."""
    call = solver.call
    gauge = call.gauge if isinstance(call.gauge, str) else int(call.gauge)
    return {
        "tolerance": call.stopping.tolerance_for(solver.dtype), "max_iterations": int(call.stopping.max_iterations),
        "certify": call.certify, "gauge": gauge, "hermitian": call.hermitian, "effort": call.effort,
        "rng": "a generator" if call.seed.told is None else call.seed.told,
    }  # fmt: skip


def _source_of(data: Any) -> str:
    library = store_library(data)
    name = ""
    if library == "zarr":
        name = f"{getattr(data.store, 'root', data.store)} {data.path}"
    elif library == "xarray":
        name = f"{data.encoding.get('source') or ''} {'' if data.name is None else data.name}"
    else:
        name = str(data.name)
    return " ".join(f"{library} {name} {tuple(data.shape)} {np.dtype(data.dtype).name}".split())


def _library(name: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingDependencyError(name.partition(".")[0], "stack", purpose) from None
