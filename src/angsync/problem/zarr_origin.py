"""Which zarr array is behind an array of xarray or dask, and which of its chunks are not there.

xarray and dask read chunks that a store does not have as the fill value, as zarr does. xarray has no public way to what
is behind its arrays. If its insides differ from those known here, or functions hide the sources of a graph of dask,
nothing is known: what such an array holds is treated as data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.array_libraries import chunk_shape, store_library
from angsync.problem.stored import check_not_encoded
from angsync.problem.zarr_files import DamagedChunkError, Gone, gone, is_zarr, keys_of, sides_of, some

if TYPE_CHECKING:
    from angsync.problem.operators.checks import Hermitian

ABSENT = ("error", "empty", "zeros")
"""The meanings of a chunk that a store does not hold: a fault, no data, or zeros that were not worth a file."""
_ASKED_ONE_BY_ONE = 100  # files of a store that is no folder; of more, all that it holds are listed
_DEPTH = 16  # of arrays within arrays, tasks within tasks


class Origin(NamedTuple):
    """A part of a zarr array: which entries along each of its axes."""

    array: Any
    axes: tuple[NDArray[np.int64], ...]
    """Positions; without an axis of its own (0-d) where one entry was taken."""
    exact: bool
    """Whether the part is all combinations of these positions, in this order; otherwise it lies within them."""

    @classmethod
    def whole(cls, array: Any) -> Origin:
        return cls(array, tuple(np.arange(size) for size in array.shape), True)

    def taken(self, index: tuple[Any, ...]) -> Origin:
        """Return a part of this part: one slice, number or list of numbers per axis.

        Of one that is not exact, whose axes may have been turned (``transpose``), it is not known which part: it lies
        within the same entries.
        """
        if not self.exact:
            return self
        axes, exact = list(self.axes), True
        own = [k for k, axis in enumerate(axes) if axis.ndim]
        if any(part is None or part is Ellipsis for part in index) or len(index) > len(own):
            return self._replace(exact=False)  # no way that dask or xarray read: within all of it
        for k, part in zip(own, index, strict=False):
            axes[k] = axes[k][part if isinstance(part, slice) else np.asarray(part)]
            if axes[k].ndim > 1:
                axes[k], exact = np.unique(axes[k]), False
        return Origin(self.array, tuple(axes), exact)


def origin_of(data: Any) -> Origin | None:
    """Return what is read of which zarr array when this array is; None if there is none, or if that is not known."""
    keys: list[tuple[Any, ...]] = []
    try:
        found = data.variable._data if store_library(data) == "xarray" and _is_data_array(data) else data
        for _ in range(_DEPTH):
            if type(found).__name__ == "ZarrArrayWrapper":
                found = found.get_array()
            if is_zarr(found):
                origin = Origin.whole(found)
                for key in reversed(keys):
                    origin = origin.taken(key)
                return origin
            if store_library(found) != "xarray":
                return None
            if "Lazily" in type(found).__name__:
                keys.append(tuple(found.key.tuple))
            found = found.array
    except (AttributeError, TypeError, IndexError):
        return None
    return None


def _is_data_array(data: Any) -> bool:
    return type(data).__name__ == "DataArray"


class Lost(NamedTuple):
    """What is gone of a part, and where in the part that is, axis by axis."""

    gone: Gone
    places: tuple[NDArray[np.int64], ...]


def lost(origin: Origin, hermitian: Hermitian = "full", keys: Collection[str] | None = None) -> Iterator[Lost]:
    """Yield what a part needs and its store does not have.

    Of matrices on its last two axes, only the triangle counts that is read.
    """
    array, axes = origin.array, [np.atleast_1d(axis) for axis in origin.axes]
    if any(axis.size == 0 for axis in axes):
        return
    numbers = [np.unique(axis // side) for axis, side in zip(axes, sides_of(array), strict=True)]
    for place in product(*(n.tolist() for n in numbers)):
        box = tuple(
            slice(k * side, min((k + 1) * side, size))
            for k, side, size in zip(place, sides_of(array), array.shape, strict=True)
        )
        for one in gone(array, box, keys):
            inside = [
                np.flatnonzero((part.start <= axis) & (axis < part.stop))
                for axis, part in zip(axes, one.box, strict=True)
            ]
            own = tuple(k for k, axis in zip(inside, origin.axes, strict=True) if axis.ndim)
            if all(k.size for k in inside) and (not origin.exact or _is_read(own, hermitian)):
                yield Lost(one, own)


def _is_read(places: tuple[NDArray[np.int64], ...], hermitian: Hermitian) -> bool:
    if hermitian == "full":
        return True
    rows, columns = places[-2:] if hermitian == "upper" else places[-1:-3:-1]
    return bool(rows.min() <= columns.max())


def refused(found: list[Gone], array: Any, advice: str) -> DamagedChunkError:
    """Return the one message about chunks that are not there."""
    fill = "anything, as it has no fill value" if array.fill_value is None else f"the fill value ({array.fill_value})"
    return DamagedChunkError(
        f"the store of the input has no {some(found)}: it would be read as {fill}, as if that had been measured. "
        f"Restore it; {advice}.",
        sorted({one.key for one in found}),
    )


def check_zero(array: Any) -> None:
    """Refuse to treat as zeros what would be read as something else."""
    fill = array.fill_value
    if fill is None:
        raise InputError(
            "absent is 'zeros', but the store has no fill value: where there is no chunk, anything is read."
        )
    if fill != 0:
        raise InputError(f"absent is 'zeros', but chunks that the store does not hold are read as {fill}.")


class Guarded:
    """What a graph of dask reads: a chunk of its zarr array that is absent is an error, or NaN."""

    def __init__(self, given: Any, absent: str, advice: str) -> None:
        self.given, self.absent, self.advice = given, absent, advice
        self.shape, self.dtype, self.ndim = tuple(given.shape), np.dtype(given.dtype), len(given.shape)

    def __getitem__(self, index: Any) -> Any:
        whole = origin_of(self.given)
        assert whole is not None
        part = whole.taken(index if isinstance(index, tuple) else (index,))
        found = list(lost(part))
        if found and (self.absent != "empty" or self.dtype.kind not in "fc" or not part.exact):
            raise refused([one.gone for one in found], part.array, self.advice)
        if not found:
            return self.given[index]
        values = np.array(self.given[index])
        for one in found:
            values[np.ix_(*one.places)] = np.nan
        return values


_ADVICE = "if it was not written because it holds nothing but zeros, pass absent='zeros'"


def watched(data: Any, absent: str = "error", advice: str = _ADVICE) -> Any:
    """Return an array of dask, or of xarray over dask, in which an absent chunk of zarr is an error when it is read
    (NaN with ``absent="empty"``); other arrays as they are."""
    if store_library(data) == "xarray" and _is_data_array(data):
        if store_library(data.variable._data) != "dask":
            return data
        return data.copy(data=watched(data.data, absent, advice))
    if store_library(data) != "dask":
        return data
    graph = data.__dask_graph__()
    try:
        layers, dependencies = dict(graph.layers), graph.dependencies
    except AttributeError:
        layers, dependencies = {}, {}
        _check_inline(graph, advice)
    changed = False
    for name, layer in layers.items():
        source = _source_in(name, layer)
        if source is not None:
            layers[name] = type(layer)({name: Guarded(source, absent, advice)})
            changed = True
        else:
            _check_inline(layer, advice)
    if not changed:
        return data
    from dask.highlevelgraph import HighLevelGraph

    return type(data)(HighLevelGraph(layers, dependencies), data.name, data.chunks, meta=data._meta)


def source_of(data: Any) -> Any:
    """Return the array of zarr, or of xarray over zarr, that an array of dask is and nothing else (``from_zarr``,
    ``open_zarr``); None if something was done to it."""
    try:
        layers = data.__dask_graph__().layers
    except AttributeError:
        return None
    name = f"original-{data.name}"  # as dask.array.from_array calls it
    if set(layers) != {data.name, name}:
        return None
    source = _source_in(name, layers[name])
    same = source is not None and tuple(source.shape) == tuple(data.shape) and source.dtype == data.dtype
    return source if same else None


def _source_in(name: str, layer: Any) -> Any:
    if not name.startswith("original-") or len(layer) != 1 or type(layer).__name__ != "MaterializedLayer":
        return None
    source = next(iter(layer.values()))
    source = source.given if isinstance(source, Guarded) else source
    return source if origin_of(source) is not None else None


def _check_inline(layer: Any, advice: str) -> None:
    """Arrays of zarr among the arguments of tasks: which part of them is read is not known, so all must be there."""
    tasks = [part for part, _ in layer.indices] if type(layer).__name__ == "Blockwise" else layer.values()
    for task in tasks:
        for found in _arguments(task, 0):
            origin = origin_of(found)
            if origin is not None:
                check_all(found, advice=advice)


def _arguments(task: Any, depth: int) -> Iterator[Any]:
    if store_library(task) in ("zarr", "xarray"):
        yield task
    elif depth < _DEPTH and isinstance(task, (tuple, list)):
        for part in task:
            yield from _arguments(part, depth + 1)
    elif depth < _DEPTH and type(task).__module__ == "dask._task_spec":
        for name in ("args", "value"):  # of a Task, of a DataNode
            try:
                parts = object.__getattribute__(task, name)
            except AttributeError:
                continue
            yield from _arguments(parts, depth + 1)


def check_all(data: Any, hermitian: Hermitian = "full", advice: str = _ADVICE) -> None:
    """Refuse an array of zarr, or of xarray or dask that is nothing but a part of one, of which a chunk is absent."""
    source = source_of(data) if store_library(data) == "dask" else data
    origin = None if source is None else origin_of(source)
    if origin is None:
        return
    files = math.prod(
        np.unique(axis // side).size for axis, side in zip(origin.axes, sides_of(origin.array), strict=True)
    )
    found = [one.gone for one in lost(origin, hermitian, keys_of(origin.array) if files > _ASKED_ONE_BY_ONE else None)]
    if found:
        raise refused(found, origin.array, advice)


def to_load(data: Any) -> Any:
    """Return an array that is about to be loaded as a whole: if a chunk of it is absent, it is refused now or then."""
    advice = "if it was not written because it holds nothing else, load it yourself: numpy.asarray(array[:])"
    check_not_encoded(data)
    if store_library(data) != "dask":
        check_all(data, advice=advice)
    return watched(data, advice=advice)


def present(data: Any, hermitian: Hermitian = "full", absent: str = "error") -> Any:
    """Return an array that is read in parts, after a look at whether its chunks are there; if that is not known before
    they are read, an array that looks then."""
    if isinstance(data, Unwritten):
        return data
    if absent == "zeros":
        return Unwritten(data)
    inner = data
    if store_library(data) == "xarray" and store_library(data.variable._data) == "dask":
        inner = data.variable._data
    if store_library(inner) == "dask" and source_of(inner) is None:
        return watched(data)
    check_all(inner, hermitian)
    return data


def one_matrix(data: Any, hermitian: Hermitian, absent: str | None) -> Any:
    """Do the same for one matrix, which has no status for what is not known."""
    if absent not in (None, "error", "zeros"):
        raise InputError(f"absent must be 'error' or 'zeros' for one matrix, but it is {absent!r}.")
    return present(data, hermitian, absent or "error")


class Unwritten:
    """An array behind slices of which chunks that are absent are zeros: its owner says so."""

    def __init__(self, data: Any) -> None:
        check_not_encoded(data)
        origin = origin_of(source_of(data) if store_library(data) == "dask" else data)
        if origin is not None:
            check_zero(origin.array)
        self.data, self.shape, self.dtype = data, tuple(data.shape), np.dtype(data.dtype)
        self.chunks = chunk_shape(data) or tuple(1 for _ in self.shape)

    def __getitem__(self, index: Any) -> Any:
        return self.data[index]
