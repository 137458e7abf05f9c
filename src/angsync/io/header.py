"""What a file holds, from its beginning alone: the shape of a matrix, a stack or images, the number of edges.

Nothing of the size of the data is read. Rows of a text are counted from a few parts of it, and are then an estimate.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from angsync.errors import FileFormatError, MissingDependencyError
from angsync.io.failures import listed, reading
from angsync.io.npz_arrays import array_header

Kind = Literal["matrix", "stack", "images", "edges"]
_PIECE_BYTES = 1 << 18  # of a text, at its beginning, in its middle and at its end
_SECONDS = 20.0  # for the process that opens an HDF5 file
_TEXTS = (".csv", ".tsv", ".txt", ".g2o")
_HDF5 = """
import json, sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    found = {name: [list(x.shape), x.dtype.str, list(x.chunks or ())] for name, x in file.items()
             if isinstance(x, h5py.Dataset) and x.dtype.kind in "biufc"}
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Header:
    """What is in a file, as far as its beginning tells."""

    path: Path
    kind: Kind
    shape: tuple[int, ...]
    """Of the array; of edges: their number alone."""
    dtype: np.dtype[Any]
    n: int
    """Nodes of one problem: the order of the matrices, the dates of images."""
    edges: int | None = None
    """Of a list of edges or a sparse matrix."""
    stored: int = 0
    """Bytes on disk."""
    estimated: bool = False
    """Whether the numbers are counted from a part of a text."""
    chunked: bool = False
    """Whether it is read in parts (zarr, HDF5)."""
    text: bool = False
    variable: str | None = None
    """The array in a store of several."""

    @property
    def read_bytes(self) -> int:
        """What is counted when the speed of reading is measured: bytes of the array of a store, bytes of a file."""
        return self.nbytes if self.path.is_dir() else self.stored

    @property
    def problems(self) -> int:
        """How many problems there are: matrices of a stack, pixels of images, or one."""
        if self.kind == "stack":
            return math.prod(self.shape[:-2])
        return math.prod(self.shape[1:]) if self.kind == "images" else 1

    @property
    def nbytes(self) -> int:
        """Bytes of the array in memory, as it is stored; of edges: of two numbers of four bytes and two of eight."""
        return 24 * (self.edges or 0) if self.kind == "edges" else math.prod(self.shape) * self.dtype.itemsize


def header_of(path: str | os.PathLike[str], variable: str | None = None) -> Header:
    """What is in a file or a zarr store; ``variable`` names the array where there are several."""
    file = Path(path)
    if not file.exists():
        raise FileFormatError(f"there is no {file}.")
    suffix = file.suffix.lower()
    with reading(file, "a problem"):
        if file.is_dir():
            return _of_store(file, variable)
        if suffix == ".npy":
            with open(file, "rb") as stream:
                shape, _, dtype = array_header(stream, file, "it")
            return _of_array(file, shape, dtype)
        if suffix == ".npz":
            return _of_archive(file, variable)
        if suffix in (".h5", ".hdf5"):
            return _of_arrays(file, _hdf5(file), variable)
        if suffix in _TEXTS:
            return _of_text(file)
        if suffix == ".parquet":
            return _of_parquet(file)
    raise FileFormatError(
        f"{file}: plan looks at .npy, .npz, .h5, .hdf5, .csv, .tsv, .txt, .g2o, .parquet and zarr stores, not at "
        f"{file.suffix!r}."
    )


def _of_array(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], chunked: bool = False) -> Header:
    stored = _bytes_of(path)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        kind: Kind = "matrix" if len(shape) == 2 else "stack"
        return Header(path, kind, shape, dtype, shape[-1], stored=stored, chunked=chunked)
    if len(shape) == 3 and dtype.kind == "c":
        return Header(path, "images", shape, dtype, shape[0], stored=stored, chunked=chunked)
    raise FileFormatError(
        f"{path}: an array of shape {shape} is no matrix (n, n), no stack (..., n, n) and no complex images (dates, "
        "rows, columns)."
    )


def _bytes_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(
        entry.stat().st_size for folder, _, names in os.walk(path) for entry in map(Path(folder).joinpath, names)
    )


def _of_arrays(
    path: Path, found: Mapping[str, tuple[tuple[int, ...], np.dtype[Any], bool]], variable: str | None
) -> Header:
    """Named arrays: columns of edges, a sparse matrix of SciPy, or one array."""
    if variable is not None:
        if variable not in found:
            raise FileFormatError(f"{path} has no {variable!r}; it holds {listed(found)}.")
        return replace(_of_array(path, *found[variable]), variable=variable)
    if "data" in found and ("indices" in found or "row" in found):
        entries = math.prod(found["data"][0])
        n = found["indptr"][0][0] - 1 if "indptr" in found else max(2, entries // 10)
        return Header(path, "edges", (entries // 2,), found["data"][1], n, entries // 2, _bytes_of(path))
    if "i" in found and "j" in found:
        edges = math.prod(found["i"][0])
        n = found["labels"][0][0] if "labels" in found else max(2, edges // 5)
        return Header(
            path, "edges", (edges,), np.dtype(np.complex128), n, edges, _bytes_of(path), "labels" not in found
        )
    arrays = {name: one for name, one in found.items() if len(one[0]) >= 2}
    name = "C" if "C" in arrays else next(iter(arrays), None)
    if name is None or (len(arrays) > 1 and name != "C"):
        raise FileFormatError(f"{path} holds {listed(found)}: name the array to be looked at (--variable).")
    return replace(_of_array(path, *arrays[name]), variable=name)


def _of_archive(path: Path, variable: str | None) -> Header:
    found: dict[str, tuple[tuple[int, ...], np.dtype[Any], bool]] = {}
    n = None
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as stream:
                shape, _, dtype = array_header(stream, path, name)
                found[name] = (shape, dtype, False)
                if name == "n" and shape == ():
                    n = int(np.frombuffer(stream.read(dtype.itemsize), dtype)[0])
    header = _of_arrays(path, found, variable)
    if n is None or header.kind != "edges":
        return header
    return replace(header, n=n, estimated=False)


def _of_store(path: Path, variable: str | None) -> Header:
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("zarr", "stack", "looking at a zarr store") from None
    store: Any = zarr.open(str(path), mode="r")
    if isinstance(store, zarr.Array):
        return _of_array(path, tuple(store.shape), np.dtype(store.dtype), True)
    found = {name: (tuple(x.shape), np.dtype(x.dtype), True) for name, x in store.arrays()}
    large = {name: one for name, one in found.items() if len(one[0]) >= 3} if variable is None else {}
    return _of_arrays(path, large or found, variable)


def _hdf5(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype[Any], bool]]:
    """In a process of its own: the library of this format trusts the file."""
    command = [sys.executable, "-I", "-c", _HDF5, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise FileFormatError(f"{path} cannot be opened as HDF5 within {_SECONDS:.0f} s. It is damaged.") from None
    if "No module named 'h5py'" in done.stderr:
        raise MissingDependencyError("h5py", "hdf5", "looking at an HDF5 file")
    if done.returncode != 0:
        raise FileFormatError(f"{path} cannot be opened as HDF5: it is damaged, or something else.")
    found = json.loads(done.stdout)
    return {name: (tuple(shape), np.dtype(dtype), True) for name, (shape, dtype, _) in found.items()}


def _of_parquet(path: Path) -> Header:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", "looking at a parquet file") from None
    edges = pyarrow.parquet.ParquetFile(path).metadata.num_rows
    return Header(
        path, "edges", (edges,), np.dtype(np.complex128), max(2, edges // 5), edges, _bytes_of(path), estimated=True
    )


def _of_text(path: Path) -> Header:
    """Rows from the mean length of some lines; nodes from the largest number in their first two columns."""
    size = path.stat().st_size
    lines: list[bytes] = []
    seen = 0
    with open(path, "rb") as stream:
        for start in sorted({0, max(0, size // 2 - _PIECE_BYTES), max(0, size - _PIECE_BYTES)}):
            stream.seek(start)
            piece = stream.read(_PIECE_BYTES)
            rows = piece.split(b"\n")
            rows = rows[1:-1] if start else rows[: -1 if len(rows) > 1 else None]  # whole lines alone
            lines += rows
            seen += sum(len(row) + 1 for row in rows)
    of_poses = path.suffix.lower() == ".g2o"
    wanted = [row for row in lines if row.strip() and (not of_poses or row.startswith(b"EDGE"))]
    if not wanted:
        raise FileFormatError(f"{path} has no rows.")
    whole = size <= _PIECE_BYTES
    edges = len(wanted) if whole else round(size * len(wanted) / seen)
    if not of_poses:
        edges = max(1, edges - 1)  # the names of the columns
    n = _nodes(wanted, 1 if of_poses else 0)
    return Header(
        path, "edges", (edges,), np.dtype(np.complex128), n or max(2, edges // 5), edges, size, True, text=True
    )


def _nodes(rows: list[bytes], first: int) -> int | None:
    """One more than the largest of the numbers in two columns; None where nodes have other names."""
    largest = -1
    for row in rows[1:]:
        cells = row.replace(b",", b" ").replace(b";", b" ").split()[first : first + 2]
        if len(cells) == 2 and cells[0].isdigit() and cells[1].isdigit():
            largest = max(largest, int(cells[0]), int(cells[1]))
        elif cells:
            return None
    return largest + 1 if largest >= 0 else None
