"""What the zarr libraries 2 and 3 do differently when a store is written: groups with checksums.

Version 3 writes format 3 with zstd and the codec crc32c; version 2 writes format 2 with zstd and the filter crc32, as
crc32c is in later numcodecs only. Both read a chunk that is wrong as an error. The files behind chunks are in
:mod:`angsync.problem.zarr_files`.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import threading
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import MissingDependencyError
from angsync.io.chunked.grid import Field, Grid
from angsync.problem.zarr_files import DamagedChunkError, has, is_zarr, key_of, pieces, root_of, sides_of

__all__ = [
    "DamagedChunkError", "add_array", "consolidate", "create", "has", "is_store", "is_zarr", "key_of", "library",
    "mark_as_group", "open_arrays", "pieces", "root_of", "sides_of", "version",
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
        group = zarr.open_group(os.fspath(path), mode=mode, use_consolidated=False)  # the files themselves
        return {name: group[name] for name in names}


def create(path: Path, fields: Mapping[str, Field], grid: Grid, attributes: Mapping[str, Any]) -> None:
    """A group at a path where nothing is yet, with one array a field, all of them without chunks."""
    group = library(f"{path}").open_group(str(path), mode="w")
    group.attrs.update(dict(attributes))
    for name, field in fields.items():
        array = add_array(group, name, field, field.chunks(grid))
        if version() < 3 and field.fill is not None and array.fill_value is None:
            array[...] = field.fill


def add_array(group: Any, name: str, field: Field, chunks: tuple[int, ...]) -> Any:
    """An array in a group, with checksums; text has a type of zarr 3 that other programs know."""
    attributes = dict(field.attributes)
    text, named = np.dtype(field.dtype).kind == "U", len(field.dims) == len(field.shape)
    if version() < 3:
        from numcodecs import CRC32, Zstd

        # readers of format 2, xarray among them, take the fill value for a mark of missing values
        fill = attributes.pop("_FillValue", field.fill if _is_nan(field.fill) else None)
        array = group.create_dataset(
            name, shape=field.shape, chunks=chunks, dtype=field.dtype, fill_value=fill, filters=[CRC32()],
            compressor=Zstd(level=1),
        )  # fmt: skip
        if named:
            attributes["_ARRAY_DIMENSIONS"] = list(field.dims)
    else:
        from zarr.codecs import Crc32cCodec, ZstdCodec

        array = group.create_array(
            name, shape=field.shape, chunks=chunks, dtype=str if text else field.dtype, fill_value=field.fill,
            compressors=[ZstdCodec(level=0), Crc32cCodec()], dimension_names=field.dims if named else None,
        )  # fmt: skip
        if "_FillValue" in attributes and np.dtype(field.dtype).kind == "f":  # as xarray has it in format 3
            packed = struct.pack("<d", float(attributes["_FillValue"]))
            attributes["_FillValue"] = base64.standard_b64encode(packed).decode()
    array.attrs.update(attributes)
    return array


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, complex, np.inexact)) and bool(np.isnan(value))


def consolidate(path: Path) -> None:
    """All metadata in one place as well, where xarray looks for them first, and warns where they are not."""
    zarr = library(f"{path}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no standard of format 3 has it yet
        zarr.consolidate_metadata(str(path))


def mark_as_group(folder: Path) -> None:
    """Make a folder inside a store an empty group, so that zarr does not wonder what it is."""
    if version() < 3:
        (folder / ".zgroup").write_text(json.dumps({"zarr_format": 2}))
    else:
        (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
