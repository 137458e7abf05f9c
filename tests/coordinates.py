"""Stacks of xarray with every kind of coordinate that people have, and a comparison that overlooks nothing."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def with_coordinates(values: np.ndarray, dims: tuple[str, ...]) -> Any:
    """A DataArray (time, y, x, ...): noon of each date, projected axes, 2-D latitude, projection, orbit, delays."""
    xarray = pytest.importorskip("xarray")
    sizes = dict(zip(dims, values.shape, strict=True))
    n, rows, columns = sizes["time"], sizes["y"], sizes["x"]
    days = np.datetime64("2020-01-01T12:00", "ns") + 12 * np.arange(n) * np.timedelta64(1, "D")
    latitude = 60 - np.arange(rows * columns).reshape(rows, columns) / 997
    return xarray.DataArray(
        values,
        {
            "time": ("time", days, {"standard_name": "time"}),
            "y": ("y", 10.0 * np.arange(rows), {"units": "m", "standard_name": "projection_y_coordinate"}),
            "x": ("x", 4.5 * np.arange(columns), {"units": "m"}),
            "lat": (("y", "x"), latitude, {"units": "degrees_north"}),
            "spatial_ref": ((), 0, {"crs_wkt": 'PROJCS["UTM 33N"]', "false_easting": 500000.0}),
            "orbit": ("time", np.array([f"orbit {'é' * k}" for k in range(n)])),
            "delay": ("time", (np.arange(n) * np.timedelta64(90, "m")).astype("m8[ns]")),
            "acquired": ("time", days + np.timedelta64(250, "ms")),
        },
        dims,
        "slc",
        {"grid_mapping": "spatial_ref", "units": "1"},
    )


def store(array: Any, path: Path, **how: Any) -> None:
    """As xarray writes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about text in format 3
        array.to_dataset(name=array.name or "C").to_zarr(path, mode="w", **how)


def opened(path: Path) -> Any:
    """As anybody opens it: without options, and without a warning."""
    xarray = pytest.importorskip("xarray")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=FutureWarning)  # of xarray, about timedelta
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", "The codec `vlen-utf8`")  # of zarr 3.1.0
        return xarray.open_zarr(str(path))


def assert_same_coordinates(found: Any, given: Any, but: tuple[str, ...] = ()) -> None:
    wanted = {str(name) for name in given.coords} - {*but}
    assert {str(name) for name in found.coords} == wanted
    for name in wanted:
        a, b = found.coords[name].load(), given.coords[name].load()
        assert a.dims == b.dims, name
        np.testing.assert_array_equal(a.values.astype(b.dtype), b.values, err_msg=name)
        assert a.attrs == b.attrs, name
