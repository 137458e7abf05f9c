"""Images whose axes or files are not what they should be."""

from __future__ import annotations

import numpy as np
import pytest
from stacks_on_disk import stack

from angsync.applications import phase_linking
from angsync.errors import FileFormatError, InputError

pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def slc():
    return phase_linking.simulate(5, (30, 26), gamma_inf=0.6, rng=2).slc.astype(np.complex64)


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
