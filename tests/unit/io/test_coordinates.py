"""Coordinates as a store has them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from coordinates import assert_same_coordinates, opened, store, with_coordinates

from angsync.errors import InputError
from angsync.io import coordinates as module
from angsync.io.chunked import arrays
from angsync.io.chunked import coordinates as chunked
from angsync.io.chunked.grid import Field, Grid

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
FORMATS = [2] if zarr.__version__.startswith("2.") else [2, 3]


def written(path: Path, beside: module.Coordinates, dims: tuple[str, ...], shape: tuple[int, ...]) -> Path:
    field = Field(shape, "<f4", (0, 1, 2), dims, np.nan, beside.attributes_for(dims))
    arrays.create(path, {"phase": field}, Grid(shape, shape), {})
    chunked.write(path, beside.arrays)
    arrays.consolidate(path)
    return path


@pytest.mark.parametrize("version", FORMATS)
def test_a_group_gives_all_its_coordinates_and_xarray_finds_them_again(tmp_path, version):
    given = with_coordinates(np.ones((4, 6, 5)), ("time", "y", "x"))
    store(given, tmp_path / "in.zarr", **({} if len(FORMATS) == 1 else {"zarr_format": version}))
    array = zarr.open_group(str(tmp_path / "in.zarr"), mode="r")["slc"]
    dims, beside = module.of_zarr(array, tmp_path / "in.zarr")
    assert dims == ("time", "y", "x")
    out = opened(written(tmp_path / "out.zarr", beside, dims, (4, 6, 5)))
    assert_same_coordinates(out, given)
    assert out.phase.attrs["grid_mapping"] == "spatial_ref"
    # by the path of the array itself
    alone = zarr.open(str(tmp_path / "in.zarr" / "slc"), mode="r")
    same, others = module.of_zarr(alone, tmp_path / "in.zarr" / "slc")
    assert (same, sorted(others.arrays)) == (dims, sorted(beside.arrays))
    # what lies along the last axis is not kept, as that axis is not
    _, fewer = module.of_zarr(array, tmp_path / "in.zarr", without_last=True)
    assert {*beside.arrays} - {*fewer.arrays} == {"x", "lat"}


def test_an_array_of_xarray_gives_the_same(tmp_path):
    given = with_coordinates(np.ones((4, 6, 5)), ("time", "y", "x")).assign_coords(
        gap=("time", np.array(["2020-01-01T00:00:00.25", "NaT", "2020-01-02", "2020-01-03"], "M8[ns]")),
        height=(("y", "x"), np.where(np.eye(6, 5) > 0, np.nan, 7.0)),
        ascending=True,
    )
    beside = module.of_xarray(given)
    assert_same_coordinates(opened(written(tmp_path / "out.zarr", beside, given.dims, (4, 6, 5))), given)
    decoded = xarray.Dataset(coords=beside.decoded())
    assert_same_coordinates(decoded, given)
    with pytest.raises(InputError, match="which no store can hold"):
        module.of_xarray(given.assign_coords({"a/b": 1}))
    stacked = given.stack(pixel=("y", "x"))
    assert "pixel" not in module.of_xarray(stacked).arrays
    assert module.of_xarray(stacked).arrays["y"].dims == ("pixel",)


def test_bounds_fill_values_and_packed_numbers_come_along(tmp_path):
    given = xarray.Dataset(
        {"slc": (("time", "y", "x"), np.ones((2, 3, 4)))},
        {"time": [0, 6], "depth": ("y", [0.5, np.nan, 2.5]), "time_bnds": (("time", "nv"), [[0, 6], [6, 12]])},
    )
    given.time.attrs.update(units="days since 2020-01-01 06:00:00", bounds="time_bnds")
    given.depth.encoding.update(dtype="int16", scale_factor=0.5, _FillValue=-99)
    given.to_zarr(tmp_path / "in.zarr")
    array = zarr.open_group(str(tmp_path / "in.zarr"), mode="r")["slc"]
    dims, beside = module.of_zarr(array, tmp_path / "in.zarr")
    assert beside.arrays["depth"].values.dtype == np.int16
    written(tmp_path / "out.zarr", beside, dims, (2, 3, 4))
    out = opened(tmp_path / "out.zarr")
    np.testing.assert_array_equal(out.depth, [0.5, np.nan, 2.5])
    assert str(out.time.values[1])[:16] == "2020-01-07T06:00"
    assert "time_bnds" in out.variables
    given = xarray.DataArray(np.ones(2), {"time": ("time", [0, 6], {"bounds": "gone"})}, ["time"])
    assert "bounds" not in module.of_xarray(given).arrays["time"].attributes


def test_large_ones_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SLAB_BYTES", 200)
    values = np.arange(120.0).reshape(15, 8)
    slabs = [part.shape for _, part in module.Coordinate(("y", "x"), values, {}).slabs()]
    assert slabs == [(3, 8)] * 5
    arrays.create(tmp_path / "out.zarr", {}, Grid((1,), (1,)), {})
    told = chunked.write(tmp_path / "out.zarr", {"lat": module.Coordinate(("y", "x"), values, {})})
    found = arrays.open_arrays(tmp_path / "out.zarr", ["lat"])["lat"]
    assert tuple(found.chunks) == (3, 8)
    np.testing.assert_array_equal(found[...], values)
    monkeypatch.setattr(module, "_SLAB_BYTES", 1 << 20)  # the checksum is of the whole
    assert chunked.check(tmp_path / "out.zarr", told) == {}


def test_without_xarray_the_axes_keep_their_numbers(tmp_path, monkeypatch):
    given = with_coordinates(np.ones((4, 6, 5)), ("time", "y", "x"))
    store(given, tmp_path / "in.zarr")
    array = zarr.open_group(str(tmp_path / "in.zarr"), mode="r")["slc"]
    monkeypatch.setitem(sys.modules, "xarray", None)
    dims, beside = module.of_zarr(array, tmp_path / "in.zarr")
    assert (dims, sorted(beside.arrays)) == (("time", "y", "x"), ["time", "x", "y"])
    assert beside.arrays["y"].attributes["units"] == "m"
