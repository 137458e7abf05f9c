"""Where results of phase linking go: arrays in memory, a NetCDF file, or a zarr store that tasks write."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_linking.estimate import LinkStatus
from angsync.errors import FileFormatError, MissingDependencyError, OutputError
from angsync.io import chunks
from angsync.io.atomic import check_writable
from angsync.io.chunks import Chunk, Computed, Field, Grid, Work, carry_out, check_output, plan_of
from angsync.io.coordinates import Coordinates, of_axes
from angsync.io.image_stack import ImageStack
from angsync.io.strict_json import to_json

if TYPE_CHECKING:
    from angsync.applications.phase_linking.result import Linked

IMAGE_SUFFIXES = (".zarr", ".nc")
"""The suffixes of images that are written chunk by chunk."""
_FILL: dict[str, Any] = {"phase": np.nan, "standard_error": np.nan, "temporal_coherence": np.nan, "certified": 0,
                         "status": 4, "looks": 0}  # fmt: skip
"""The values of pixels that were not reached: status INTERRUPTED."""
_MEANINGS = {
    "phase": ("phase against the reference date", "radian"),
    "standard_error": ("standard error of the phase", "radian"),
    "temporal_coherence": ("agreement of the phases with those of all pairs of dates", "1"),
    "certified": ("whether the phases are proved to be the best ones for their coherences", ""),
    "status": ("how the pixel ended", ""),
    "looks": ("samples behind the coherences", "1"),
}
KIND = "angsync link"


def suffix_of(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower()


class Store(ABC):
    """Arrays by name, written in parts."""

    @abstractmethod
    def write(self, name: str, place: tuple[slice, ...], values: NDArray) -> None:
        """Write a part of one array."""

    @abstractmethod
    def finish(self) -> dict[str, Any]:
        """Return the arrays when all is written; a file gets its name only now."""

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


class Written(Store):
    """Arrays of a zarr store that tasks have written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path

    def write(self, name: str, place: tuple[slice, ...], values: NDArray) -> None:
        raise AssertionError("tasks write to a zarr store")

    def finish(self) -> dict[str, Any]:
        return chunks.read(self._path, _FILL)

    def abandon(self) -> None:
        """What is done stays: it can be resumed."""


def fields_of(
    n: int, shape: tuple[int, int], single: bool, dims: tuple[str, ...], beside: Coordinates
) -> dict[str, Field]:
    """Return the arrays of a zarr store of results."""
    return {
        name: Field(
            size, np.dtype(kind).str, (len(size) - 2, len(size) - 1), dims[-len(size) :], _FILL[name],
            {**attributes_of(name), **beside.attributes_for(dims[-len(size) :])},
        )
        for name, (size, kind) in layout(n, shape, single).items()
    }  # fmt: skip


def attributes_of(name: str) -> dict[str, Any]:
    """Return the attributes of an array of results, in the way of the CF conventions."""
    words, unit = _MEANINGS[name]
    told: dict[str, Any] = {"long_name": words, **({"units": unit} if unit else {})}
    if name == "status":
        told |= {"flag_values": [int(s) for s in LinkStatus], "flag_meanings": " ".join(s.name for s in LinkStatus)}
    return told


def described(settings: Mapping[str, Any], path: str | None) -> dict[str, str]:
    """Return the attributes of all results together: what made them, of what, and how."""
    from angsync import __version__

    told = {"source": KIND, "angsync_version": __version__, "settings": to_json(dict(settings))}
    return told if path is None else {**told, "input": path}


class NetcdfStore(Store):
    """A NetCDF-4 file, written under a temporary name until it is complete."""

    def __init__(
        self, path: Path, arrays: Mapping[str, tuple[tuple[int, ...], Any]], side: int, given: ImageStack,
        attributes: Mapping[str, str],
    ) -> None:  # fmt: skip
        netcdf = _library("netCDF4", path)
        self._path, self._partial = path, path.with_name(f".{path.name}.partial")
        if given.beside.dataset is not None:
            given.beside.dataset.to_netcdf(self._partial, engine="netcdf4")
        self._file = netcdf.Dataset(str(self._partial), "w" if given.beside.dataset is None else "a")
        self._file.set_auto_maskandscale(False)
        self._file.setncatts(dict(attributes))
        dims = given.dims
        sizes = arrays["phase"][0]
        for name, size in zip(dims, sizes, strict=True):
            if name not in self._file.dimensions:
                self._file.createDimension(name, size)
        for name, (shape, kind) in arrays.items():
            sides = tuple(min(size, side) if axis >= len(shape) - 2 else size for axis, size in enumerate(shape))
            stored = np.int8 if kind is np.bool_ else kind
            own = dims[-len(shape) :]
            # only NaN is a mark of missing values: readers would take it for one among codes and counts
            fill = _FILL[name] if np.isnan(_FILL[name]) else None
            array = self._file.createVariable(name, stored, own, chunksizes=sides, zlib=True, fill_value=fill)
            array.set_auto_maskandscale(False)
            array.setncatts({**attributes_of(name), **given.beside.attributes_for(own)})
            if kind is np.bool_:
                array.setncattr("dtype", "bool")  # as xarray has it
            if fill is None:
                for first in range(0, shape[0], side):
                    array[first : first + side] = _FILL[name]

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


def check_images_path(path: str | os.PathLike[str], *, resume: bool = False) -> Path:
    """Raise :class:`OutputError` now if images, or a table, could not be written to ``path`` later."""
    from angsync.io.result_file import TABLES, check_table_path

    path = Path(path)
    if suffix_of(path) in TABLES:
        return check_table_path(path)
    if suffix_of(path) not in IMAGE_SUFFIXES:
        check_writable(path, *IMAGE_SUFFIXES, *TABLES)
    _library("zarr" if suffix_of(path) == ".zarr" else "netCDF4", path)
    return check_output(path, resume=resume) if suffix_of(path) == ".zarr" else check_writable(path)


def save_images(result: Linked, path: str | os.PathLike[str], side: int = 512) -> None:
    """Write a result that is there already as images, in place of what was there."""
    if not result.dates_first:
        raise OutputError(f"cannot write {path}: the result of link_covariance has no rows and columns. Take npz.")
    path = Path(path)
    n, *shape = np.shape(result.phase)
    single = np.dtype(result.phase.dtype) == np.float32
    dims = result.coordinates.get("dims", ImageStack.dims)
    axes = {name: result.coordinates[name] for name in dims if name in result.coordinates}
    beside = result.beside if result.beside.dataset is not None else of_axes({dims[0]: result.dates, **axes})
    given = ImageStack(None, dims, beside)
    told = described({"method": result.method, "reference": result.dates[result.reference], "beta": result.beta}, None)
    if suffix_of(path) == ".zarr":
        _save_zarr(result, path, n, (shape[0], shape[1]), single, given, told, side)
        return
    store = NetcdfStore(check_writable(path), layout(n, (shape[0], shape[1]), single), side, given, told)
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


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of a result that is there (:class:`angsync.io.chunks.Compute`)."""

    result: Linked
    fields: Mapping[str, Field]

    def __call__(self, chunk: Chunk) -> Computed:
        given = vars(self.result)
        return Computed({name: np.asarray(given[name][told.place(chunk)]) for name, told in self.fields.items()}, {})

    def stamp(self, chunk: Chunk) -> str:
        return ""


def _save_zarr(
    result: Linked, path: Path, n: int, shape: tuple[int, int], single: bool, given: ImageStack,
    told: Mapping[str, str], side: int,
) -> None:  # fmt: skip
    """Beside its name until it is complete."""
    fields = fields_of(n, shape, single, given.dims, given.beside)

    if path.is_dir() and any(path.iterdir()):
        try:
            plan_of(path)
        except FileFormatError as error:  # what angsync did not write is not deleted
            raise OutputError(f"cannot write {path}: {error} Choose another name, or move it.") from None
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    grid = Grid(shape, (min(side, shape[0]), min(side, shape[1])))
    work = Work("a saved result", grid, fields, _Part(result, fields), {}, given.beside.dataset, told)
    try:
        done = carry_out(work, partial)
        if done.interrupted:
            raise KeyboardInterrupt
        if done.failed:
            raise OutputError(f"cannot write {path}: {next(iter(done.failed.values()))}")
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _library(name: str, path: Path) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingDependencyError(name, "insar", f"{path}") from None
