"""Arrays that are read when somebody asks: zarr, HDF5, dask, xarray, or anything with a shape, a dtype and slices.

Only slices are ever asked for, so nothing is imported, and nothing is read as a whole but what is small.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncError, FileFormatError, InputError
from angsync.problem.array_libraries import chunk_shape, store_library

_READ_BYTES = 1 << 23  # of one part that is read at a time; the numbers made of it take several times as much
_MOST_CHUNK_BYTES = 1 << 28  # a chunk up to this size is read as a whole, a larger one in pieces, again and again


def check_not_encoded(array: Any) -> None:
    """Refuse an array of zarr or HDF5 whose numbers are not what is meant (CF conventions): xarray decodes them."""
    if store_library(array) not in ("zarr", "h5py"):
        return
    names = ("scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value")
    told = {name: array.attrs[name] for name in names if name in array.attrs}
    if "_ARRAY_DIMENSIONS" in array.attrs and "_FillValue" not in told and store_library(array) == "zarr":
        told["_FillValue"] = array.fill_value  # where xarray has it in format 2
    harmless = {"scale_factor": 1, "add_offset": 0}
    plain = {name for name in told if name in harmless and np.all(told[name] == harmless[name])}
    plain |= {name for name in names[-2:] if not _hides(told.get(name))}
    found = [f"{name} = {value}" for name, value in told.items() if name not in plain]
    if found:
        raise InputError(
            f"the stored array {str(array.name or '').strip('/')} is encoded ({', '.join(found)}): its numbers are not "
            "the values that are meant. Decode it with xarray, for example "
            "ang.synchronize(xarray.open_zarr(path)[name]), or store it again without these attributes."
        )


def _hides(fill: Any) -> bool:
    """Whether a fill value is a number like others: NaN is seen, and 0 is no measurement anyway."""
    if fill is None:
        return False
    try:
        if isinstance(fill, (list, tuple)):
            return any(_hides(part) for part in fill)
        if isinstance(fill, str):  # as xarray writes floating-point numbers in format 3
            fill = np.frombuffer(base64.standard_b64decode(fill), "<f8")
        values = np.asarray(fill, dtype=complex)
    except (TypeError, ValueError):
        return True
    return bool(np.any((values != 0) & ~np.isnan(values)))


class StoredArray:
    """An array behind slices, with the sides of the parts in which it is best read."""

    def __init__(self, data: Any) -> None:
        check_not_encoded(data)
        self.data = data
        self.shape: tuple[int, ...] = tuple(int(side) for side in data.shape)
        self.dtype = np.dtype(data.dtype)
        # without chunks, as in a memory map or an HDF5 file, any part will do
        self._chunk = chunk_shape(data) or tuple(1 for _ in self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self, *index: Any) -> NDArray:
        """A part of it, in memory; masked entries are refused, because the values under a mask mean nothing."""
        try:
            part = np.asanyarray(self.data[index])  # dask computes here, and may have masked blocks
        except (MemoryError, AngsyncError):
            raise
        except Exception as error:  # codecs, file systems and graphs of dask raise what they like
            raise FileFormatError(
                f"C[{', '.join(map(_in_words, index, self.shape))}] cannot be read ({type(error).__name__}: "
                f"{str(error).strip()[:300]}). Is a chunk of it cut off or damaged? Restore it."
            ) from error
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise InputError(
                "blocks of the stored array are masked (numpy.ma), and a mask is not read block by block. Fill what "
                "is masked with 0 in both triangles, or load it all as one masked array of NumPy."
            )
        return np.asarray(part)

    def loaded(self) -> NDArray:
        """All of it, in memory."""
        return self.read(*(slice(None) for _ in self.shape))

    def sides(self) -> tuple[int, int]:
        """Rows and columns of a part of a matrix that is read at a time: whole chunks, several where they are small."""
        n = self.shape[-1]
        rows, columns = (min(n, side) for side in self._chunk[-2:])
        size = self.dtype.itemsize
        if rows * columns * size > _MOST_CHUNK_BYTES:
            rows, columns = 1, 1
        while 2 * rows * columns * size <= _READ_BYTES and (rows < n or columns < n):
            if columns < n and (columns <= rows or rows >= n):
                columns = min(n, 2 * columns)
            else:
                rows = min(n, 2 * rows)
        return rows, columns

    # A stack (..., n, n): its problems are numbered in the order of the leading axes.

    def problems(self, part: slice | NDArray[np.int64]) -> NDArray:
        """Problems of a stack, by a slice of their numbers or by some numbers, (count, n, n)."""
        if isinstance(part, slice):
            return self._some((), part.start, part.stop)
        own = self.shape[-2:]
        return np.array([self._some((), int(k), int(k) + 1)[0] for k in part], dtype=self.dtype).reshape(-1, *own)

    def _some(self, prefix: tuple[int, ...], first: int, last: int) -> NDArray:
        """Problems ``first`` up to ``last`` of those at ``prefix``: no problem is read that nobody asked for."""
        axes, own = self.shape[len(prefix) : -2], self.shape[-2:]
        if first >= last:
            return np.empty((0, *own), dtype=self.dtype)
        if not axes:
            return self.read(*prefix, slice(None), slice(None)).reshape(-1, *own)
        inner = math.prod(axes[1:])
        begin, end = -(-first // inner), last // inner
        if begin > end:  # all inside one row of the first axis
            return self._some((*prefix, end), first - end * inner, last - end * inner)
        parts = [self.read(*prefix, slice(begin, end)).reshape(-1, *own)]
        if first < begin * inner:
            parts.insert(0, self._some((*prefix, begin - 1), first - (begin - 1) * inner, inner))
        if end * inner < last:
            parts.append(self._some((*prefix, end), 0, last - end * inner))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def blocks(self, size: int) -> Iterator[slice]:
        """Numbers of problems that are read together: about ``size``, whole chunks of the first axis where they fit."""
        leading = self.shape[:-2]
        count, row = math.prod(leading), self._chunk[0] * math.prod(leading[1:])
        if row * math.prod(self.shape[-2:]) * self.dtype.itemsize <= _MOST_CHUNK_BYTES:
            size = max(row, size // row * row)
        for first in range(0, count, size):
            yield slice(first, min(count, first + size))


def _in_words(index: Any, size: int) -> str:
    if not isinstance(index, slice):
        return str(index)
    first, last, _ = index.indices(size)
    return f"{first}:{last}"
