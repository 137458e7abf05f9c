"""Coordinates of an input on their way to its output, carried by xarray in the way of the CF conventions.

Those of a file stay encoded (times, packed numbers, fill values), so nothing is lost on the way. Large ones, such as
the latitude of every pixel, are read in parts by dask if it is installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import FileFormatError, InputError, MissingDependencyError

_NAMES_OTHERS = ("bounds", "climatology")  # attributes whose value is the name of another array
_MEANING = ("units", "calendar", "dtype", "scale_factor", "add_offset", "_FillValue", "missing_value", *_NAMES_OTHERS)
"""What is kept of an encoding; the rest says how one file holds an array."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates of one array."""

    dataset: Any = None
    """An ``xarray.Dataset`` without data variables, or None."""
    grid_mapping: str = ""
    """The name of the coordinate that describes the map projection, as CF has it."""

    @property
    def names(self) -> list[str]:
        return [] if self.dataset is None else [str(name) for name in self.dataset.variables]

    def attributes_for(self, dims: tuple[str, ...]) -> dict[str, Any]:
        """Return the attributes by which readers of CF files find the coordinates of an array along these axes."""
        beside = [name for name in self.names if name not in dims and set(self.dataset[name].dims) <= set(dims)]
        found = {"coordinates": " ".join(sorted(beside))} if beside else {}
        words = self.grid_mapping.split()
        if words and words[0].rstrip(":") in self.names:
            found["grid_mapping"] = self.grid_mapping
        return found

    def decoded(self) -> Mapping[Any, Any]:
        """Return all of them as xarray decodes what a store holds."""
        try:
            return {} if self.dataset is None else import_module("xarray").decode_cf(self.dataset).coords
        except ValueError as error:
            reason = str(error).partition("\n")[0]
            raise FileFormatError(f"a coordinate of the input cannot be decoded: {reason}. Mend its units.") from None


def of_axes(named: Mapping[str, Any]) -> Coordinates:
    """Return values by the names of their axes as coordinates."""
    given = {str(name): np.asarray(values) for name, values in named.items()}
    lines = {name: (name, values if values.dtype.kind in "biufM" else values.astype(str))
             for name, values in given.items() if values.ndim == 1}  # fmt: skip
    return Coordinates(_library().Dataset(coords=lines)) if lines else Coordinates()


def of_xarray(array: Any, without: str | None = None) -> Coordinates:
    """Return the coordinates of an array of xarray; none along the axis ``without``."""
    return _of(array, array.coords.to_dataset(), without)


def of_variable(opened: Any, name: str, without: str | None = None) -> Coordinates:
    """Return the same for an array in a file, with the arrays that its coordinates name."""
    array = opened[name]
    told = [one.encoding.get(key) or one.attrs.get(key) for one in array.coords.values() for key in _NAMES_OTHERS]
    beside = array.coords.to_dataset().assign_coords({key: opened[key] for key in told if key in opened.variables})
    return _of(array, beside, without)


def _of(array: Any, beside: Any, without: str | None) -> Coordinates:
    mapping = array.encoding.get("grid_mapping") or array.attrs.get("grid_mapping") or ""
    return Coordinates(_portable(beside, without), str(mapping))


def of_zarr(array: Any, path: Path, *, without_last: bool = False) -> tuple[tuple[str, ...], Coordinates]:
    """Return the names of the axes of an array of zarr that was opened from a path, and its coordinates.

    There are no names if its store has none. ``without_last``: no coordinates along its last axis.
    """
    name = array.basename
    group = path / Path(str(array.path)).parent if name else path.resolve().parent
    if any((group / mark).is_file() for mark in ("zarr.json", ".zgroup")):
        try:
            opened = open_encoded(group)
            dims = tuple(str(dim) for dim in opened[name or path.resolve().name].dims)
            if len(set(dims)) == len(dims):
                return dims, of_variable(opened, name or path.resolve().name, dims[-1] if without_last else None)
        except InputError:
            raise
        except Exception:  # xarray has many for arrays that do not fit together
            pass
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    return tuple(map(str, names)) if len(names) == len(array.shape) and None not in names else (), Coordinates()


def open_encoded(path: Path) -> Any:
    """Open a zarr group or a NetCDF file, its values as they are stored."""
    how: dict[str, Any] = {"decode_times": False, "mask_and_scale": False, "decode_coords": "all"}
    how["chunks"] = {} if find_spec("dask") else None
    xarray = _library()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.is_dir():
            return xarray.open_zarr(str(path), consolidated=False, **how)
        return xarray.open_dataset(path, engine="netcdf4", auto_complex=True, **how)


def _portable(given: Any, without: str | None) -> Any:
    """Return what any store can hold, without what the old store says of how it holds it."""
    kept = {}
    for name, one in given.variables.items():
        text = one.dtype.kind in "OTSU"
        if "/" in str(name):
            raise InputError(f"a coordinate is called {str(name)!r}, which no store can hold. Give it another name.")
        if without in one.dims or (text and not all(isinstance(x, (str, bytes)) for x in one.values.flat)):
            continue  # such as the tuples of an index of several levels; the levels are kept
        kept[str(name)] = one.astype(object) if text else one.copy(deep=False)
    for one in kept.values():
        one.encoding = {key: value for key, value in one.encoding.items() if key in _MEANING}
        for told in (one.encoding, one.attrs):
            for key in [key for key in _NAMES_OTHERS if key in told and told[key] not in kept]:
                del told[key]
    return _library().Dataset(
        coords={name: (one.dims, one.data, one.attrs, one.encoding) for name, one in kept.items()}
    )


def _library() -> Any:
    try:
        return import_module("xarray")
    except ImportError:
        raise MissingDependencyError("xarray", "stack", "coordinates of an output") from None
