"""The arrays of NumPy's own files, .npz and .npy: no pickles, and only what is asked for.

The beginning of every array is read first: what it says must fit the bytes that are there.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np

from angsync.errors import FileFormatError, InputError
from angsync.io.failures import quoted, reading
from angsync.io.limits import array_bytes, check_size

_ZIP, _NPY, _PICKLE = b"PK", b"\x93NUMPY", b"\x80"
_LONGEST_HEADER = 10_000  # NumPy's own limit: a longer one can keep Python's parser busy
_MEMBERS = 100_000  # arrays of an archive; each takes a line of its table of contents
_BLOCK_BYTES = 2**24


def load_arrays(path: Path, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """The arrays of an .npz archive by name: all of them, or those ``wanted`` and None for each of the others.

    Pickled ones are refused, wanted or not.
    """
    with reading(path, "npz"):
        _check_start(path, _ZIP, "an npz archive (a zip file of arrays)")
        arrays: dict[str, Any] = {}
        room = 0
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > _MEMBERS:
                raise InputError(f"it has {len(members)} parts, which no archive of arrays has.")
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in arrays:
                    raise InputError(f"the array {quoted(name)} is there twice. Keep one.")
                with archive.open(member) as stream:
                    shape, order, dtype = _array_header(stream, path, f"its array {quoted(name)}")
                    arrays[name] = None
                    if wanted is not None and name not in wanted:
                        continue
                    # of all arrays together, because parts of an archive may share their bytes
                    room += _checked_bytes(shape, dtype, quoted(name))
                    check_size(room, os.stat(path).st_size, quoted(name))
                    arrays[name] = _content(stream, shape, order, dtype)
        return arrays


def load_array(path: Path) -> Any:
    """Read the array of an .npy file; refuse a pickled one, and one of which bytes are missing."""
    with reading(path, "npy"), open(path, "rb") as stream:
        _check_start(path, _NPY, "an npy file (one array)")
        shape, order, dtype = _array_header(stream, path, "it")
        size, there = _checked_bytes(shape, dtype, "the array"), os.stat(path).st_size - stream.tell()
        if size > there:
            raise ValueError(f"{size} bytes are needed for the shape {shape}, but {there} are there")
        return _content(stream, shape, order, dtype)


def _array_header(stream: IO[bytes], path: Path, what: str) -> tuple[tuple[int, ...], str, np.dtype]:
    """Shape, order and type of an array, from its beginning; the stream then stands at its first number."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"{what} has the format version {version}, which arrays of numbers and text never have")
    shape, by_columns, dtype = readers[version](stream, max_header_size=_LONGEST_HEADER)
    if dtype.hasobject:
        raise pickled(path, what)
    return shape, "F" if by_columns else "C", dtype


def _checked_bytes(shape: tuple[int, ...], dtype: np.dtype, name: str) -> int:
    if dtype.kind not in "biufcSUMm":
        raise InputError(f"{name} is an array of {dtype}, but numbers or text are needed.")
    return array_bytes(shape, dtype.itemsize)


def _content(stream: IO[bytes], shape: tuple[int, ...], order: Any, dtype: np.dtype) -> Any:
    """All bytes are read, and of an archive one more: only its end tells whether the check sum is right."""
    content = np.empty(array_bytes(shape, dtype.itemsize), dtype=np.uint8)
    rest = content.data
    while rest:
        count = stream.readinto(rest[:_BLOCK_BYTES])  # type: ignore[attr-defined]
        if not count:
            raise ValueError(f"{len(rest)} bytes of an array are missing")
        rest = rest[count:]
    stream.read(1)
    array = content.view(dtype).reshape(shape, order=order)
    if dtype.kind == "U" and content.size and int(content.view(dtype.byteorder + "u4").max()) > 0x10FFFF:
        raise ValueError("its text holds numbers that stand for no letter")
    return array


def _check_start(path: Path, expected: bytes, what: str) -> None:
    with open(path, "rb") as stream:
        start = stream.read(6)
    if start.startswith(expected):
        return
    if start.startswith(_PICKLE):
        raise pickled(path, "it")
    raise FileFormatError(f"{path} is not {what}, or its beginning is damaged. Mend its suffix or make it again.")


def pickled(path: Path, what: str) -> FileFormatError:
    """The refusal of what Python would have to run."""
    return FileFormatError(
        f"refused to load {path}: {what} is a pickle of Python objects, which could run any code. "
        "Save plain numeric or text arrays instead (dtype not object)."
    )
