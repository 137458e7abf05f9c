"""Arrays behind slices: one of our own that counts what is read of it, and those of the installed libraries."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest


class Slices:
    """What zarr and its like have in common: a shape, a dtype, chunks and slices. Whole arrays are refused."""

    def __init__(self, array: np.ndarray, chunks: tuple[int, ...] | None = None) -> None:
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim
        self.chunks = chunks or array.shape
        self.entries = self.largest = 0

    def __getitem__(self, index: Any) -> np.ndarray:
        part = self.array[index]
        self.entries += part.size
        self.largest = max(self.largest, part.size)
        return part.copy()

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise AssertionError("somebody read all of it at once")


LIBRARIES = ("slices", "zarr", "h5py", "h5py, contiguous", "dask", "xarray of dask", "xarray of zarr")


def stored(name: str, array: np.ndarray, chunks: tuple[int, ...], folder: Any, closing: contextlib.ExitStack) -> Any:
    """The array in this library, on disk where it keeps arrays there; the test is skipped without the library."""
    if name == "slices":
        return Slices(array, chunks)
    if name.startswith("h5py"):
        h5py = pytest.importorskip("h5py")
        file = closing.enter_context(h5py.File(folder / "C.h5", "w"))
        return file.create_dataset("C", data=array, chunks=None if "contiguous" in name else chunks)
    if name == "dask":
        return pytest.importorskip("dask.array").from_array(array, chunks=chunks)
    xarray = pytest.importorskip("xarray") if name.startswith("xarray") else None
    if name == "xarray of dask":
        lazy = pytest.importorskip("dask.array").from_array(array, chunks=chunks)
        return xarray.DataArray(lazy, dims=[f"axis {k}" for k in range(array.ndim)])
    zarr = pytest.importorskip("zarr")
    if xarray is None:
        written = zarr.open_array(str(folder / "C.zarr"), mode="w", shape=array.shape, chunks=chunks, dtype=array.dtype)
        written[:] = array
        return written
    dims = [f"axis {k}" for k in range(array.ndim)]
    made = xarray.Dataset({"C": (dims, array)})
    made.to_zarr(str(folder / "C.zarr"), encoding={"C": {"chunks": chunks}})
    return xarray.open_zarr(str(folder / "C.zarr"), chunks=None)["C"]
