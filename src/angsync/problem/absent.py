"""Chunks that a zarr store does not have: they are seen wherever an array of zarr is read, and never taken for data.

zarr reads such a chunk as the fill value, without a word, and so do xarray and dask. :func:`marked` gives a copy of
their arrays in which it is read as a NaN that no computation gives, or is an error.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError, InputError, in_one_line
from angsync.problem.array_libraries import store_library

ABSENT = ("error", "empty", "zeros")
"""The meanings of a chunk that a store does not hold: a fault, no data, or zeros that were not worth a file."""
MARK = np.array(0x7E5A, np.uint16).view(np.float16)
"""A NaN whose other bits stay what they are in every precision."""
ADVICE = (
    "if it was not written because it holds nothing but zeros, pass absent='zeros' (--absent zeros); to go on with a "
    "stack without its problems (NO_DATA or NOT_FINITE), absent='empty' (--absent empty)"
)
_AROUND = ("builtins", "collections", "functools", "dask", "xarray")
"""The modules whose objects may hold arrays of zarr."""


class DamagedChunkError(FileFormatError):
    """A chunk of an input is absent or cannot be decoded."""


def lost_in(values: NDArray) -> NDArray[np.bool_] | None:
    """Return where the mark was read; None if it was not, or if there are no NaN in such numbers."""
    parts = {"f": 1, "c": 2}.get(values.dtype.kind, 0)
    kind = f"{values.dtype.itemsize // max(1, parts)}"
    if not parts or kind not in "248":
        return None
    flat = np.ascontiguousarray(values, values.dtype.newbyteorder("=")).reshape(-1)
    lost = flat.view(f"u{kind}")[::parts] == MARK.astype(f"f{kind}").view(f"u{kind}")
    return lost.reshape(values.shape) if lost.any() else None


def that_count(
    lost: NDArray[np.bool_], hermitian: str, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return those of the entries of matrices on these rows and columns that are in the triangle that is read."""
    if hermitian == "full":
        return lost
    order = np.less_equal if hermitian == "upper" else np.greater_equal
    return lost & order.outer(rows, columns)


def unknown_problems(lost: NDArray[np.bool_] | None, hermitian: str) -> NDArray[np.bool_] | None:
    """Return the problems (..., n, n) of which an entry that counts was not there, or None."""
    if lost is None:
        return None
    nodes = np.arange(lost.shape[-1])
    unknown = np.asarray(that_count(lost, hermitian, nodes, nodes).any(axis=(-2, -1)))
    return unknown if unknown.any() else None


class _Walk(pickle.Pickler):
    """Pickle what libraries build around arrays of zarr; hand over these, changed, and all that is not theirs."""

    def __init__(self, file: io.BytesIO, change: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._change, self.kept = change, []  # type: ignore[var-annotated]

    def persistent_id(self, one: Any) -> int | None:
        if isinstance(one, sys.modules["zarr"].Array):
            one = self._change(one)
        elif type(one).__module__.partition(".")[0] in _AROUND and not isinstance(one, _NAMED):
            return None
        self.kept.append(one)
        return len(self.kept) - 1


_NAMED = (FunctionType, BuiltinFunctionType, type)


class _Copy(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, kept: list[Any]) -> None:
        super().__init__(file)
        self._kept = kept

    def persistent_load(self, number: int) -> Any:
        return self._kept[number]


def marked(data: Any, absent: str, advice: str = ADVICE) -> Any:
    """Return a copy of an array, an ``xarray.Variable`` of a DataArray, with another meaning of absent chunks.

    What the arrays of zarr in it do not have is an error with this advice (``absent="error"``), or reads as
    :data:`MARK` (``"empty"``; an error in numbers without NaN), or as zeros (``"zeros"``; refused if they are not).
    """

    def change(array: Any) -> Any:
        from angsync.problem.zarr_arrays import Marked

        return Marked.of(array, absent, advice)

    if "zarr" not in sys.modules or store_library(data) not in ("zarr", "xarray", "dask"):
        return data
    file = io.BytesIO()
    walk = _Walk(file, change)
    try:
        walk.dump(data.variable if type(data).__name__ == "DataArray" else data)  # not its coordinates
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"it cannot be seen which chunks the array needs ({in_one_line(error)}). Load it first, for example with "
            "array.compute()."
        ) from None
    file.seek(0)
    return _Copy(file, walk.kept).load()


def only_reads(array: Any) -> bool:
    """Return True if an array of dask is read from a store and nothing was done to it, as far as its graph says."""
    layers = getattr(array.__dask_graph__(), "layers", ())
    return set(layers) == {array.name, f"original-{array.name}"}  # as dask.array.from_array calls it
