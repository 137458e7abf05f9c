"""MATLAB's first binary format, version 4, which Octave still writes: a header of five numbers, a name, numbers."""

from __future__ import annotations

import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import InputError
from angsync.io.limits import check_node_count
from angsync.io.sparse_arrays import coordinates

_NUMBERS = ("f8", "f4", "i4", "i2", "u2", "u1")
_FULL, _TEXT, _SPARSE = 0, 1, 2


def load_version_4(path: Path, wanted: Collection[str]) -> dict[str, Any]:
    """The variables by name; None for those that are not wanted."""
    variables: dict[str, Any] = {}
    with open(path, "rb") as stream:
        end = stream.seek(0, 2)
        position = 0
        while position < end:
            stream.seek(position)
            header = stream.read(20)
            if len(header) < 20:
                raise ValueError(f"it ends in the middle of a variable, at byte {position}")
            order, number, layout, sizes, is_complex, name_size = _header(header, position)
            count = sizes[0] * sizes[1]
            size = count * number.itemsize * (2 if is_complex else 1)
            if size + name_size > end - position - 20:
                raise ValueError(f"the variable at byte {position} is longer than the file")
            name = stream.read(name_size).rstrip(b"\0").decode("ascii")
            if name in wanted and name in variables:
                raise InputError(f"the variable {name!r} is there twice. Keep one.")
            if name in wanted:
                numbers = np.frombuffer(stream.read(size), np.dtype(order + number.str[1:])).astype(number)
                variables[name] = _value(numbers, layout, sizes, is_complex)
            else:
                variables.setdefault(name, None)
            position += 20 + name_size + size
    return variables


def _header(header: bytes, position: int) -> tuple[str, np.dtype, int, tuple[int, int], bool, int]:
    for order in "<>":
        kind, rows, columns, imaginary, name_size = struct.unpack(order + "5i", header)
        # thousands: the order of the bytes; hundreds: nothing; tens: the numbers; ones: the layout
        if 0 <= kind < 5000 and kind // 1000 == (order == ">"):
            number, layout = kind // 10 % 10, kind % 10
            fits = kind // 100 % 10 == 0 and number < len(_NUMBERS) and layout <= _SPARSE
            if fits and min(rows, columns) >= 0 and imaginary in (0, 1) and 1 < name_size <= 4096:
                return order, np.dtype(_NUMBERS[number]), layout, (rows, columns), bool(imaginary), name_size
    raise ValueError(f"there is no MATLAB variable at byte {position}")


def _value(numbers: np.ndarray, layout: int, sizes: tuple[int, int], is_complex: bool) -> Any:
    if layout == _SPARSE:
        return _sparse(numbers.reshape(sizes, order="F"))
    if is_complex:
        real, imaginary = np.split(numbers, 2)
        numbers = np.empty(real.size, np.result_type(real.dtype, np.complex64))
        numbers.real, numbers.imag = real, imaginary
    table = numbers.reshape(sizes, order="F")
    if layout == _TEXT:
        return np.array(["".join(map(chr, row)) for row in table.astype(np.uint8).tolist()], dtype=object)
    return table


def _sparse(table: np.ndarray) -> Any:
    """Rows of row, column (both from 1), real and perhaps imaginary part; the last row holds the sizes."""
    if table.shape[0] < 1 or table.shape[1] not in (3, 4) or not np.isfinite(table[:, :2]).all():
        raise ValueError("a sparse matrix has no sizes")
    rows, columns = (check_node_count(int(size), table.shape[0]) for size in table[-1, :2])
    if min(rows, columns) < 0:
        raise ValueError("a sparse matrix has no sizes")
    data: np.ndarray = table[:-1, 2].astype(np.float64 if table.shape[1] == 3 else np.complex128)
    if table.shape[1] == 4:
        data.imag = table[:-1, 3]
    places = table[:-1, :2].astype(np.int64) - 1
    return coordinates(data, places[:, 0], places[:, 1], (rows, columns))
