"""Stacks of complex images that are read in parts: arrays, zarr stores, NetCDF files, folders of GeoTIFFs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import (
    AngsyncWarning,
    FileFormatError,
    InputError,
    MissingDependencyError,
    ShapeError,
    warn_user,
)
from angsync.io.coordinates import Coordinates, of_axes, of_variable, of_xarray, of_zarr, open_encoded
from angsync.io.failures import existing_file, listed, reading
from angsync.io.zarr_input import check_one_array, one_of, open_array
from angsync.problem.absent import marked
from angsync.problem.array_libraries import store_library
from angsync.problem.stored import check_attributes, check_not_encoded

_WHAT = "one complex array of three axes (dates, rows, columns)"


@dataclass(frozen=True, eq=False)
class ImageStack:
    """Images (dates, rows, columns) behind slices, with the names and coordinates of the axes."""

    data: Any
    dims: tuple[str, ...] = ("date", "y", "x")
    """Names of the axes of an output."""
    beside: Coordinates = field(default_factory=Coordinates)
    """All its coordinates, as they are written to an output."""
    path: str | None = None
    """What was read."""
    variable: str | None = None
    template: Any = None
    """The array of xarray that was given, or None."""

    @cached_property
    def coordinates(self) -> dict[str, Any]:
        """``dims``: the names of the axes; and the coordinates of the axes by their names, times as such."""
        known = self.beside.decoded()
        return {"dims": self.dims, **{name: known[name].values for name in self.dims if name in known}}

    @property
    def dates(self) -> Any:
        return self.coordinates.get(self.dims[0])

    def like_given(self, result: Any) -> Any:
        """Return the result with arrays of xarray if the stack was one."""
        if self.template is None:
            return result
        import xarray

        changed = {}
        for name in ("phase", "standard_error", "temporal_coherence", "certified", "status", "looks"):
            array = vars(result)[name]
            own = self.dims if array.ndim == 3 else self.dims[1:]
            coords = {key: value for key, value in self.template.coords.items() if set(value.dims) <= set(own)}
            changed[name] = xarray.DataArray(array, coords, own, name)
        return replace(result, **changed)


ABSENT = ("error", "empty")
"""The meanings of a chunk that a zarr store does not hold: a fault, or pixels without data."""
_NOT_WRITTEN = "if it was not written because it holds nothing else, set absent to empty"


class Source:
    """An array behind slices; what is absent, cut off or fails its checksum is named in an error."""

    def __init__(self, images: ImageStack, absent: str) -> None:
        if absent not in ABSENT:
            raise InputError(f"absent must be one of {listed(ABSENT)}, but it is {absent!r}.")
        self.data, self.variable, self.absent = images.data, images.variable, absent
        self.path = None if images.path is None else os.path.abspath(images.path)
        self.shape: tuple[int, ...] = tuple(images.data.shape)
        self.dtype = np.dtype(images.data.dtype)
        if isinstance(self.data, _Turned):
            self._read: Any = replace(self.data, array=marked(self.data.array, absent, _NOT_WRITTEN))
        else:
            self._read = marked(self.data, absent, _NOT_WRITTEN)

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        place = tuple(slice(*part.indices(size)[:2]) for part, size in zip(index, self.shape, strict=True))
        try:
            return self._read[place]
        except (OSError, RuntimeError) as error:  # h5py, netCDF4 and rasterio, if a part of the file is damaged
            if self.path is None:
                raise
            words = ", ".join(f"{part.start}:{part.stop}" for part in place)
            raise FileFormatError(
                f"[{words}] of {self.path} cannot be read: it is cut off or damaged ({error}). Restore it."
            ) from None


def image_stack(stack: Any) -> ImageStack:
    """Return the images of an array of NumPy, xarray, zarr, h5py or dask, or of a path."""
    if isinstance(stack, (str, os.PathLike)):
        return read_images(stack)
    if store_library(stack) == "xarray":
        if type(stack).__name__ == "Dataset":
            raise InputError(
                f"a Dataset has several variables ({listed(list(stack.data_vars))}): pass the one with the images."
            )
        return _checked(replace(_of_xarray(stack), template=stack))
    return _checked(ImageStack(stack if store_library(stack) else np.asanyarray(stack)))


def _checked(images: ImageStack) -> ImageStack:
    check_not_encoded(images.data)
    shape = tuple(images.data.shape)
    if len(shape) != 3:
        raise ShapeError(f"the stack must be images (dates, rows, columns), but its shape is {shape}.")
    if shape[0] < 2:
        raise ShapeError(f"there must be two dates or more on the first axis, but the shape is {shape}.")
    if axis := _axis_of_dates(images):
        dims = images.dims
        order = (dims[axis], *(name for name in dims if name != dims[axis]))
        raise InputError(
            f"the dates must be the first axis, but {dims[axis]!r} is axis {axis + 1} of {dims}. Pass the array of "
            f"xarray, xarray.open_dataset(path)[name].transpose{order}, or store it in that order."
        )
    if 0 in shape:
        raise ShapeError(f"the images are empty: their shape is {shape}.")
    if np.dtype(images.data.dtype).kind != "c":
        raise InputError(
            f"the images must be complex (single-look complex), but their dtype is {images.data.dtype}. Amplitudes or "
            "interferograms cannot be linked this way; interferograms go to link_network."
        )
    return images


def _axis_of_dates(images: ImageStack) -> int:
    """Return the only axis with times, or else the only one with such a name, or else the first one."""
    known = images.coordinates
    found = [k for k, name in enumerate(images.dims) if np.asarray(known.get(name, 0)).dtype.kind == "M"]
    found = found or [k for k, name in enumerate(images.dims) if name.lower() in ("date", "dates", "time", "times")]
    return found[0] if len(found) == 1 else 0


@dataclass(frozen=True, eq=False)
class _Turned:
    """An array of xarray with its axes in another order; each part is turned when it is read."""

    array: Any
    order: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.sizes[name] for name in self.order)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    def __getitem__(self, index: tuple[Any, ...]) -> NDArray:
        part = self.array.isel(dict(zip(self.order, index, strict=True)))
        return np.asarray(part.transpose(*(name for name in self.order if name in part.dims)).values)


def _of_xarray(array: Any) -> ImageStack:
    """Return an array of xarray with its dates first."""
    given = ImageStack(None, tuple(str(name) for name in array.dims), of_xarray(array))
    first = _axis_of_dates(given) if array.ndim == 3 else 0
    order = tuple(given.dims[k] for k in sorted(range(array.ndim), key=lambda k: k != first))
    return replace(given, data=_Turned(array.variable, order), dims=order)


def read_images(path: str | os.PathLike[str], variable: str | None = None) -> ImageStack:
    """Open the images at a path, to be read in parts.

    A zarr store (an array, or a group with a complex array of three axes), a NetCDF file (a complex variable, or two of
    the same name that end in real and imag), a folder of GeoTIFFs (one complex band each, sorted by the date in the
    name), or an ``npy`` file. ``variable`` names the array where there are several.

    >>> from angsync.applications import phase_linking
    >>> np.save("stack.npy", phase_linking.simulate(8, (16, 16), rng=0).slc)
    >>> phase_linking.read("stack.npy").data.shape
    (8, 16, 16)
    """
    path = Path(path)
    return replace(_checked(_opened(path, variable)), path=str(path))


def _opened(path: Path, variable: str | None) -> ImageStack:
    if not path.exists():
        raise FileFormatError(f"there is no {path}.")
    if path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
        array = open_array(path, _WHAT, lambda one: len(one.shape) == 3 and one.dtype.kind == "c", variable)
        dims, beside = of_zarr(array, path)
        return ImageStack(array, dims or ImageStack.dims, beside, variable=array.basename or None)
    if path.suffix.lower() in (".nc", ".nc4", ".h5", ".hdf5"):
        return _of_netcdf(path, variable)
    if path.is_dir() or path.suffix.lower() == ".npy":
        check_one_array(path, variable)
        return _of_geotiffs(path) if path.is_dir() else ImageStack(_Npy.of(path))
    raise FileFormatError(
        f"{path} is not a stack of images: a zarr store, a NetCDF file (.nc), a folder of GeoTIFFs (.tif) or .npy is."
    )


@dataclass(frozen=True)
class _Npy:
    """An array in a file of NumPy, opened by the process that reads a part of it."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, path: Path) -> _Npy:
        with reading(existing_file(path), "npy"):
            images = np.load(path, mmap_mode="r", allow_pickle=False)
        return cls(path.absolute(), images.shape, images.dtype)

    def __getitem__(self, index: Any) -> NDArray:
        return np.asarray(np.load(self.path, mmap_mode="r", allow_pickle=False)[index])


def _of_netcdf(path: Path, variable: str | None) -> ImageStack:
    try:
        import netCDF4  # noqa: F401
    except ImportError:
        raise MissingDependencyError("netCDF4", "insar", f"reading {path}") from None
    try:
        opened = open_encoded(path)
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{path} is no NetCDF-4 file that xarray can open ({error}).") from None
    planes = {str(name): array for name, array in opened.data_vars.items() if array.ndim == 3}
    found = {name: [array] for name, array in planes.items() if array.dtype.kind == "c"}
    for name, real in planes.items():
        if name.endswith("real") and f"{name[:-4]}imag" in planes:
            found[name[:-4].rstrip("_") or "slc"] = [real, planes[f"{name[:-4]}imag"]]
    name = one_of(found, variable, path, _WHAT)
    for one in found[name]:
        check_attributes(one.name, one.attrs)
    first, *imaginary = found[name]
    whole = sum((1j * one.variable for one in imaginary), first.variable)
    dims = tuple(map(str, first.dims))
    return ImageStack(_Turned(whole, dims), dims, of_variable(opened, first.name), variable=name)


@dataclass(frozen=True)
class _GeoTiffs:
    """One file per date."""

    files: tuple[Path, ...]
    shape: tuple[int, int, int]
    dtype: Any = np.complex64

    def __getitem__(self, index: tuple[slice, slice, slice]) -> NDArray:
        import rasterio

        rows, columns = (slice(*part.indices(size)[:2]) for part, size in zip(index[1:], self.shape[1:], strict=True))
        window = rasterio.windows.Window.from_slices(rows, columns)
        images = []
        for file in self.files[index[0]]:
            with rasterio.open(file) as image:
                images.append(image.read(1, window=window).astype(self.dtype, copy=False))
        return np.array(images, dtype=self.dtype)


def _of_geotiffs(folder: Path) -> ImageStack:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in (".tif", ".tiff"))
    if not files:
        raise FileFormatError(f"{folder} holds no GeoTIFFs (.tif, .tiff), and it is no zarr store. Check the path.")
    try:
        import rasterio
    except ImportError:
        raise MissingDependencyError("rasterio", "insar", f"reading the GeoTIFFs in {folder}") from None
    named = []
    for file in files:
        day = re.search(r"(?<!\d)((?:19|20)\d{2})-?([01]\d)-?([0-3]\d)", file.stem)
        if day is None:
            raise FileFormatError(f"{folder}: the name of {file.name} holds no date (such as 20200113).")
        named.append(("-".join(day.groups()), file.absolute()))
    named.sort()
    shape = transform = projection = None
    for _, file in named:
        with rasterio.open(file) as image:
            if not image.dtypes[0].startswith("complex"):
                raise FileFormatError(f"{file}: the band is {image.dtypes[0]}, not complex.")
            if shape is not None and image.shape != shape:
                raise FileFormatError(f"{file} is {image.shape}, but the images before it are {shape}.")
            shape, transform, projection = image.shape, image.transform, image.crs
    if projection is not None:
        warn_user(
            f"the projection of the GeoTIFFs, {projection}, is not kept: results have x and y, but no projection. "
            "Write it to them yourself.",
            AngsyncWarning,
        )
    assert shape is not None
    assert transform is not None
    axes: dict[str, Any] = {"date": np.array([day for day, _ in named], dtype="datetime64[ns]")}
    if transform.b == 0 and transform.d == 0:
        axes["x"] = transform.c + transform.a * (np.arange(shape[1]) + 0.5)
        axes["y"] = transform.f + transform.e * (np.arange(shape[0]) + 0.5)
    return ImageStack(_GeoTiffs(tuple(file for _, file in named), (len(named), *shape)), beside=of_axes(axes))
