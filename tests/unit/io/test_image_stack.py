"""Stacks of images: arrays, zarr, NetCDF, GeoTIFFs, npy: the same phases from each, coordinates kept, bad ones told."""

from __future__ import annotations

import pickle
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.errors import AngsyncWarning, FileFormatError, InputError, MissingDependencyError
from angsync.io.image_stack import image_stack, read_images

DAYS = np.datetime64("2020-01-06") + 12 * np.arange(5)


@pytest.fixture(scope="module")
def slc():
    return phase_linking.simulate(5, (14, 17), gamma_inf=0.6, rng=8).slc


@pytest.fixture(scope="module")
def expected(slc):
    return phase_linking.link(slc, 5).phase


def data_array(slc):
    xarray = pytest.importorskip("xarray")
    coords = {"time": DAYS, "y": np.arange(14) * 10.0, "x": np.arange(17) + 0.5, "height": ("y", np.arange(14.0))}
    return xarray.DataArray(slc, coords, ("time", "y", "x"))


def test_xarray_comes_back_as_xarray_with_its_coordinates(slc, expected):
    given = data_array(slc)
    linked = phase_linking.link(given, 5, reference="20200118")
    assert linked.dates[1] == "20200118"
    assert linked.phase.dims == ("time", "y", "x")
    assert linked.certified.dims == linked.status.dims == ("y", "x")
    for name in ("time", "y", "x", "height"):
        np.testing.assert_array_equal(linked.phase[name], given[name])
    np.testing.assert_array_equal(linked.temporal_coherence["height"], given["height"])
    np.testing.assert_allclose(np.exp(1j * linked.phase), np.exp(1j * (expected - expected[1])), atol=1e-6)
    dataset = linked.to_xarray()
    assert set(dataset.data_vars) >= {"phase", "standard_error", "temporal_coherence", "certified", "status"}
    np.testing.assert_array_equal(dataset["time"], given["time"])
    with pytest.raises(InputError, match="in order"):
        phase_linking.link(given[::-1], 5)
    with pytest.raises(InputError, match="several variables"):
        phase_linking.link(given.to_dataset(name="slc"), 5)


def test_zarr_is_read_in_parts_and_written_in_chunks(slc, expected, tmp_path):
    zarr = pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    store = tmp_path / "slc.zarr"
    data_array(slc).drop_vars("height").to_dataset(name="slc").to_zarr(store, consolidated=False)
    out = tmp_path / "phase.zarr"
    linked = phase_linking.link(store, 5, output=out, chunk=6)
    assert isinstance(linked.phase, zarr.Array)
    np.testing.assert_array_equal(linked.phase[...], expected)
    assert linked.dates[2] == "20200130"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["phase.zarr", "slc.zarr"]
    opened = xarray.open_zarr(out, consolidated=False)
    np.testing.assert_array_equal(opened["phase"], expected)
    np.testing.assert_array_equal(opened["y"], np.arange(14) * 10.0)
    np.testing.assert_array_equal(opened["time"], data_array(slc)["time"])
    assert opened["phase"].dims == ("time", "y", "x")
    assert str(linked)
    how = {"mode": "w", "shape": slc.shape, "dtype": slc.dtype}
    plain = zarr.open_array(str(tmp_path / "plain.zarr"), chunks=(5, 4, 4), **how)
    plain[...] = slc
    for given in (plain, tmp_path / "plain.zarr"):
        np.testing.assert_array_equal(phase_linking.link(given, 5, chunk=4).phase, expected)
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    for name in ("a", "b"):
        zarr.open_array(str(tmp_path / "group.zarr"), path=name, chunks=slc.shape, **how)[...] = slc
    with pytest.raises(FileFormatError, match="holds 'a', 'b': name one"):
        read_images(tmp_path / "group.zarr")
    np.testing.assert_array_equal(read_images(tmp_path / "group.zarr", "b").data[...], slc)
    with pytest.raises(FileFormatError, match="called 'c' is needed"):
        read_images(tmp_path / "group.zarr", "c")


def test_netcdf_is_read_from_two_planes_and_written(slc, expected, tmp_path):
    pytest.importorskip("netCDF4")
    xarray = pytest.importorskip("xarray")
    given = data_array(slc)
    path, out = tmp_path / "slc.nc", tmp_path / "phase.nc"
    xarray.Dataset({"slc_real": given.real, "slc_imag": given.imag}).to_netcdf(path, engine="netcdf4")
    linked = phase_linking.link(path, 5, output=out, chunk=6, reference="20200106")
    np.testing.assert_array_equal(linked.phase[...], expected)
    assert linked.dates[4] == "20200223"
    with xarray.open_dataset(out) as opened:
        np.testing.assert_array_equal(opened["phase"], expected)
        np.testing.assert_array_equal(opened["time"], given["time"])
        assert (opened["certified"] == 1).all()
    again = tmp_path / "again.nc"
    phase_linking.link(slc, 5).save(again)
    with xarray.open_dataset(again) as opened:
        np.testing.assert_array_equal(opened["phase"], expected)
    (tmp_path / "broken.nc").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="no NetCDF-4 file"):
        read_images(tmp_path / "broken.nc")
    given.real.to_dataset(name="amplitude").to_netcdf(tmp_path / "real.nc", engine="netcdf4")
    with pytest.raises(FileFormatError, match="there is none"):
        read_images(tmp_path / "real.nc")


def test_a_folder_of_geotiffs(slc, expected, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    place = rasterio.transform.from_origin(500, 900, 10, 20)

    def write(name, image):
        kind = {"driver": "GTiff", "height": image.shape[0], "width": image.shape[1], "count": 1, "dtype": image.dtype}
        with rasterio.open(tmp_path / name, "w", transform=place, crs="EPSG:32633", **kind) as file:
            file.write(image, 1)

    for day, image in list(zip(DAYS, slc, strict=True))[::-1]:
        write(f"S1_{str(day).replace('-', '')}.tif", image)
    with pytest.warns(AngsyncWarning, match="the projection of the GeoTIFFs, EPSG:32633, is not kept"):
        images = read_images(tmp_path)
    np.testing.assert_array_equal(images.coordinates["x"], 505 + 10 * np.arange(17))
    linked = phase_linking.link(images, 5, chunk=6)
    np.testing.assert_array_equal(linked.phase, expected)
    assert linked.dates[1] == "20200118"
    write("S1_20210101.tif", slc[0, :5])
    with pytest.raises(FileFormatError, match="but the images before it are"):
        read_images(tmp_path)
    write("S1_20210101.tif", slc[0].real)
    with pytest.raises(FileFormatError, match="not complex"):
        read_images(tmp_path)
    write("undated.tif", slc[0])
    with pytest.raises(FileFormatError, match=r"undated\.tif holds no date"):
        read_images(tmp_path)


def test_a_projection_that_is_lost_is_warned_of(tmp_path, monkeypatch):
    """With a stand-in for rasterio, which need not be installed."""
    place = SimpleNamespace(a=10.0, b=0.0, c=500.0, d=0.0, e=-20.0, f=900.0)

    def opened(file):
        crs = "EPSG:32615" if "projected" in str(file) else None
        return nullcontext(SimpleNamespace(dtypes=["complex64"], shape=(4, 4), transform=place, crs=crs))

    monkeypatch.setitem(sys.modules, "rasterio", SimpleNamespace(open=opened))
    for folder in ("projected", "plain"):
        (tmp_path / folder).mkdir()
        for day in DAYS[:2]:
            (tmp_path / folder / f"{day}.tif").touch()
    with pytest.warns(AngsyncWarning, match="the projection of the GeoTIFFs, EPSG:32615, is not kept"):
        read_images(tmp_path / "projected")
    read_images(tmp_path / "plain")


def test_npy_is_a_memory_map_and_other_paths_are_told(slc, expected, tmp_path):
    np.save(tmp_path / "slc.npy", slc)
    assert len(pickle.dumps(read_images(tmp_path / "slc.npy"))) < slc.nbytes / 2
    np.testing.assert_array_equal(phase_linking.link(tmp_path / "slc.npy", 5).phase, expected)
    with pytest.raises(FileFormatError, match="there is no"):
        read_images(tmp_path / "gone.npy")
    (tmp_path / "stack.txt").write_text("1")
    with pytest.raises(FileFormatError, match="is not a stack of images"):
        read_images(tmp_path / "stack.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises((FileFormatError, MissingDependencyError), match="GeoTIFFs"):
        read_images(tmp_path / "empty")


def test_masked_arrays_and_datasets_of_hdf5(slc, expected, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "slc.h5", "w") as file:
        file["slc"] = slc
        np.testing.assert_array_equal(phase_linking.link(file["slc"], 5, chunk=9).phase, expected)
    np.testing.assert_array_equal(phase_linking.link(tmp_path / "slc.h5", 5).phase, expected)
    hidden = np.ma.array(slc, mask=np.zeros(slc.shape, dtype=bool))
    hidden[:, :4] = np.ma.masked
    linked = phase_linking.link(hidden, 5)
    assert np.isnan(linked.phase[:, :4]).all()
    assert linked.certified[4:].all()
    assert image_stack(slc).data is slc
