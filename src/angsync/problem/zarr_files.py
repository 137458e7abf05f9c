"""The files behind the chunks of a zarr array, whatever the version of the library, and whether they are all there.

A chunk that a store does not have reads as the fill value, without a word. Nothing is imported here: who has an array
of zarr has imported zarr.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from angsync.errors import AngsyncWarning, InputError, warn_user

if TYPE_CHECKING:
    from angsync.problem.operators.checks import Hermitian


def _version() -> int:
    return int(sys.modules["zarr"].__version__.partition(".")[0])


def is_zarr(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "zarr" and type(array).__name__ == "Array"


def sides_of(array: Any) -> tuple[int, ...]:
    """Of what is one file: a shard where there are shards, else a chunk."""
    shards = array.shards if _version() >= 3 else None
    return tuple(int(side) for side in (shards or array.chunks))


def pieces(array: Any, place: tuple[slice, ...]) -> Iterator[tuple[str, tuple[slice, ...]]]:
    """The files that a box of an array lies in, by their keys in the store, and the boxes that they hold."""
    sides = sides_of(array)
    ranges = [range(s.start // side, -(-s.stop // side)) for s, side in zip(place, sides, strict=True)]
    for numbers in product(*ranges):
        box = tuple(
            slice(k * side, min((k + 1) * side, size))
            for k, side, size in zip(numbers, sides, array.shape, strict=True)
        )
        yield key_of(array, numbers), box


def key_of(array: Any, numbers: tuple[int, ...]) -> str:
    if _version() < 3:
        return str(array._chunk_key(numbers))
    key = array.metadata.encode_chunk_key(numbers)
    return f"{array.path}/{key}" if array.path else str(key)


def root_of(array: Any) -> Path | None:
    """The folder that the keys are in; None where the store is no folder (an object store, a zip file, memory)."""
    zarr = sys.modules["zarr"]
    if _version() < 3:
        store = array.chunk_store
        directory = isinstance(store, (zarr.DirectoryStore, zarr.storage.FSStore))
        path = Path(store.path) if directory else None
        return path if path is not None and path.is_dir() else None
    store = array.store
    return Path(store.root) if isinstance(store, zarr.storage.LocalStore) else None


def has(array: Any, key: str) -> bool:
    """Whether the store holds this key."""
    root = root_of(array)
    if root is not None:
        return (root / key).is_file()
    if _version() < 3:
        return key in array.chunk_store
    from zarr.core.sync import sync

    return bool(sync(array.store.exists(key)))


def zarr_behind(array: Any) -> Any:
    """The zarr array behind an array of xarray that is all of it, not decoded; None where that is not known.

    xarray has no public way to it; where its insides are others, chunks that are absent are not seen, and read as
    zeros (a problem of a stack is then EMPTY).
    """
    try:
        found = array.variable._data
        for _ in range(8):
            if type(found).__name__ == "ZarrArrayWrapper":
                inner = found.get_array()
                same = tuple(inner.shape) == tuple(array.shape) and inner.dtype == array.dtype
                return inner if same and is_zarr(inner) else None
            if type(found).__name__ not in _WRAPPERS:
                return None
            if type(found).__name__ == "LazilyIndexedArray" and any(
                key not in (slice(None), slice(0, size, 1), slice(0, size))
                for key, size in zip(found.key.tuple, array.shape, strict=True)
            ):
                return None  # a part of it
            found = found.array
    except (AttributeError, TypeError):
        return None
    return None


_WRAPPERS = ("MemoryCachedArray", "CopyOnWriteArray", "LazilyIndexedArray", "ImplicitToExplicitIndexingAdapter")


def check_matrix(data: Any, hermitian: Hermitian) -> None:
    """Refuse a matrix in a folder of zarr of which chunks were lost; warn of those that may be 0 on purpose.

    zarr does not write a chunk of nothing but the fill value unless it is told to, so that one which is absent may be
    0. It is taken for damage on the diagonal, as hardly any problem has a block of neighbours without a measurement,
    and where the mirrored chunk is there. Chunks that are not square have no mirrored one; the triangles are compared
    when they are read. Only what is read counts, and stores that are no folder are not asked.
    """
    array = data if is_zarr(data) else zarr_behind(data)
    root = None if array is None or len(array.shape) != 2 else root_of(array)
    if root is None:
        return
    every = list(pieces(array, tuple(slice(0, side) for side in array.shape)))
    absent = {_corner(box): key for key, box in every if not (root / key).is_file()}
    height, width = sides_of(array)
    lost, silent = [], []
    for key, (rows, columns) in every:
        here = (rows.start, columns.start)
        above, below = rows.start < columns.stop - 1, columns.start < rows.stop - 1  # it has entries off the diagonal
        crosses = rows.start < columns.stop and columns.start < rows.stop
        read = crosses or hermitian == "full" or (above if hermitian == "upper" else below)
        if here not in absent or not read:
            continue
        if (crosses and (above or below)) or (height == width and not crosses and here[::-1] not in absent):
            lost.append(key)
        else:
            silent.append(key)
    if lost:
        raise InputError(
            f"the store of C has no {_some(lost)}: it would be read as the fill value ({array.fill_value}), as if that "
            "had been measured. Write it anew; or, where it is meant as not measured, write zeros there "
            "(write_empty_chunks=True in zarr), or load C yourself: numpy.asarray(C)."
        )
    if silent:
        warn_user(
            f"{len(silent)} chunk{'s' * (len(silent) > 1)} of {len(every)} are not in the store ({_some(silent)}): "
            f"they are read as the fill value ({array.fill_value}), which is right only where nothing was measured. "
            "Restore them if they were lost; if not, write zeros there (write_empty_chunks=True in zarr), or load C "
            "yourself: numpy.asarray(C).",
            AngsyncWarning,
        )


def _corner(box: tuple[slice, ...]) -> tuple[int, ...]:
    return tuple(side.start for side in box)


def _some(keys: list[str]) -> str:
    return ", ".join(["chunk " + keys[0], *keys[1:3]]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
