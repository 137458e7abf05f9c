"""Arrays that are read when somebody asks: zarr, HDF5, dask, xarray, or anything with a shape, a dtype and slices.

Only slices are ever asked for, so nothing is imported, and nothing is read as a whole but what is small.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncError, FileFormatError, InputError, in_one_line
from angsync.problem.absent import lost_in, marked, only_reads, that_count
from angsync.problem.array_libraries import chunk_shape, store_library

if TYPE_CHECKING:
    from angsync.problem.operators.checks import Hermitian

_READ_BYTES = 1 << 23  # of one part that is read at a time; the numbers made of it take several times as much
_TO_LOAD = "if it was not written because it holds nothing else, load it yourself: numpy.asarray(array[:])"
_MOST_CHUNK_BYTES = 1 << 28  # a chunk up to this size is read as a whole, a larger one in pieces, again and again


def check_not_encoded(array: Any) -> None:
    """Refuse an array of zarr or HDF5 whose numbers are not what is meant (CF conventions): xarray decodes them."""
    if store_library(array) not in ("zarr", "h5py"):
        return
    told = dict(array.attrs)
    if "_ARRAY_DIMENSIONS" in told and store_library(array) == "zarr":
        told.setdefault("_FillValue", array.fill_value)  # where xarray has it in format 2
    check_attributes(str(array.name or "").strip("/"), told)


def check_attributes(name: str, attributes: Mapping[Any, Any]) -> None:
    """Refuse a stored array with these attributes if they say that its numbers are to be decoded."""
    names = ("scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value")
    told = {name: attributes[name] for name in names if name in attributes}
    harmless = {"scale_factor": 1, "add_offset": 0}
    plain = {name for name in told if name in harmless and np.all(told[name] == harmless[name])}
    plain |= {name for name in names[-2:] if not _hides(told.get(name))}
    found = [f"{name} = {value}" for name, value in told.items() if name not in plain]
    if found:
        raise InputError(
            f"the stored array {name} is encoded ({', '.join(found)}): its numbers are not "
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


def to_load(data: Any) -> Any:
    """Return an array that is about to be loaded as a whole: if a chunk of it is absent, that is an error then."""
    check_not_encoded(data)
    return marked(data, "error", _TO_LOAD)


class StoredArray:
    """An array behind slices, with the sides of the parts in which it is best read.

    An entry of a chunk that its store does not have is an error if it counts (``absent="error"``), or zero because its
    owner says so (``"zeros"``).
    """

    def __init__(self, data: Any, hermitian: Hermitian = "full", absent: str | None = None) -> None:
        if absent not in (None, "error", "zeros"):
            raise InputError(f"absent must be 'error' or 'zeros' for one matrix, but it is {absent!r}.")
        check_not_encoded(data)
        self.data = data
        self.shape: tuple[int, ...] = tuple(int(side) for side in data.shape)
        self.dtype = np.dtype(data.dtype)
        # without chunks, as in a memory map or an HDF5 file, any part will do
        self.chunks = chunk_shape(data) or tuple(1 for _ in self.shape)
        self._hermitian: Hermitian = hermitian
        worked_on = store_library(data) == "dask" and not only_reads(data)
        self._marked = marked(data, absent or ("error" if worked_on else "empty"))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self, *index: Any) -> NDArray:
        """A part of it, in memory; masked entries are refused, because the values under a mask mean nothing."""
        try:
            part = np.asanyarray(self._marked[index])  # dask computes here, and may have masked blocks
            lost = lost_in(part)
            if lost is not None and self._marked is not self.data:
                if self._that_count(lost, index).any():
                    np.asanyarray(marked(self.data, "error")[index])  # raises, and names the chunk
                part = np.where(lost, part.dtype.type(0), part)
        except (MemoryError, AngsyncError):
            raise
        except Exception as error:  # codecs, file systems and graphs of dask raise what they like
            raise FileFormatError(
                f"C[{', '.join(map(_in_words, index, self.shape))}] cannot be read ({in_one_line(error)}). "
                "Is a chunk of it cut off or damaged? Restore it."
            ) from error
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise InputError(
                "blocks of the stored array are masked (numpy.ma), and a mask is not read block by block. Fill what "
                "is masked with 0 in both triangles, or load it all as one masked array of NumPy."
            )
        return np.asarray(part)

    def _that_count(self, lost: NDArray[np.bool_], index: tuple[Any, ...]) -> NDArray[np.bool_]:
        if self._hermitian == "full":
            return lost
        parts = (*index, slice(None), slice(None))[:2]  # of a matrix
        rows, columns = (np.arange(size)[part] for size, part in zip(self.shape, parts, strict=True))
        return that_count(lost, self._hermitian, rows, columns)

    def __getitem__(self, index: Any) -> NDArray:
        return self.read(*(index if isinstance(index, tuple) else (index,)))

    def loaded(self) -> NDArray:
        """All of it, in memory."""
        return self.read(*(slice(None) for _ in self.shape))

    def sides(self) -> tuple[int, int]:
        """Rows and columns of a part of a matrix that is read at a time: whole chunks, several where they are small."""
        n = self.shape[-1]
        rows, columns = (min(n, side) for side in self.chunks[-2:])
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
        count, row = math.prod(leading), self.chunks[0] * math.prod(leading[1:])
        if row * math.prod(self.shape[-2:]) * self.dtype.itemsize <= _MOST_CHUNK_BYTES:
            size = max(row, size // row * row)
        for first in range(0, count, size):
            yield slice(first, min(count, first + size))


def _in_words(index: Any, size: int) -> str:
    if not isinstance(index, slice):
        return str(index)
    first, last, _ = index.indices(size)
    return f"{first}:{last}"
