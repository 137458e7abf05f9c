"""What a file holds, from its beginning alone: the shape of a matrix, a stack or images, the number of edges.

Nothing of the size of the data is read. What a solve would refuse is refused here too, as far as the beginning tells:
a file that is shorter than it says, other types and names. Rows of a long text are counted from a few parts of it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from angsync.errors import FileFormatError, InputError, MissingDependencyError
from angsync.io.columns import ColumnNames
from angsync.io.failures import existing_file, listed, reading
from angsync.io.limits import check_node_count, check_size
from angsync.io.npz_arrays import array_header, check_room, npy_header
from angsync.io.text_header import count_of_text
from angsync.problem.zarr_files import has, pieces
from angsync.problem.zarr_origin import check_all

Kind = Literal["matrix", "stack", "images", "edges"]
_SECONDS = 20.0  # for the process that opens an HDF5 file
_TEXTS = (".csv", ".tsv", ".txt", ".g2o")
_CHUNKS = 20_000  # of a stack that are looked for, in some tenths of a second
_SPARSE = {"format", "shape", "data"}  # what scipy.sparse.save_npz always writes
_HDF5 = """
import json, sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    found = {name: [list(x.shape), x.dtype.str if x.dtype.kind in "biufcSU" else "S0"] for name, x in file.items()
             if isinstance(x, h5py.Dataset) and x.shape is not None}
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
    absent: int = 0
    """Chunks that a store of a stack does not hold, of its first ones."""
    columns: ColumnNames = field(default_factory=ColumnNames)
    """What the columns of edges are called."""

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


def header_of(path: str | os.PathLike[str], variable: str | None = None, columns: ColumnNames | None = None) -> Header:
    """What is in a file or a zarr store; ``variable`` names the array where there are several."""
    file, names = Path(path), ColumnNames() if columns is None else columns
    suffix = file.suffix.lower()
    if not file.is_dir():
        existing_file(file)
    with reading(file, "a problem"):
        if file.is_dir():
            return _of_store(file, variable)
        if suffix == ".npy":
            with open(file, "rb") as stream:
                shape, _, dtype = npy_header(stream, file)
            return _of_array(file, shape, dtype)
        if suffix == ".npz":
            return _of_archive(file, variable, names)
        if suffix in (".h5", ".hdf5"):
            return _of_arrays(file, _hdf5(file), variable, names)
        if suffix in _TEXTS:
            edges, n, estimated = count_of_text(file, names)
            return _of_edges(file, edges, n, estimated, names, text=True)
        if suffix == ".parquet":
            from angsync.io.parquet_file import parquet_size

            edges, nodes = parquet_size(file, names)
            return _of_edges(file, edges, None if nodes is None else nodes.n, nodes is None, names)
    raise FileFormatError(
        f"{file}: plan looks at .npy, .npz, .h5, .hdf5, .csv, .tsv, .txt, .g2o, .parquet and zarr stores, not at "
        f"{file.suffix!r}."
    )


def _of_edges(path: Path, edges: int, n: int | None, estimated: bool, names: ColumnNames, text: bool = False) -> Header:
    """Without a number of nodes: as many as give ten measurements a node."""
    return Header(
        path, "edges", (edges,), np.dtype(np.complex128), max(2, edges // 5) if n is None else n, edges,
        _bytes_of(path), estimated, text=text, columns=names,
    )  # fmt: skip


def _of_array(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], chunked: bool = False) -> Header:
    if dtype.kind not in "biufc":
        raise FileFormatError(f"{path}: the array holds {dtype}, not numbers. Store a numeric matrix.")
    stored = _bytes_of(path)
    kind: Kind | None = None
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        kind = "matrix" if len(shape) == 2 else "stack"
    elif len(shape) == 3 and dtype.kind == "c":
        kind = "images"
    if kind is None:
        raise FileFormatError(
            f"{path}: an array of shape {shape} is no matrix (n, n), no stack (..., n, n) and no complex images "
            "(dates, rows, columns)."
        )
    n = shape[0] if kind == "images" else shape[-1]
    if 0 in shape:
        raise FileFormatError(f"{path}: the array is empty, its shape is {shape}: there are no phases to find.")
    found = Header(path, kind, shape, dtype, n, stored=stored, chunked=chunked)
    if chunked:
        check_size(found.nbytes, stored, "the array")
    return found


def _bytes_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(
        entry.stat().st_size for folder, _, names in os.walk(path) for entry in map(Path(folder).joinpath, names)
    )


Arrays = Mapping[str, tuple[tuple[int, ...], np.dtype[Any], bool]]
"""Shape, type, and whether it is read in parts, by name."""


def _of_arrays(path: Path, found: Arrays, variable: str | None, names: ColumnNames, n: int | None = None) -> Header:
    """Named arrays: columns of edges, or one array. ``n``: the number of nodes that the file says."""
    if variable is not None:
        if variable not in found:
            raise FileFormatError(f"{path} has no {variable!r}; it holds {listed(found)}.")
        return replace(_of_array(path, *found[variable]), variable=variable)
    angle = names.angle if names.angle in found else "value"
    if {names.i, names.j, angle} <= found.keys():
        lengths = {name: math.prod(found[name][0]) for name in (names.i, names.j, angle)}
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"{names.i}, {names.j} and {angle} must have the same length, but they have "
                f"{', '.join(map(str, lengths.values()))}."
            )
        if "labels" in found:
            n = math.prod(found["labels"][0])
        return _of_edges(path, lengths[names.i], n, n is None, names)
    arrays = {name: one for name, one in found.items() if len(one[0]) >= 2 and one[1].kind in "biufc"}
    name = "C" if "C" in arrays else next(iter(arrays), None)
    if name is None or (len(arrays) > 1 and name != "C"):
        raise FileFormatError(
            f"{path} has neither edges ({names.i!r}, {names.j!r} and {names.angle!r} or 'value') nor a matrix 'C'; it "
            f"holds {listed(found)}. Name the columns (--column-i and so on), or an array (--variable)."
        )
    return replace(_of_array(path, *arrays[name]), variable=name)


def _of_archive(path: Path, variable: str | None, names: ColumnNames) -> Header:
    found: dict[str, tuple[tuple[int, ...], np.dtype[Any], bool]] = {}
    small: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as stream:
                shape, _, dtype = array_header(stream, path, name)
                found[name] = (shape, dtype, False)
                if name in names.wanted or name in _SPARSE:
                    check_room(shape, dtype, member.file_size - stream.tell(), repr(name))
                if name in ("n", "shape") and dtype.kind in "iu" and math.prod(shape) in (1, 2):
                    small[name] = np.frombuffer(stream.read(2 * dtype.itemsize), dtype).tolist()
    if found.keys() >= _SPARSE and variable is None:
        entries, shape = math.prod(found["data"][0]), tuple(small.get("shape", ()))
        if len(shape) != 2 or shape[0] != shape[1] or found["data"][1].kind not in "biufc":
            raise InputError(
                f"the sparse matrix has the shape {shape} and holds {found['data'][1]}: no square matrix of numbers."
            )
        check_node_count(shape[0], entries)
        return replace(_of_edges(path, entries // 2, shape[0], False, names), dtype=found["data"][1])
    return _of_arrays(path, found, variable, names, small["n"][0] if "n" in small else None)


def _of_store(path: Path, variable: str | None) -> Header:
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("zarr", "stack", "looking at a zarr store") from None
    store: Any = zarr.open(str(path), mode="r")
    if isinstance(store, zarr.Array):
        return _complete(_of_array(path, tuple(store.shape), np.dtype(store.dtype), True), store)
    arrays = dict(store.arrays())
    found = {name: (tuple(x.shape), np.dtype(x.dtype), True) for name, x in arrays.items()}
    large = {name: one for name, one in found.items() if len(one[0]) >= 3}
    if variable is None:
        several = large or {name: one for name, one in found.items() if len(one[0]) >= 2}
        if len(several) != 1:
            raise FileFormatError(f"{path} holds {listed(found)}: name the array to be looked at (--variable).")
        (variable,) = several
    elif variable not in found:
        raise FileFormatError(f"{path} has no {variable!r}; it holds {listed(found)}.")
    return _complete(replace(_of_array(path, *found[variable]), variable=variable), arrays[variable])


def _complete(header: Header, array: Any) -> Header:
    """With the number of chunks that are not there; a matrix that has lost some is refused, as a solve refuses it."""
    if header.kind == "matrix":
        check_all(array)
        return header
    every = pieces(array, tuple(slice(0, side) for side in array.shape))
    return replace(header, absent=sum(not has(array, key) for key, _ in islice(every, _CHUNKS)))


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
    return {name: (tuple(shape), np.dtype(dtype), True) for name, (shape, dtype) in found.items()}
