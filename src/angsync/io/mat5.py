"""MATLAB's binary format of versions 5 to 7, read by its published layout ("MAT-File Format", MathWorks).

Every size is compared with the bytes that are there: a damaged file is an error, never a crash. Only variables that
are asked for are unpacked.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.io.limits import check_size
from angsync.io.sparse_arrays import compressed

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CHAR_CLASS, _SPARSE_CLASS = 4, 5
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_COMPLEX_FLAG, _LOGICAL_FLAG = 0x800, 0x200
_HEAD_BYTES = 4096  # flags, sizes and name of a variable, with much to spare


def is_version_5(start: bytes) -> bool:
    """Whether the first 128 bytes of a file end in the mark of this format."""
    return start[126:128] in (b"IM", b"MI")


def load_version_5(path: Path, wanted: Collection[str]) -> dict[str, Any]:
    """The variables by name; None for those that are not wanted and for cells, structures and functions."""
    variables: dict[str, Any] = {}
    with open(path, "rb") as stream:
        order = "<" if stream.read(_HEADER)[126:128] == b"IM" else ">"
        for head, whole in _top_elements(stream, order):
            name = _Matrix(head, order).name
            if not name:  # what MATLAB keeps for function handles
                continue
            if name in wanted:
                if name in variables:
                    raise InputError(f"the variable {name!r} is there twice. Keep one.")
                variables[name] = _Matrix(whole(), order).value()
            else:
                variables.setdefault(name, None)
    return variables


def _top_elements(stream: IO[bytes], order: str) -> Iterator[tuple[bytes, Any]]:
    """The beginning of every variable, and a function that gives all of it."""
    end = stream.seek(0, 2)
    position = _HEADER
    while position < end:
        stream.seek(position)
        tag = stream.read(8)
        if len(tag) < 8:
            raise ValueError(f"it ends in the middle of an element, at byte {position}")
        kind, size = struct.unpack(order + "II", tag)
        if kind not in (_MATRIX, _COMPRESSED) or size > end - position - 8:
            raise ValueError(f"the element at byte {position} is of kind {kind} with {size} bytes, which cannot be")
        start = position + 8
        if kind == _MATRIX:
            yield stream.read(min(size, _HEAD_BYTES)), lambda start=start, size=size: _bytes_at(stream, start, size)
        else:
            head, length = _unpacked(stream.read(min(size, _HEAD_BYTES)), order, None)
            yield (
                head,
                lambda start=start, size=size, length=length: _whole(stream, start, size, length, order),
            )
        position = start + size  # MATLAB pads matrices themselves to 8 bytes, compressed ones not at all


def _bytes_at(stream: IO[bytes], start: int, size: int) -> bytes:
    stream.seek(start)
    return stream.read(size)


def _whole(stream: IO[bytes], start: int, size: int, length: int, order: str) -> bytes:
    check_size(length, size, "a variable")
    return _unpacked(_bytes_at(stream, start, size), order, length)[0]


def _unpacked(packed: bytes, order: str, length: int | None) -> tuple[bytes, int]:
    """A compressed matrix without its tag, and its length; only the beginning where no length is given."""
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(packed, _HEAD_BYTES if length is None else length + 8)
    if len(content) < 8:
        raise ValueError("a compressed variable is empty")
    kind, declared = struct.unpack(order + "II", content[:8])
    if kind != _MATRIX:
        raise ValueError(f"a compressed element is of kind {kind}, but must be a variable")
    # one byte more is asked for: only the end of the stream tells whether its check sum is right
    whole = length is None or (
        len(content) == length + 8 and not unpacker.decompress(unpacker.unconsumed_tail, 1) and unpacker.eof
    )
    if not whole:
        raise ValueError("a compressed variable has another length than it says")
    return content[8 : 8 + declared], declared


class _Matrix:
    """One variable: its flags, sizes and name are read at once, its numbers by :meth:`value`."""

    def __init__(self, content: bytes, order: str) -> None:
        self._content, self._order, self._position = content, order, 0
        flags = self._numbers(("u4",))
        sizes = self._numbers(("i4",))
        if flags.size != 2 or sizes.size < 2 or (sizes < 0).any():
            raise ValueError("a variable has no flags or no sizes")
        self._class, self._flags = int(flags[0]) & 0xFF, int(flags[0])
        self._shape = tuple(int(size) for size in sizes)
        kind, name = self._element()
        if kind not in (1, 2, 16):
            raise ValueError("a variable has no name")
        self.name = name.decode("utf-8").rstrip("\0")

    def value(self) -> Any:
        """Numbers, truth values, lines of text, or a sparse matrix; None for what holds other variables."""
        if self._class == _SPARSE_CLASS:
            return self._sparse()
        if self._class == _CHAR_CLASS:
            return self._text()
        if self._class not in _CLASSES:
            return None
        count = 1
        for side in self._shape:
            count *= side
        numbers = self._parts(_CLASSES[self._class], count)
        return numbers.reshape(self._shape, order="F")

    def _element(self) -> tuple[int, bytes]:
        """Kind and bytes of the next part. Up to four bytes may stand in the tag itself."""
        tag = self._content[self._position : self._position + 8]
        if len(tag) < 8:
            raise ValueError("a variable ends before its last part")
        kind, size = struct.unpack(self._order + "II", tag)
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            if size > 4:
                raise ValueError("a part of a variable has a damaged tag")
            self._position += 8
            return kind, tag[4 : 4 + size]
        start = self._position + 8
        if size > len(self._content) - start:
            raise ValueError("a part of a variable is longer than the variable")
        self._position = start + (size + 7) // 8 * 8
        return kind, self._content[start : start + size]

    def _numbers(self, kinds: Collection[str] = tuple(_NUMBERS.values())) -> NDArray:
        kind, content = self._element()
        stored = _NUMBERS.get(kind)
        if stored not in kinds:
            raise ValueError(f"numbers are stored as kind {kind}, which cannot be")
        dtype = np.dtype(f"{self._order}{stored}")
        if len(content) % dtype.itemsize:
            raise ValueError("numbers do not fill their bytes")
        return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))

    def _parts(self, kind: str, count: int) -> NDArray:
        """The real and, where the flags say so, the imaginary numbers, in the precision of the variable."""
        parts = [self._numbers() for _ in range(2 if self._flags & _COMPLEX_FLAG else 1)]
        for part in parts:
            # MATLAB stores whole numbers in the smallest type that holds them
            if part.size != count or not np.can_cast(part.dtype, kind, "same_kind"):
                raise ValueError(f"a variable of {count} numbers has {part.size} of another type")
        if len(parts) == 1:
            return parts[0].astype(bool if self._flags & _LOGICAL_FLAG else kind)
        joined = np.empty(count, np.result_type(kind, np.complex64))
        joined.real, joined.imag = parts
        return joined

    def _text(self) -> NDArray:
        """One text a row."""
        kind, content = self._element()
        if kind not in _TEXT:
            raise ValueError(f"text is stored as kind {kind}, which cannot be")
        suffix = "" if kind in (1, 2, 16) else ("-le" if self._order == "<" else "-be")
        letters = np.array(list(content.decode(_TEXT[kind] + suffix)), dtype=object)
        if len(self._shape) != 2 or letters.size != self._shape[0] * self._shape[1]:
            raise ValueError(f"a text of {letters.size} letters cannot have the shape {self._shape}")
        rows = letters.reshape(self._shape, order="F")
        return np.array(["".join(row) for row in rows], dtype=object)

    def _sparse(self) -> Any:
        """Compressed columns: row of each entry, where each column starts, entries."""
        rows, starts = self._numbers(("i4", "u4")), self._numbers(("i4", "u4"))
        if len(self._shape) != 2 or starts.size != self._shape[1] + 1:
            raise ValueError(f"a sparse matrix of shape {self._shape} has {starts.size} column starts")
        count = int(starts[-1])
        # there may be room for more entries than there are
        parts = [self._numbers()[:count] for _ in range(2 if self._flags & _COMPLEX_FLAG else 1)]
        if count < 0 or any(part.size != count for part in parts):
            raise ValueError("a sparse matrix has fewer numbers than entries")
        if len(parts) == 2:
            data = np.empty(count, np.complex128)
            data.real, data.imag = parts
        else:
            data = parts[0].astype(bool if self._flags & _LOGICAL_FLAG else np.float64)
        return compressed("csc", data, rows, starts, (self._shape[0], self._shape[1]))
