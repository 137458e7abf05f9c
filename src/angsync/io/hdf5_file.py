"""HDF5 files: datasets i, j, angle[, weight][, n][, labels] or C at the root. Needs the extra 'hdf5'.

Nothing outside the file is read: links and datasets that are stored elsewhere are refused.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import InputError, MissingDependencyError
from angsync.io.arrays import checked_sparse, from_arrays
from angsync.io.columns import ColumnNames
from angsync.io.failures import check_node_count, reading

# What a dataset may take in memory: a chunk that is not stored takes nothing in the file, and deflate makes at most a
# thousand bytes of one. Measurements do not compress well.
_BYTES_ALWAYS_ACCEPTED = 2**28
_TIMES_ITS_FILE = 200
# Heaps of texts: mark, version and size of a heap, then objects: number, how often it is used, its size, its bytes.
_HEAP = re.compile(rb"GCOL\x01\0\0\0(.{8})", re.DOTALL)
_OBJECT = struct.Struct("<H6xQ")


def read_hdf5(path: Path, names: ColumnNames) -> Any:
    """Return measurements or the matrix C."""
    arrays = load_datasets(path, names.wanted)
    with reading(path, "HDF5"):
        return from_arrays(arrays, names, path)


def load_datasets(path: Path, wanted: Collection[str]) -> dict[str, Any]:
    """Return the datasets at the root that are ``wanted``, and None for each of the others."""
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError("h5py", "hdf5", f"reading {path}") from None
    with reading(path, "HDF5"), h5py.File(path, "r") as file:
        return {name: _content(h5py, file, name, os.stat(path).st_size) if name in wanted else None for name in file}


def _content(h5py: Any, group: Any, name: str, stored: int) -> Any:
    """Return one dataset as an array, or a sparse matrix of MATLAB."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"{name!r} is a link, perhaps to another file, and is not followed. Store the data itself.")
    item = group[name]
    if isinstance(item, h5py.Group) and "MATLAB_sparse" in item.attrs:
        return _matlab_sparse({key: _content(h5py, item, key, stored) for key in item}, item.attrs["MATLAB_sparse"])
    if not isinstance(item, h5py.Dataset) or item.shape is None:
        raise InputError(f"{name!r} is a group or empty, but numbers or text are needed under this name.")
    if item.external is not None or item.is_virtual:
        raise InputError(f"{name!r} is stored in another file, which is not read. Store the data itself.")
    if item.nbytes > max(_BYTES_ALWAYS_ACCEPTED, _TIMES_ITS_FILE * stored):
        raise InputError(
            f"{name!r} would take {item.nbytes:.1e} bytes of memory, the file has {stored}: it is damaged."
        )
    if h5py.check_string_dtype(item.dtype) is not None:
        _check_heaps(Path(item.file.filename))
        return np.array(item.asstr()[()], dtype=object)
    if item.attrs.get("MATLAB_class") == b"char":
        raise InputError(f"{name!r} is text of MATLAB 7.3, which h5py reads as numbers. Save it with -v7.")
    if item.dtype.names == ("real", "imag"):  # MATLAB's complex numbers
        parts = item[()]
        array = np.empty(parts.shape, dtype=np.result_type(parts["real"].dtype, np.complex64))
        array.real, array.imag = parts["real"], parts["imag"]
        return array
    if item.dtype.kind not in "biufc":
        raise InputError(f"{name!r} holds {item.dtype}, but numbers or text are needed (not a MATLAB cell array).")
    return item.astype(item.dtype.newbyteorder("="))[()]


def _check_heaps(path: Path) -> None:
    """Refuse damaged heaps of texts: over an object without a size the HDF5 library never ends."""
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for heap in _HEAP.finditer(content):
            place, end = heap.end(), heap.start() + int.from_bytes(heap[1], "little")
            while place + _OBJECT.size <= end:
                index, size = _OBJECT.unpack_from(content, place)
                step = _OBJECT.size + (size + 7) // 8 * 8 if index else size  # object 0 is the free space, all of it
                if not 0 < step <= end - place:
                    raise InputError("a heap of texts is damaged.")
                place += step


def _matlab_sparse(parts: dict[str, Any], rows: Any) -> Any:
    """Return a sparse matrix from compressed columns: data, ir (row of each entry), jc (where each column starts)."""
    import scipy.sparse

    starts = parts["jc"].ravel().astype(np.int64)
    shape = (check_node_count(int(rows), starts.size), starts.size - 1)
    # MATLAB leaves data and ir out of a matrix of zeros
    data, places = parts.get("data", np.empty(0)).ravel(), parts.get("ir", np.empty(0, np.int64)).ravel()
    return checked_sparse(scipy.sparse.csc_array((data, places.astype(np.int64), starts), shape=shape))
