"""What an input is, told cheaply, so that a resumed run sees that it is another one.

Of files (zarr stores, NetCDF, GeoTIFFs, npy): shape, dtype, chunks, and of every file, metadata among them, its size
and the time of its last change, compared for equality only. Of arrays in memory: a checksum of all values. Of other
arrays (dask, xarray, stores that are no folder) shape and dtype alone: what each chunk is made of is in its marker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from angsync.io.chunked import arrays
from angsync.io.chunked.markers import checksum, crc32
from angsync.problem.array_libraries import store_library


class Fingerprint(NamedTuple):
    """Facts that a message can name, and the files with their sizes and stamps."""

    facts: dict[str, Any]
    files: dict[str, list[int]]


def of_array(data: Any, path: str | os.PathLike[str] | None = None) -> Fingerprint:
    """Of an array that is read in parts; ``path`` is the file or folder it was opened from, where that is known."""
    facts: dict[str, Any] = {"shape": list(data.shape), "dtype": str(np.dtype(data.dtype))}
    if store_library(data) == "h5py":
        facts["name"] = str(data.name)
    if arrays.is_zarr(data):
        facts["chunks"] = list(arrays.sides_of(data))
        root = arrays.root_of(data)
        if root is not None:
            return Fingerprint(facts, _files(root / data.path, root))
    elif path is not None:
        place = Path(path)
        return Fingerprint(facts, _files(place, place if place.is_dir() else place.parent))
    if isinstance(data, np.ndarray):
        facts["checksum"] = _whole(data)
    return Fingerprint(facts, {})


def of_values(values: Any) -> Any:
    """Of a small array among the settings, such as a mask; None stays None."""
    return None if values is None else f"crc32 {checksum(np.asarray(values)):08x}"


def _files(place: Path, root: Path) -> dict[str, list[int]]:
    found = {}
    for file in sorted(_below(place)):
        try:
            told = file.stat()
        except FileNotFoundError:  # gone since the folder was looked at
            continue
        found[file.relative_to(root).as_posix()] = [told.st_size, told.st_mtime_ns]
    return found


def _below(place: Path) -> Iterable[Path]:
    if not place.is_dir():
        return [place]
    return (Path(folder) / name for folder, _, names in os.walk(place) for name in names)


def _whole(data: np.ndarray) -> str:
    values = np.ma.filled(data, 0) if isinstance(data, np.ma.MaskedArray) else data
    crc = 0
    for part in values:  # one image at a time: a copy of one that is not contiguous stays small
        crc = crc32(part, crc)
    if isinstance(data, np.ma.MaskedArray):
        crc = crc32(np.ma.getmaskarray(data), crc)
    return f"crc32 {crc:08x}"
