"""Images whose axes or files are not what they should be, or are mended or copied between two runs."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from stacks_on_disk import damage, file_of, stack
from stored_stacks import take_away

from angsync.applications import phase_linking
from angsync.errors import AngsyncWarning, FileFormatError, InputError, OutputError

zarr = pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def slc():
    return phase_linking.simulate(5, (30, 26), gamma_inf=0.6, rng=2).slc.astype(np.complex64)


def equal(path, expected):
    group = zarr.open_group(str(path), mode="r")
    for name in ("phase", "standard_error", "temporal_coherence", "certified", "status", "looks"):
        np.testing.assert_array_equal(group[name][...], np.asarray(vars(expected)[name]), err_msg=name)


def test_an_axis_with_the_name_of_an_answer_is_refused(tmp_path, slc):
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(slc, dims=("phase", "y", "x"), coords={"phase": np.arange(5.0)})
    with pytest.raises(InputError, match="called 'phase', as one of the answers is"):
        phase_linking.link(given, 5, output=tmp_path / "out.zarr")


def test_a_damaged_store_is_named(tmp_path, slc):
    path = stack(tmp_path / "slc.zarr", slc, (5, 8, 8))
    for name in ("zarr.json", ".zarray"):
        if (path / name).exists():
            (path / name).write_text("xx")
    with pytest.raises(FileFormatError, match=r"cannot open the zarr store .*slc\.zarr"):
        phase_linking.link(path, 5)


def test_dates_that_are_not_on_the_first_axis(tmp_path, slc):
    xarray = pytest.importorskip("xarray")
    days = np.arange("2020-01-01", "2020-01-06", dtype="datetime64[D]").astype("datetime64[ns]")
    given = xarray.DataArray(slc.transpose(1, 2, 0), dims=("y", "x", "date"), coords={"date": days}, name="slc")
    linked = phase_linking.link(given, 5)
    assert linked.phase.dims == ("date", "y", "x")
    np.testing.assert_array_equal(linked.phase.values, phase_linking.link(slc, 5).phase)
    given.to_dataset().to_zarr(tmp_path / "slc.zarr")
    with pytest.raises(InputError, match=r"'date' .*transpose\('date', 'y', 'x'\)"):
        phase_linking.link(tmp_path / "slc.zarr", 5)


def behind(path, kind):
    """The images as arrays of libraries over zarr; ``turned`` has its dates on the last axis."""
    xarray, da = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    lazily = xarray.DataArray(da.from_zarr(str(path)), dims=("date", "y", "x"))
    return {"dask": lazily.data, "dask, sliced": lazily.data[:, 1:] * 2, "xarray over dask": lazily,
            "turned": lazily.transpose("y", "x", "date")}[kind]  # fmt: skip


@pytest.mark.parametrize("kind", ["dask", "dask, sliced", "xarray over dask", "turned"])
def test_an_absent_chunk_behind_xarray_or_dask_is_named(tmp_path, slc, kind):
    path = stack(tmp_path / "slc.zarr", slc, (5, 10, 13))
    key = damage(path, (0, 1, 1), "absent")
    given = behind(path, kind)
    with pytest.raises(InputError, match=f"no chunk {key}"):
        phase_linking.link(given, 5)
    with pytest.warns(Warning, match="chunks failed"):
        linked = phase_linking.link(given, 5, chunk=(10, 13), output=tmp_path / "out.zarr")
    assert "0_0" in linked.failed
    assert key in linked.failed["0_0"]
    empty = phase_linking.link(given, 5, absent="empty")
    assert not np.asarray(empty.certified)[13:17, 16:23].any()


def test_an_inner_chunk_that_a_shard_does_not_have_is_named(tmp_path, slc):
    array = zarr.create_array(
        str(tmp_path / "slc.zarr"), shape=slc.shape, shards=(5, 30, 26), chunks=(1, 10, 13), dtype=slc.dtype
    )
    array[:, :20] = slc[:, :20]
    with pytest.raises(InputError, match=r"no chunk c/0/0/0 \(or inner"):
        phase_linking.link(tmp_path / "slc.zarr", 5)
    array[...] = slc
    np.testing.assert_array_equal(phase_linking.link(tmp_path / "slc.zarr", 5).phase, phase_linking.link(slc, 5).phase)


def test_an_absent_chunk_behind_xarray_without_dask(tmp_path, slc):
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(slc, dims=("date", "y", "x"), name="slc")
    given.to_dataset().to_zarr(
        str(tmp_path / "slc.zarr"), encoding={"slc": {"chunks": (5, 10, 13)}}, consolidated=False
    )
    array = zarr.open_group(str(tmp_path / "slc.zarr"), mode="r")["slc"]
    take_away(array, slice(0, 5), slice(10, 20), slice(13, 26))
    lazily = xarray.open_zarr(str(tmp_path / "slc.zarr"), chunks=None, consolidated=False)["slc"]
    for images in (lazily, lazily[:, 3:], lazily.transpose("y", "x", "date")):
        with pytest.raises(InputError, match="no chunk slc"):
            phase_linking.link(images, 5)
    assert phase_linking.link(lazily[:, :, :10], 5).certified.all()


def test_another_order_of_dates_behind_the_error_bars_is_refused(tmp_path):
    """The first run could not read what decides it: its error bars are not those of the mended images."""
    rng = np.random.default_rng(1)
    kind = np.arange(8) % 2  # two tracks in turn
    coherence = np.where(kind[:, None] == kind, 0.8, 0.15) + 0.2 * np.eye(8)
    noise = rng.standard_normal((8, 32, 64)) + 1j * rng.standard_normal((8, 32, 64))
    images = np.einsum("ij,jrc->irc", np.linalg.cholesky(coherence), noise).astype(np.complex64)
    images[:, :, :32] = 1  # nothing that could be linked
    path = stack(tmp_path / "slc.zarr", images, (8, 32, 32))
    shutil.copy2(file_of(path, (0, 0, 1)), tmp_path / "kept")
    file_of(path, (0, 0, 1)).unlink()
    with pytest.warns(AngsyncWarning, match="chunks failed"):
        phase_linking.link(path, 7, output=tmp_path / "out.zarr", chunk=(32, 16))
    shutil.copy2(tmp_path / "kept", file_of(path, (0, 0, 1)))
    with pytest.raises(OutputError, match="order of dates was"):
        phase_linking.link(path, 7, output=tmp_path / "out.zarr", resume=True)


def test_a_copy_with_its_times_is_the_same_input(tmp_path, slc):
    path, out = stack(tmp_path / "slc.zarr", slc, (5, 8, 8)), tmp_path / "out.zarr"
    with pytest.warns(AngsyncWarning, match="interrupted"):
        phase_linking.link(path, 5, output=out, chunk=10, max_seconds=0)
    shutil.copytree(path, tmp_path / "copy.zarr")
    linked = phase_linking.link(tmp_path / "copy.zarr", 5, output=out, resume=True)
    assert "resumed: 1 of 9 chunks were done before." in linked.notes
    equal(out, phase_linking.link(slc, 5))
