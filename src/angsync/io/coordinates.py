"""Coordinates of an input on their way to its output: as a store has them, with the attributes that say what they mean.

Times, packed numbers and fill values stay encoded in the way of the CF conventions, so that nothing is lost on the way:
whoever opens the output decodes what whoever made the input encoded. Coordinates of any number of axes, some as large
as an image (latitude, longitude), are read in parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError

_SLAB_BYTES = 1 << 25  # of a coordinate that is in memory at a time; at least one row of it
_OF_FILES = ("_ARRAY_DIMENSIONS", "coordinates", "grid_mapping", "DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")
"""Attributes that say how a file holds an array, or that are written anew."""
_NAMES_OTHERS = ("bounds", "climatology")  # attributes whose value is the name of another array


class Coordinate(NamedTuple):
    """One coordinate: the names of its axes, numbers or text behind slices, and its attributes."""

    dims: tuple[str, ...]
    values: Any
    attributes: Mapping[str, Any]

    def slabs(self) -> Iterator[tuple[tuple[slice, ...], NDArray]]:
        """All of it in parts along the first axis, which give the whole in C order; text as NumPy's own."""
        rows = rows_of(self.values)
        if rows is None:
            yield (), _plain(self.values[()])
            return
        for first in range(0, self.values.shape[0], rows):
            place = (slice(first, min(first + rows, self.values.shape[0])),)
            yield place, _plain(self.values[place])


def rows_of(values: Any) -> int | None:
    """Of one slab; None where there is no axis."""
    if not values.shape:
        return None
    row = prod(values.shape[1:]) * np.dtype(values.dtype).itemsize
    return max(1, min(values.shape[0], _SLAB_BYTES // max(1, row)))


def _plain(values: Any) -> NDArray:
    values = np.asarray(values)
    if values.dtype.kind not in "OTS":
        return values
    text = [x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x) for x in values.ravel().tolist()]
    return np.array(text, dtype=str).reshape(values.shape)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Those of one array, by their names."""

    arrays: Mapping[str, Coordinate] = field(default_factory=dict)
    grid_mapping: str = ""
    """What CF has of the map projection of an array: the name of the coordinate that describes it."""

    def attributes_for(self, dims: tuple[str, ...]) -> dict[str, Any]:
        """What an array along these axes says of its coordinates, so that readers of CF files find them."""
        beside = [name for name, told in self.arrays.items() if set(told.dims) <= set(dims) and name not in dims]
        found: dict[str, Any] = {}
        if beside:
            found["coordinates"] = " ".join(sorted(beside))
        words = [word.rstrip(":") for word in self.grid_mapping.split()]
        if words and words[0] in self.arrays:
            found["grid_mapping"] = self.grid_mapping
        return found

    def decoded(self) -> Mapping[Any, Any]:
        """All of them in memory, as xarray decodes what a store holds."""
        xarray = import_module("xarray")
        whole = {
            name: (told.dims, np.concatenate([part for _, part in told.slabs()]) if told.dims else told.values[()],
                   dict(told.attributes))
            for name, told in self.arrays.items()
        }  # fmt: skip
        return xarray.decode_cf(xarray.Dataset(coords=whole)).coords


def of_axes(named: Mapping[str, Any]) -> Coordinates:
    """Of values by the names of their axes, ``{"dims": names, "y": values, ...}``: numbers, times or names."""
    found = {}
    for name in named.get("dims", ()):
        values = np.asarray(named[name]) if name in named else np.empty((0, 0))
        if values.ndim == 1:
            found[str(name)] = _of_values((str(name),), values)
    return Coordinates(found)


def _of_values(dims: tuple[str, ...], values: NDArray) -> Coordinate:
    if values.dtype.kind != "M":
        return Coordinate(dims, values if values.dtype.kind in "biuf" else values.astype(str), {})
    unit, step = ("seconds", "s") if _whole_seconds(values) else ("nanoseconds", "ns")
    numbers = values.astype(f"datetime64[{step}]").astype(np.int64)
    return Coordinate(dims, numbers, {"units": f"{unit} since 1970-01-01", "calendar": "proleptic_gregorian"})


def _whole_seconds(values: NDArray) -> bool:
    return bool(np.all((values.astype("datetime64[s]") == values) | np.isnat(values)))


def of_xarray(array: Any, without: str | None = None) -> Coordinates:
    """Of an array of xarray, encoded as xarray would write them; none along the axis ``without``."""
    return _checked(_encoded_all(array.coords, without), array)


def of_group(path: Path, name: str, *, without_last: bool = False) -> tuple[tuple[str, ...], Coordinates] | None:
    """The names of the axes and the coordinates of an array in a zarr group, or in a NetCDF file; None where xarray is
    not there or makes nothing of it. ``without_last``: no coordinates along its last axis."""
    how: dict[str, Any] = {"decode_times": False, "mask_and_scale": False, "decode_coords": "all"}
    try:
        xarray = import_module("xarray")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if path.is_dir():
                opened = xarray.open_zarr(str(path), chunks=None, consolidated=False, **how)
            else:
                opened = xarray.open_dataset(path, **how)
            array = opened[name]
    except Exception:  # whatever xarray says to arrays that do not fit together
        return None
    dims = tuple(str(dim) for dim in array.dims)
    if len(set(dims)) < len(dims):
        return None
    found = _encoded_all(array.coords, dims[-1] if without_last else None)
    named = {str(told.attributes[key]) for told in found.values() for key in _NAMES_OTHERS if key in told.attributes}
    found |= _encoded_all({name: opened[name] for name in named - {*found} if name in opened.variables}, None)
    return dims, _checked(found, array)


def _encoded_all(given: Mapping[Any, Any], without: str | None) -> dict[str, Coordinate]:
    found = {}
    for name, array in given.items():
        if without is not None and without in array.dims:
            continue
        if "/" in str(name):
            raise InputError(f"a coordinate is called {str(name)!r}, which no store can hold. Give it another name.")
        told = _encoded(str(name), array)
        if told is not None:
            found[str(name)] = told
    return found


def _encoded(name: str, array: Any) -> Coordinate | None:
    """None for what no store holds, such as the tuples of an index of several levels (the levels are kept)."""
    dims = tuple(str(dim) for dim in array.dims)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoded = import_module("xarray.conventions").encode_cf_variable(array.variable, name=name)
    except NotImplementedError:
        return None
    attributes = {str(key): _json(value) for key, value in encoded.attrs.items() if key not in _OF_FILES}
    attributes |= {key: str(array.encoding[key]) for key in _NAMES_OTHERS if key in array.encoding}
    if encoded.dtype.kind in "OTUS":
        text = np.asarray(encoded.values)
        if not all(isinstance(x, (str, bytes)) for x in text.ravel().tolist()):
            return None
        attributes.pop("_FillValue", None)
        return Coordinate(dims, _plain(text), attributes)
    return Coordinate(dims, _Parts(encoded), attributes) if encoded.dtype.kind in "biuf" else None


class _Parts:
    """A variable of xarray behind slices."""

    def __init__(self, variable: Any) -> None:
        self._variable, self.shape, self.dtype = variable, tuple(variable.shape), np.dtype(variable.dtype)

    def __getitem__(self, index: Any) -> NDArray:
        return np.asarray(self._variable[index].values)


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist() if np.asarray(value).dtype.kind in "biufU" else str(value)
    return value if isinstance(value, (str, int, float, bool, list, tuple, dict, type(None))) else str(value)


def _checked(found: dict[str, Coordinate], array: Any) -> Coordinates:
    """Without the names of others that are not there."""
    whole = {}
    for name, told in found.items():
        lost = [key for key in _NAMES_OTHERS if key in told.attributes and told.attributes[key] not in found]
        whole[name] = told._replace(attributes={k: v for k, v in told.attributes.items() if k not in lost})
    mapping = array.encoding.get("grid_mapping") or array.attrs.get("grid_mapping") or ""
    return Coordinates(whole, str(mapping))


def of_zarr(array: Any, path: Path, *, without_last: bool = False) -> tuple[tuple[str, ...], Coordinates]:
    """The names of the axes of an array of zarr that was opened from a path, the array's own or that of its group, and
    its coordinates; no names where it has none."""
    name = str(array.path).rpartition("/")[2]
    group = path / Path(str(array.path)).parent if name else path.resolve().parent
    name = name or path.resolve().name
    if any((group / mark).is_file() for mark in ("zarr.json", ".zgroup")):
        found = of_group(group, name, without_last=without_last)
        return _plainly(array, group, without_last) if found is None else found
    return dims_of(array), Coordinates()


def _plainly(array: Any, group: Path, without_last: bool) -> tuple[tuple[str, ...], Coordinates]:
    """Without xarray: the arrays of a group that are called as an axis is, where all axes have names."""
    dims = dims_of(array)
    if len(set(dims)) < len(dims):
        return dims, Coordinates()
    inside = dict(import_module("zarr").open_group(str(group), mode="r").arrays())
    found = {}
    for name in dims[:-1] if without_last else dims:
        if name in inside and len(inside[name].shape) == 1:
            given = inside[name]
            told = {key: _json(given.attrs[key]) for key in given.attrs if key not in (*_OF_FILES, "_FillValue")}
            found[name] = Coordinate((name,), _plain(given[...]), told)
    return dims, Coordinates(found)


def dims_of(array: Any) -> tuple[str, ...]:
    """The names of the axes of an array of zarr, as its metadata have them; empty where they do not."""
    try:
        names = array.metadata.dimension_names  # zarr 3; before, xarray has them among the attributes
    except AttributeError:
        names = None
    names = names or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    return tuple(map(str, names)) if len(names) == len(array.shape) and None not in names else ()
