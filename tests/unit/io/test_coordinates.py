"""Coordinates that travel from an input to a store that is written chunk by chunk."""

from __future__ import annotations

import numpy as np
import pytest
from coordinates import assert_same_coordinates, opened, store, with_coordinates

from angsync.errors import FileFormatError, InputError
from angsync.io import coordinates as module
from angsync.io.chunks import Computed, Field, Grid, Work, carry_out
from angsync.io.image_stack import read_images

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")


class Ones:
    def __call__(self, chunk):
        return Computed({"phase": np.ones([part.stop - part.start for part in chunk.box])}, {})

    def stamp(self, chunk):
        return ""


def written(folder, beside, dims, shape):
    """A store with a field along these axes, as another program opens it."""
    field = Field(shape, "<f4", tuple(range(len(shape))), dims, np.nan, beside.attributes_for(dims))
    work = Work("a test", Grid(shape, shape), {"phase": field}, Ones(), {}, beside.dataset)
    assert carry_out(work, folder / "out.zarr").missing == []
    return opened(folder / "out.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_a_group_gives_all_its_coordinates_and_xarray_finds_them_again(tmp_path, version):
    given = with_coordinates(np.ones((4, 6, 5)), ("time", "y", "x"))
    store(given, tmp_path / "in.zarr", zarr_format=version)
    array = zarr.open_group(str(tmp_path / "in.zarr"), mode="r")["slc"]
    dims, beside = module.of_zarr(array, tmp_path / "in.zarr")
    assert dims == ("time", "y", "x")
    out = written(tmp_path, beside, dims, (4, 6, 5))
    assert_same_coordinates(out, given)
    assert out.phase.attrs["grid_mapping"] == "spatial_ref"
    alone = zarr.open(str(tmp_path / "in.zarr" / "slc"), mode="r")  # by the path of the array itself
    same, others = module.of_zarr(alone, tmp_path / "in.zarr" / "slc")
    assert (same, sorted(others.names)) == (dims, sorted(beside.names))
    # what lies along the last axis is not kept, as that axis is not
    _, fewer = module.of_zarr(array, tmp_path / "in.zarr", without_last=True)
    assert {*beside.names} - {*fewer.names} == {"x", "lat"}


def test_an_array_of_xarray_gives_the_same(tmp_path):
    given = with_coordinates(np.ones((4, 6, 5)), ("time", "y", "x")).assign_coords(
        gap=("time", np.array(["2020-01-01T00:00:00.25", "NaT", "2020-01-02", "2020-01-03"], "M8[ns]")),
        height=(("y", "x"), np.where(np.eye(6, 5) > 0, np.nan, 7.0)),
        ascending=True,
    )
    beside = module.of_xarray(given)
    assert_same_coordinates(written(tmp_path, beside, given.dims, (4, 6, 5)), given)
    assert_same_coordinates(xarray.Dataset(coords=beside.decoded()), given)
    with pytest.raises(InputError, match="which no store can hold"):
        module.of_xarray(given.assign_coords({"a/b": 1}))
    stacked = given.stack(pixel=("y", "x"))
    assert "pixel" not in module.of_xarray(stacked).names
    assert module.of_xarray(stacked).dataset["y"].dims == ("pixel",)


def test_bounds_fill_values_and_packed_numbers_come_along(tmp_path):
    given = xarray.Dataset(
        {"slc": (("time", "y", "x"), np.ones((2, 3, 4)))},
        {"time": [0, 6], "depth": ("y", [0.5, np.nan, 2.5]), "time_bnds": (("time", "nv"), [[0, 6], [6, 12]])},
    )
    given.time.attrs.update(units="days since 2020-01-01 06:00:00", bounds="time_bnds")
    given.depth.encoding.update(dtype="int16", scale_factor=0.5, _FillValue=-99)
    given.to_zarr(tmp_path / "in.zarr", consolidated=False)
    array = zarr.open_group(str(tmp_path / "in.zarr"), mode="r")["slc"]
    dims, beside = module.of_zarr(array, tmp_path / "in.zarr")
    assert beside.dataset["depth"].dtype == np.int16
    out = written(tmp_path, beside, dims, (2, 3, 4))
    np.testing.assert_array_equal(out.depth, [0.5, np.nan, 2.5])
    assert str(out.time.values[1])[:16] == "2020-01-07T06:00"
    assert "time_bnds" in out.variables
    given = xarray.DataArray(np.ones(2), {"time": ("time", [0, 6], {"bounds": "gone"})}, ["time"])
    assert "bounds" not in module.of_xarray(given).dataset["time"].attrs


def test_an_array_without_names_has_no_coordinates(tmp_path):
    array = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=(3, 4), dtype="f8")
    dims, beside = module.of_zarr(array, tmp_path / "C.zarr")
    assert (dims, beside.names, beside.attributes_for(("y", "x"))) == ((), [], {})


def test_times_that_cannot_be_decoded_are_told(tmp_path):
    dates = xarray.DataArray(np.arange(3), dims="time", attrs={"units": "parsecs since yesterday"})
    images = xarray.DataArray(np.ones((3, 4, 4), np.complex64), {"time": dates}, ("time", "y", "x"))
    images.to_dataset(name="slc").to_zarr(str(tmp_path / "slc.zarr"), consolidated=False)
    with pytest.raises(FileFormatError, match="parsecs"):
        read_images(tmp_path / "slc.zarr")
