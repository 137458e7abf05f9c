"""Stacks of complex images that are read in parts: arrays, zarr stores, NetCDF files, folders of GeoTIFFs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from angsync.io.coordinates import Coordinates, of_axes, of_group, of_xarray, of_zarr
from angsync.io.failures import existing_file, listed, reading
from angsync.problem import zarr_files
from angsync.problem.stored import check_not_encoded
from angsync.problem.zarr_origin import check_all, refused, watched


@dataclass(frozen=True, eq=False)
class ImageStack:
    """Images (dates, rows, columns) behind slices, with the names of the dates and the coordinates of the axes."""

    data: Any
    dates: Any = None
    coordinates: Mapping[str, Any] = field(default_factory=dict)
    """``dims``: the names of the axes; and the coordinates by their names."""
    template: Any = None
    """The array of xarray that was given, or None."""
    path: str | None = None
    """What was read, so that another process can read it too."""
    variable: str | None = None
    beside: Coordinates = field(default_factory=Coordinates)
    """All its coordinates, as they are written to an output."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes of an output."""
        return tuple(self.coordinates.get("dims", ("date", "y", "x")))

    def like_given(self, result: Any) -> Any:
        """Return the result with arrays of xarray if the stack was one."""
        if self.template is None:
            return result
        import xarray

        dims = self.coordinates["dims"]
        changed = {}
        for name in ("phase", "standard_error", "temporal_coherence", "certified", "status", "looks"):
            array = vars(result)[name]
            own = dims if array.ndim == 3 else dims[1:]
            coords = {key: value for key, value in self.template.coords.items() if set(value.dims) <= set(own)}
            changed[name] = xarray.DataArray(array, coords, own, name)
        return replace(result, **changed)


ABSENT = ("error", "empty")
"""The meanings of a chunk that a zarr store does not hold: a fault, or fill values that were not worth a file."""
FILL_NOT_WRITTEN = "if it was not written because it holds nothing else, set absent to empty"
"""What to do about a chunk of images that is absent."""


def image_stack(stack: Any, absent: str = "error") -> ImageStack:
    """Return the images of an array of NumPy, xarray, zarr, h5py or dask, or of a path.

    ``absent``: whether absent chunks of zarr behind xarray and dask are an error.
    """
    if isinstance(stack, (str, os.PathLike)):
        return read_images(stack)
    if not isinstance(stack, np.ndarray) and type(stack).__module__.partition(".")[0] == "xarray":
        if type(stack).__name__ == "Dataset":
            raise InputError(
                f"a Dataset has several variables ({listed(list(stack.data_vars))}): pass the one with the images."
            )
        found = _of_xarray(stack if absent != "error" else watched(stack, advice=FILL_NOT_WRITTEN), absent)
    else:
        data = stack if isinstance(stack, np.ma.MaskedArray) or _has_slices(stack) else np.asarray(stack)
        found = ImageStack(data if absent != "error" else watched(data, advice=FILL_NOT_WRITTEN))
    return _checked(found)


def _has_slices(stack: Any) -> bool:
    known = isinstance(stack, np.ndarray)
    return known or type(stack).__module__.partition(".")[0] in ("zarr", "h5py", "dask") or isinstance(stack, _Lazy)


def _checked(images: ImageStack) -> ImageStack:
    check_not_encoded(images.data)
    shape = tuple(images.data.shape)
    if len(shape) != 3:
        raise ShapeError(f"the stack must be images (dates, rows, columns), but its shape is {shape}.")
    if shape[0] < 2:
        raise ShapeError(f"there must be two dates or more on the first axis, but the shape is {shape}.")
    dims = tuple(images.coordinates.get("dims", ()))
    axis = _axis_of_dates(dims, images.coordinates)
    if axis:
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


def _axis_of_dates(dims: tuple[str, ...], coordinates: Mapping[str, Any]) -> int:
    """Return the only axis with times, or else the only one with such a name, or else the first one."""
    found = [k for k, name in enumerate(dims) if np.asarray(coordinates.get(name, 0)).dtype.kind == "M"]
    found = found or [k for k, name in enumerate(dims) if str(name).lower() in ("date", "dates", "time", "times")]
    return found[0] if len(found) == 1 else 0


def _of_xarray(array: Any, absent: str) -> ImageStack:
    """Return an array of xarray with its dates first; each part is turned when it is read."""
    given = tuple(str(name) for name in array.dims)
    known = {name: array.coords[name].values for name in given if name in array.coords}
    first = _axis_of_dates(given, known)
    order = (given[first], *(name for name in given if name != given[first])) if len(given) == 3 else given

    def read(index: Any) -> NDArray:
        parts = index if isinstance(index, tuple) else (index,)
        part = array.isel(dict(zip(order, parts, strict=False)))
        if absent == "error":
            check_all(part, advice=FILL_NOT_WRITTEN)
        return np.asarray(part.transpose(*(name for name in order if name in part.dims)).values)

    lazy = _Lazy(tuple(array.sizes[name] for name in order), array.dtype, read)
    dates = known.get(order[0]) if order else None
    return ImageStack(lazy, dates, {"dims": order, **known}, array, beside=of_xarray(array))


class _Lazy:
    """An array behind a function that reads a part of it."""

    def __init__(self, shape: Any, dtype: Any, read: Any) -> None:
        self.shape, self.dtype, self._read = tuple(shape), np.dtype(dtype), read

    def __getitem__(self, index: Any) -> NDArray:
        return np.asarray(self._read(index))


class Source:
    """An array behind slices. A chunk of a zarr store that is absent, cut off or fails its checksum is named in an
    error; if a path is known, another process opens the array itself instead of receiving it."""

    def __init__(
        self, data: Any, path: str | os.PathLike[str] | None = None, variable: str | None = None, absent: str = "error"
    ) -> None:
        if absent not in ABSENT:
            raise InputError(f"absent must be one of {listed(ABSENT)}, but it is {absent!r}.")
        self._data = data
        self.path = None if path is None else os.path.abspath(path)
        self.variable, self.absent = variable, absent
        self.shape: tuple[int, ...] = tuple(data.shape)
        self.dtype = np.dtype(data.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ if self.path is None else {**self.__dict__, "_data": None}

    @property
    def data(self) -> Any:
        if self._data is None:
            assert self.path is not None
            self._data = read_images(self.path, self.variable).data
        return self._data

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        data = self.data
        place = tuple(slice(*part.indices(size)[:2]) for part, size in zip(index, self.shape, strict=True))
        if zarr_files.is_zarr(data):
            if self.absent == "error" and (found := zarr_files.gone(data, place)):
                raise refused(found, data, FILL_NOT_WRITTEN)
            return zarr_files.read(data, place)
        try:
            return data[index]
        except OSError as error:  # h5py and rasterio, if a part of the file is damaged
            if self.path is None:
                raise
            words = ", ".join(f"{part.start}:{part.stop}" for part in place)
            raise FileFormatError(
                f"[{words}] of {self.path} cannot be read: it is cut off or damaged ({error}). Restore it."
            ) from None


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
    return replace(_opened(path, variable), path=str(path))


def _opened(path: Path, variable: str | None) -> ImageStack:
    if not path.exists():
        raise FileFormatError(f"there is no {path}.")
    if path.suffix.lower() == ".npy":
        _check_one_array(path, variable)
        with reading(existing_file(path), "npy"):
            images = np.load(path, mmap_mode="r", allow_pickle=False)
        return _checked(ImageStack(images))
    if path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
        return _checked(_of_zarr(path, variable))
    if path.is_dir():
        _check_one_array(path, variable)
        return _checked(_of_geotiffs(path))
    if path.suffix.lower() in (".nc", ".nc4", ".h5", ".hdf5"):
        return _checked(_of_netcdf(path, variable))
    raise FileFormatError(
        f"{path} is not a stack of images: a zarr store, a NetCDF file (.nc), a folder of GeoTIFFs (.tif) or .npy is."
    )


def _check_one_array(path: Path, variable: str | None) -> None:
    if variable is not None:
        raise FileFormatError(f"{path} is one array: there is no {variable!r} in it. Leave out variable.")


def _one_of(found: list[str], variable: str | None, path: Path, groups: Sequence[str] = ()) -> str:
    """Return the array that is meant; ``groups`` are those of a zarr store, which are not searched."""
    inside = f" It has groups, {listed(sorted(groups))}: give the path of one, {path / min(groups)}." if groups else ""
    if variable is not None:
        if variable not in found:
            raise FileFormatError(f"{path}: there are no images in {variable!r}, but in {listed(found)}.{inside}")
        return variable
    if len(found) != 1:
        several = f"there are several, {listed(found)}: name one with variable"
        what = f"{several}." if found else f"there is none.{inside}"
        raise FileFormatError(f"{path}: one complex array of three axes (dates, rows, columns) is needed; {what}")
    return found[0]


def _of_zarr(path: Path, variable: str | None) -> ImageStack:
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("zarr", "insar", f"reading {path}") from None
    try:
        opened: Any = zarr.open(str(path), mode="r")
        inside = [] if isinstance(opened, zarr.Array) else sorted(opened.arrays())
    except Exception as error:  # whatever a damaged store makes the library raise
        raise FileFormatError(f"cannot open the zarr store {path} ({type(error).__name__}: {error}).") from None
    if isinstance(opened, zarr.Array):
        _check_one_array(path, variable)
        return _with_axes(opened, path, None)
    arrays: dict[str, Any] = {str(name): array for name, array in inside}
    images = [name for name, array in arrays.items() if len(array.shape) == 3 and array.dtype.kind == "c"]
    name = _one_of(images, variable, path, [str(name) for name, _ in opened.groups()])
    return _with_axes(arrays[name], path, name)


def _with_axes(array: Any, path: Path, variable: str | None) -> ImageStack:
    dims, beside = of_zarr(array, path)
    return _described(array, dims, beside, variable)


def _described(data: Any, dims: tuple[str, ...], beside: Coordinates, variable: str | None) -> ImageStack:
    """Return images with the values of their axes, times as such."""
    if not dims:
        return ImageStack(data, variable=variable)
    known = beside.decoded()
    coordinates = {"dims": dims, **{name: known[name].values for name in dims if name in known}}
    return ImageStack(data, coordinates.get(dims[0]), coordinates, variable=variable, beside=beside)


def _of_netcdf(path: Path, variable: str | None) -> ImageStack:
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError("h5py", "hdf5", f"reading {path}") from None
    try:
        opened = h5py.File(path, "r")
    except OSError as error:
        raise FileFormatError(f"{path} is no NetCDF-4 file ({error}).") from None
    images: dict[str, Any] = {}
    planes = {name: data for name, data in opened.items() if isinstance(data, h5py.Dataset) and data.ndim == 3}
    for name, data in planes.items():
        if data.dtype.kind == "c":
            images[name] = data
        elif name.endswith("real") and f"{name[:-4]}imag" in planes:
            images[name[:-4].rstrip("_") or "slc"] = _joined(data, planes[f"{name[:-4]}imag"])
    chosen = _one_of(list(images), variable, path)
    data = planes.get(chosen, planes.get(f"{chosen}_real", planes.get(f"{chosen}real", planes.get("real"))))
    assert data is not None
    dims, beside = of_group(path, data.name.strip("/")) or ((), Coordinates())
    return _described(images[chosen], dims, beside, chosen)


def _joined(real: Any, imaginary: Any) -> _Lazy:
    check_not_encoded(real)
    check_not_encoded(imaginary)
    kind = np.complex64 if real.dtype.itemsize == 4 else np.complex128

    def read(index: Any) -> NDArray:
        part = np.empty(real[index].shape, dtype=kind)
        part.real, part.imag = real[index], imaginary[index]
        return part

    return _Lazy(real.shape, kind, read)


def _of_geotiffs(folder: Path) -> ImageStack:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in (".tif", ".tiff"))
    if not files:
        raise FileFormatError(f"{folder} holds no GeoTIFFs (.tif, .tiff), and it is no zarr store. Check the path.")
    try:
        import rasterio
    except ImportError:
        raise MissingDependencyError("rasterio", "insar", f"reading the GeoTIFFs in {folder}") from None
    days = [re.search(r"(?<!\d)((?:19|20)\d{2})-?([01]\d)-?([0-3]\d)", file.stem) for file in files]
    undated = [file.name for file, day in zip(files, days, strict=True) if day is None]
    if undated:
        raise FileFormatError(f"{folder}: the name of {undated[0]} holds no date (such as 20200113).")
    named = sorted((("".join(day.groups()), file) for day, file in zip(days, files, strict=True) if day is not None))
    shape = transform = projection = None
    for _, file in named:
        with rasterio.open(file) as image:
            if not np.issubdtype(np.dtype(image.dtypes[0].replace("complex_int16", "complex64")), np.complexfloating):
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

    def read(index: Any) -> NDArray:
        rows, columns = (range(*part.indices(size)) for part, size in zip(index[1:], shape or (), strict=True))
        window = rasterio.windows.Window(columns.start, rows.start, len(columns), len(rows))
        part = np.empty((len(named), len(rows), len(columns)), dtype=np.complex64)
        for k, (_, file) in enumerate(named):
            with rasterio.open(file) as image:
                part[k] = image.read(1, window=window)
        return part[index[0]]

    assert shape is not None
    assert transform is not None
    coordinates: dict[str, Any] = {"dims": ("date", "y", "x")}
    dates = np.array([f"{day[:4]}-{day[4:6]}-{day[6:]}" for day, _ in named], dtype="datetime64[D]")
    if transform.b == 0 and transform.d == 0:
        coordinates["x"] = transform.c + transform.a * (np.arange(shape[1]) + 0.5)
        coordinates["y"] = transform.f + transform.e * (np.arange(shape[0]) + 0.5)
    coordinates["date"] = dates
    lazy = _Lazy((len(named), *shape), np.complex64, read)
    return ImageStack(lazy, dates, coordinates, beside=of_axes(coordinates))
