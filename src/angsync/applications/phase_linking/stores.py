"""Where results of phase linking go: arrays in memory, or a zarr store or NetCDF file, written chunk by chunk."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import MissingDependencyError, OutputError
from angsync.io.atomic import check_writable

if TYPE_CHECKING:
    from angsync.applications.phase_linking.result import Linked

IMAGE_SUFFIXES = (".zarr", ".nc")
"""What images are written as, chunk by chunk."""
_FILL: dict[str, Any] = {"phase": np.nan, "standard_error": np.nan, "temporal_coherence": np.nan, "certified": 0,
                         "status": 4, "looks": 0}  # fmt: skip
"""What stands where nothing was reached: status INTERRUPTED."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower()


class Store(ABC):
    """Arrays by name, written in parts."""

    @abstractmethod
    def write(self, name: str, place: tuple[slice, ...], values: NDArray) -> None:
        """Write a part of one array."""

    @abstractmethod
    def finish(self) -> dict[str, Any]:
        """The arrays, when all is written; a file gets its name only now."""

    @abstractmethod
    def abandon(self) -> None:
        """Leave nothing behind."""


def layout(n: int, shape: tuple[int, int], single: bool) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and type of the arrays of a result."""
    real: Any = np.float32 if single else np.float64
    whole = (n, *shape)
    return {
        "phase": (whole, real), "standard_error": (whole, real), "temporal_coherence": (shape, real),
        "certified": (shape, np.bool_), "status": (shape, np.int8), "looks": (shape, real),
    }  # fmt: skip


class Memory(Store):
    """Arrays of NumPy."""

    def __init__(self, arrays: Mapping[str, tuple[tuple[int, ...], Any]]) -> None:
        self._arrays = {name: np.full(shape, _FILL.get(name, 0), kind) for name, (shape, kind) in arrays.items()}

    def write(self, name: str, place: tuple[slice, ...], values: NDArray) -> None:
        self._arrays[name][place] = values

    def finish(self) -> dict[str, Any]:
        return dict(self._arrays)

    def abandon(self) -> None:
        self._arrays.clear()


class ZarrStore(Store):
    """A zarr group with one array a name, which xarray opens; written beside its name until it is complete."""

    def __init__(
        self, path: Path, arrays: Mapping[str, tuple[tuple[int, ...], Any]], side: int, coordinates: Mapping[str, Any]
    ) -> None:
        zarr = _library("zarr", path)
        self._path, self._partial = path, path.with_name(f".{path.name}.partial")
        shutil.rmtree(self._partial, ignore_errors=True)
        dims = coordinates.get("dims", ("date", "y", "x"))
        self._group = zarr.open_group(str(self._partial), mode="w")
        self._group.attrs["source"] = "angsync link"
        for name, (shape, kind) in arrays.items():
            chunks = tuple(min(size, side) if axis >= len(shape) - 2 else size for axis, size in enumerate(shape))
            self._array(name, shape, chunks, kind, dims[-len(shape) :])
        for name, values in coordinates.items():
            self._coordinate(name, np.asarray(values), dims)

    def _coordinate(self, name: str, values: NDArray, dims: tuple[str, ...]) -> None:
        if name not in dims or values.ndim != 1:
            return
        if values.dtype.kind == "M":  # the way of the CF conventions
            array = self._array(name, values.shape, values.shape, np.int64, (name,))
            array[...] = values.astype("datetime64[s]").astype(np.int64)
            array.attrs.update(units="seconds since 1970-01-01", calendar="proleptic_gregorian")
        elif values.dtype.kind in "biuf":
            self._array(name, values.shape, values.shape, values.dtype, (name,))[...] = values
        else:  # zarr has no type for text that other programs know
            self._group.attrs[name] = [str(x) for x in values]

    def _array(self, name: str, shape: Any, chunks: Any, kind: Any, dims: Any) -> Any:
        array = self._group.create_array(
            name, shape=shape, chunks=tuple(max(1, side) for side in chunks), dtype=kind, dimension_names=tuple(dims),
            fill_value=_FILL.get(name),
        )  # fmt: skip
        array.attrs["_ARRAY_DIMENSIONS"] = list(dims)
        return array

    def write(self, name: str, place: tuple[slice, ...], values: NDArray) -> None:
        self._group[name][place] = values

    def finish(self) -> dict[str, Any]:
        if self._path.is_dir():
            shutil.rmtree(self._path)
        os.replace(self._partial, self._path)
        group = _library("zarr", self._path).open_group(str(self._path), mode="r")
        return {name: group[name] for name in _FILL}

    def abandon(self) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)


class NetcdfStore(Store):
    """A NetCDF-4 file, written beside its name until it is complete."""

    def __init__(
        self, path: Path, arrays: Mapping[str, tuple[tuple[int, ...], Any]], side: int, coordinates: Mapping[str, Any]
    ) -> None:
        netcdf = _library("netCDF4", path)
        self._path, self._partial = path, path.with_name(f".{path.name}.partial")
        self._file = netcdf.Dataset(str(self._partial), "w")
        dims = coordinates.get("dims", ("date", "y", "x"))
        sizes = arrays["phase"][0]
        for name, size in zip(dims, sizes, strict=True):
            self._file.createDimension(name, size)
        for name, (shape, kind) in arrays.items():
            chunks = tuple(min(size, side) if axis >= len(shape) - 2 else size for axis, size in enumerate(shape))
            stored = np.int8 if kind is np.bool_ else kind
            self._file.createVariable(
                name, stored, dims[-len(shape) :], chunksizes=chunks, zlib=True, fill_value=_FILL[name]
            )
        for name, values in coordinates.items():
            values = np.asarray(values)
            if name in dims and values.ndim == 1:
                self._coordinate(name, values)

    def _coordinate(self, name: str, values: NDArray) -> None:
        if values.dtype.kind == "M":  # the way of the CF conventions
            self._file.createVariable(name, np.int64, (name,))[:] = values.astype("datetime64[s]").astype(np.int64)
            self._file[name].units = "seconds since 1970-01-01"
        elif values.dtype.kind in "biuf":
            self._file.createVariable(name, values.dtype.name, (name,))[:] = values
        else:
            self._file.createVariable(name, str, (name,))[:] = np.array([str(x) for x in values], dtype=object)

    def write(self, name: str, place: tuple[slice, ...], values: NDArray) -> None:
        self._file[name][place] = values.astype(np.int8) if values.dtype == bool else values

    def finish(self) -> dict[str, Any]:
        self._file.close()
        os.replace(self._partial, self._path)
        opened = _library("netCDF4", self._path).Dataset(str(self._path))
        opened.set_auto_mask(False)
        return {name: opened[name] for name in _FILL}

    def abandon(self) -> None:
        if self._file.isopen():
            self._file.close()
        self._partial.unlink(missing_ok=True)


def check_images_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if images, or a table, could not be written to ``path`` later."""
    from angsync.io.result_table import SUFFIXES, check_table_path

    path = Path(path)
    if suffix_of(path) in SUFFIXES:
        return check_table_path(path)
    if suffix_of(path) not in IMAGE_SUFFIXES:
        raise OutputError(
            f"cannot write {path}: results are written as {', '.join(IMAGE_SUFFIXES + SUFFIXES)}, not as "
            f"{path.suffix!r}. Change the suffix."
        )
    _library("zarr" if suffix_of(path) == ".zarr" else "netCDF4", path)
    if suffix_of(path) == ".zarr" and path.is_dir():
        if any(path.iterdir()) and not any((path / name).exists() for name in ("zarr.json", ".zgroup")):
            raise OutputError(f"cannot write {path}: there is a folder of that name which is no zarr store. Move it.")
        return path
    return check_writable(path)


def opened(
    path: str | os.PathLike[str], n: int, shape: tuple[int, int], single: bool, side: int,
    coordinates: Mapping[str, Any],
) -> Store:  # fmt: skip
    """The store behind a path of images."""
    path = check_images_path(path)
    kind = ZarrStore if suffix_of(path) == ".zarr" else NetcdfStore
    return kind(path, layout(n, shape, single), side, coordinates)


def save_images(result: Linked, path: str | os.PathLike[str], side: int = 512) -> None:
    """Write a result that is there already as images."""
    if not result.dates_first:
        raise OutputError(f"cannot write {path}: the result of link_covariance has no rows and columns. Take npz.")
    n, *shape = np.shape(result.phase)
    single = np.dtype(result.phase.dtype) == np.float32
    coordinates = {"dims": ("date", "y", "x"), "date": list(result.dates), **result.coordinates}
    store = opened(path, n, (shape[0], shape[1]), single, side, coordinates)
    try:
        for name in _FILL:
            array = vars(result)[name]
            for first in range(0, shape[0], side):
                rows = slice(first, first + side)
                place = (slice(None), rows) if len(array.shape) == 3 else (rows,)
                store.write(name, place, np.asarray(array[place]))
        store.finish()
    except BaseException:
        store.abandon()
        raise


def _library(name: str, path: Path) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingDependencyError(name, "insar", f"{path}") from None
