"""What ``angsync link`` and ``angsync solve STORE`` write, opened as people open it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import call, refused
from coordinates import assert_same_coordinates, opened, store, with_coordinates
from problems import gaussian_stack

import angsync as ang
from angsync.applications import phase_linking

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")


@pytest.fixture
def slc():
    images = phase_linking.simulate(4, (12, 10), gamma_inf=0.6).slc.astype(np.complex64)
    given = with_coordinates(images, ("time", "y", "x"))
    store(given, Path("slc.zarr"))
    return given


@pytest.fixture
def stack():
    values = gaussian_stack(3, 24, 0.2, dtype=np.complex64).reshape(4, 3, 2, 3, 3)
    given = with_coordinates(values, ("time", "y", "x", "i", "j")).assign_coords(
        i=list("abc"), j=list("abc"), both=(("i", "j"), np.eye(3)), gain=("i", [1.0, 2.0, 3.0], {"units": "dB"})
    )
    given.name = "C"
    given.encoding["chunks"] = (1, 3, 2, 3, 3)
    store(given, Path("C.zarr"))
    return given


def test_link_keeps_coordinates_and_says_what_made_it(slc):
    assert call("link", "slc.zarr", "--out", "out.zarr", "--window", "5").code == 0
    found = opened(Path("out.zarr"))
    assert_same_coordinates(found, slc)
    assert found.time.values[1] == np.datetime64("2020-01-13T12:00")
    assert (found.phase.attrs["grid_mapping"], found.phase.attrs["units"]) == ("spatial_ref", "radian")
    assert found.status.dtype == np.int8
    assert found.certified.dtype == bool
    assert found.certified.values.all()
    meanings = dict(zip(found.status.attrs["flag_values"], found.status.attrs["flag_meanings"].split(), strict=True))
    assert {meanings[code] for code in found.status.values.ravel()} == {"CONVERGED"}
    assert found.attrs["angsync_version"] == ang.__version__
    settings = json.loads(found.attrs["settings"])
    assert (settings["window"], settings["method"], settings["dates"][1]) == ([5, 5], "mle", "20200113")
    assert found.attrs["input"].endswith("slc.zarr")


def test_pixels_that_were_not_reached_have_that_status(slc):
    assert call("link", "slc.zarr", "--out", "out.zarr", "--window", "5", "--chunk", "6", "--max-seconds", "0").code
    found = opened(Path("out.zarr"))
    assert (found.status.dtype, found.certified.dtype) == (np.int8, bool)
    assert found.status.values[-1, -1] == 4
    assert not found.certified.values[-1, -1]
    assert found.looks.values[-1, -1] == 0
    assert np.isnan(found.phase.values[:, -1, -1]).all()


def test_link_takes_the_path_of_the_array_and_an_array_of_xarray_alike(slc):
    assert call("link", "slc.zarr/slc", "--out", "alone.zarr", "--window", "5").code == 0
    assert_same_coordinates(opened(Path("alone.zarr")), slc)
    linked = phase_linking.link(slc, 5, output="of_xarray.zarr")
    assert_same_coordinates(opened(Path("of_xarray.zarr")), slc)
    linked = phase_linking.link(slc, 5)
    linked.save("saved.zarr")
    assert_same_coordinates(opened(Path("saved.zarr")), slc)
    assert_same_coordinates(linked.to_xarray(), slc)


def test_netcdf_keeps_them_too(slc):
    pytest.importorskip("netCDF4")
    pytest.importorskip("h5py")
    for options in (("--window", "5"), ("--window", "5", "--method", "evd")):
        call("link", "slc.zarr", "--out", "out.nc", *options)
        with xarray.open_dataset("out.nc") as found:
            assert_same_coordinates(found, slc)
            assert found.status.dtype == np.int8
            assert found.certified.values.all() == ("evd" not in options)
            assert found.certified.dtype == bool
            assert "settings" in found.attrs
    parts = slc.to_dataset(name="a").assign(slc_real=slc.real, slc_imag=slc.imag).drop_vars("a")
    parts.to_netcdf("slc.nc")
    assert call("link", "slc.nc", "--out", "of_nc.zarr", "--window", "5").code == 0
    assert_same_coordinates(opened(Path("of_nc.zarr")), slc)


@pytest.mark.parametrize("path", ["C.zarr", "C.zarr/C"])
def test_solve_keeps_coordinates_but_those_along_the_last_axis(stack, path):
    assert call("solve", path, "--out", "out.zarr").code == 0
    found = opened(Path("out.zarr"))
    assert found.z.dims == ("time", "y", "x", "i")
    assert_same_coordinates(found, stack, but=("j", "both"))
    assert found.status.attrs["grid_mapping"] == "spatial_ref"
    assert (found.status.dtype, found.verdict.dtype) == (np.int8, np.int8)
    assert json.loads(found.attrs["settings"])["rng"] == 0


def test_problems_that_were_not_reached_have_no_phases(stack):
    assert call("solve", "C.zarr", "--out", "out.zarr", "--memory", "1400", "--max-seconds", "0").code
    found = opened(Path("out.zarr"))
    assert np.isnan(found.z.values[-1, -1, -1]).all()
    assert (found.status.values[-1, -1, -1], found.verdict.values[-1, -1, -1]) == (4, 1)
    assert np.isfinite(found.z.values[0, 0, 0]).all()


def test_synchronize_of_xarray_does_the_same(stack):
    found = ang.synchronize(stack)
    assert_same_coordinates(found, stack, but=("j", "both"))
    assert found.z.attrs["grid_mapping"] == "spatial_ref"


def test_names_of_arrays_and_groups(stack):
    values = gaussian_stack(3, 4, 0.2, dtype=np.complex64)
    two = xarray.Dataset({"a": (("k", "i", "j"), values), "b": (("k", "i", "j"), values[::-1])})
    two.to_zarr("two.zarr")
    assert call("solve", "two.zarr", "-o", "b.zarr", "--variable", "b").code == 0
    np.testing.assert_array_equal(opened(Path("b.zarr")).z.values, ang.synchronize(values[::-1]).z)
    two.to_zarr("nested.zarr", group="inner")
    assert call("solve", "nested.zarr/inner", "-o", "inner.zarr", "--variable", "a").code == 0
    store(stack.rename(y="status"), Path("status.zarr"))
    store(stack.drop_vars("lat").assign_coords(verdict=3), Path("verdict.zarr"))
    for line, word in {
        "solve two.zarr": "'a', 'b': name one with variable (--variable)",
        "solve two.zarr --variable c": "'c'",
        "solve nested.zarr": "'inner': give the path of one, nested.zarr/inner",
        "link nested.zarr": "'inner': give the path of one, nested.zarr/inner",
        "solve status.zarr": "'status', as one of the answers is",
        "solve verdict.zarr": "'verdict', as one of the answers is",
    }.items():
        assert word in refused(*line.split(), "-o", "o.zarr")


def test_verify_checks_coordinates_and_a_resumed_run_writes_them_again(slc):
    link = ("link", "slc.zarr", "--out", "out.zarr", "--window", "5")
    assert call(*link).code == 0
    told = call("verify", "out.zarr", "--json").object
    assert (told["kind"], told["written_by"], told["complete"]) == ("verify", "angsync link", True)
    for name in ("time", "orbit"):
        file = Path("out.zarr", name, "c", "0")
        content = file.read_bytes()
        file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    Path("out.zarr", "y", "c", "0").unlink()
    checked = call("verify", "out.zarr")
    assert checked.code == 3
    assert "wrong coordinates: 3" in checked.stdout
    assert "y: the file y/c/0 is missing" in checked.stdout
    assert call("verify", "out.zarr", "--unmark").code == 3
    assert call(*link, "--resume").code == 0
    assert call("verify", "out.zarr").code == 0
    assert_same_coordinates(opened(Path("out.zarr")), slc)
