"""What the zarr libraries 2 and 3 do differently when a store is written: groups with checksums.

Version 3 writes format 3 with zstd and the codec crc32c; version 2 writes format 2 with zstd and the filter crc32, as
crc32c is in later numcodecs only. Both read a chunk that is wrong as an error. The files behind chunks are in
:mod:`angsync.problem.zarr_files`.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import MissingDependencyError
from angsync.io.chunked.grid import Field, Grid
from angsync.problem.zarr_files import DamagedChunkError, has, is_zarr, key_of, pieces, root_of, sides_of

__all__ = [
    "DamagedChunkError", "add_coordinate", "create", "has", "is_store", "is_zarr", "key_of", "library", "mark_as_group",
    "open_arrays", "pieces", "root_of", "sides_of", "version",
]  # fmt: skip

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
        from numcodecs import CRC32, Zstd

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
