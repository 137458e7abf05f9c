"""What the zarr libraries 2 and 3 do differently, and nothing else: groups with checksums, and the files behind chunks.

Version 3 writes format 3 with zstd and the codec crc32c; version 2 writes format 2 with zstd and the filter crc32, as
crc32c is in later numcodecs only. Both read a chunk that is wrong as an error.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError, MissingDependencyError
from angsync.io.chunked.grid import Field, Grid

_setting = threading.Lock()  # of the configuration of zarr, which is one for all threads


def library(purpose: str) -> Any:
    """The zarr library."""
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("zarr", "stack", purpose) from None
    return zarr


def version() -> int:
    return int(library("a zarr store").__version__.partition(".")[0])


def is_zarr(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "zarr" and type(array).__name__ == "Array"


def is_store(path: Path) -> bool:
    """Whether a folder holds a zarr group or array."""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def open_arrays(path: str | os.PathLike[str], names: Iterable[str], mode: str = "r") -> dict[str, Any]:
    """Arrays of a store that write every chunk, also one that holds nothing but the fill value: a file that is absent
    is then always a fault."""
    zarr = library(f"{path}")
    if version() < 3:
        group = zarr.open_group(os.fspath(path), mode=mode)
        return {name: group[name] for name in names}
    with _setting, zarr.config.set({"array.write_empty_chunks": True}):
        group = zarr.open_group(os.fspath(path), mode=mode)
        return {name: group[name] for name in names}


def create(path: Path, fields: Mapping[str, Field], grid: Grid, attributes: Mapping[str, Any]) -> None:
    """A group at a path where nothing is yet, with one array a field, all of them without chunks."""
    group = library(f"{path}").open_group(str(path), mode="w")
    group.attrs.update(dict(attributes))
    for name, field in fields.items():
        _array(group, name, field, field.chunks(grid))


def add_coordinate(path: Path, name: str, values: NDArray, dims: tuple[str, ...]) -> None:
    """The values of an axis, written at once: numbers, times as the CF conventions have them, text as an attribute."""
    group = library(f"{path}").open_group(str(path), mode="r+")
    units: dict[str, Any] = {}
    if values.dtype.kind == "M":
        values = values.astype("datetime64[s]").astype(np.int64)
        units = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian"}
    elif values.dtype.kind not in "biuf":  # zarr has no type for text that other programs know
        group.attrs[name] = [str(x) for x in values]
        return
    field = Field(values.shape, values.dtype.str, (), dims, attributes=units)
    _array(group, name, field, values.shape)[...] = values


def _array(group: Any, name: str, field: Field, chunks: tuple[int, ...]) -> Any:
    if version() < 3:
        from numcodecs import CRC32, Zstd  # type: ignore[import-untyped]

        array = group.create_dataset(
            name, shape=field.shape, chunks=chunks, dtype=field.dtype, fill_value=field.fill, filters=[CRC32()],
            compressor=Zstd(level=1),
        )  # fmt: skip
    else:
        from zarr.codecs import Crc32cCodec, ZstdCodec

        array = group.create_array(
            name, shape=field.shape, chunks=chunks, dtype=field.dtype, fill_value=field.fill,
            compressors=[ZstdCodec(level=0), Crc32cCodec()], dimension_names=field.dims or None,
        )  # fmt: skip
    array.attrs.update({"_ARRAY_DIMENSIONS": list(field.dims), **field.attributes} if field.dims else field.attributes)
    return array


def mark_as_group(folder: Path) -> None:
    """Make a folder inside a store an empty group, so that zarr does not wonder what it is."""
    if version() < 3:
        (folder / ".zgroup").write_text(json.dumps({"zarr_format": 2}))
    else:
        (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))


def sides_of(array: Any) -> tuple[int, ...]:
    """Of what is one file: a shard where there are shards, else a chunk."""
    shards = array.shards if version() >= 3 else None
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
    if version() < 3:
        return str(array._chunk_key(numbers))
    key = array.metadata.encode_chunk_key(numbers)
    return f"{array.path}/{key}" if array.path else str(key)


def root_of(array: Any) -> Path | None:
    """The folder that the keys are in; None where the store is no folder (an object store, a zip file, memory)."""
    zarr = library("a zarr store")
    if version() < 3:
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
    if version() < 3:
        return key in array.chunk_store
    from zarr.core.sync import sync

    return bool(sync(array.store.exists(key)))


class DamagedChunkError(FileFormatError):
    """A chunk of an input is absent or cannot be decoded; ``keys`` are the files of the store."""

    def __init__(self, message: str, keys: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(keys))

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.args[1])

    def __str__(self) -> str:
        return str(self.args[0])
