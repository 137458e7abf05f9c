"""Stacks of xarray, dask and zarr: an xarray.Dataset, computed when it is asked for."""

from __future__ import annotations

import importlib
import json
import pickle
import warnings

import numpy as np
import pytest
from problems import gaussian_stack
from stored_stacks import NAMES, assert_same, hard_stack, on_disk

import angsync as ang
from angsync.batch import chunk, dataset
from angsync.batch.result import BatchStatus
from angsync.errors import ConvergenceWarning, MissingDependencyError
from angsync.kernels.batch.numbers import MAX_ORDER

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")

# the stacks here hold a problem with NaN, which is warned about when it is computed: see test_dataset_faults.py
pytestmark = pytest.mark.filterwarnings("ignore:in the chunk:angsync.errors.ConvergenceWarning")


@pytest.mark.parametrize("chunks", [(2, 3, 6, 6), (6, 10, 6, 6), (4, 7, 4, 3), (6, 1, 6, 6)])
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_any_chunks_and_scheduler_give_the_bits_of_the_batch(hard, chunks, scheduler):
    stack, expected = hard
    found = ang.synchronize(da.from_array(stack, chunks=chunks))
    with dask.config.set(scheduler=scheduler):
        assert_same(found.compute(), expected)


@pytest.mark.slow
def test_other_processes_give_the_same_bits(hard):
    stack, expected = hard
    with dask.config.set(scheduler="processes", num_workers=2):
        assert_same(ang.synchronize(da.from_array(stack, chunks=(2, 5, 6, 6))).compute(), expected)


@pytest.mark.parametrize("dtype", [np.complex128, np.float32, ">c8"])
def test_other_types(dtype):
    stack = np.ascontiguousarray(hard_stack(2, 20).real if dtype is np.float32 else hard_stack(2, 20)).astype(dtype)
    found = ang.synchronize(da.from_array(stack, chunks=(1, 5, 6, 6)))
    assert found.z.dtype == (np.complex128 if dtype is np.complex128 else np.complex64)
    assert_same(found, ang.synchronize(stack, on_failure="ignore"))


def test_nothing_is_computed_before_it_is_asked_for_and_then_once_a_chunk(hard, monkeypatch):
    stack, expected = hard
    seen, solved = [], []

    def block(C):
        seen.append(C.shape)
        return C

    own = chunk.solve_stack
    monkeypatch.setattr(chunk, "solve_stack", lambda C, call: solved.append(C.shape) or own(C, call))
    lazy = da.from_array(stack, chunks=(3, 5, 6, 6)).map_blocks(block, meta=np.empty((0,) * 4, stack.dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor a word about complex numbers that become real ones
        found = ang.synchronize(lazy)
    assert (seen, solved) == ([], [])
    assert all(dask.is_dask_collection(found[name].data) for name in NAMES)
    assert found.z.chunks == ((3, 3), (5, 5), (6,))
    assert [found[name].dtype.name for name in NAMES] == ["complex64", "int8", "int8", *["float64"] * 4]
    assert_same(found.compute(), expected)
    assert solved == [(3, 5, 6, 6)] * 4
    assert seen == solved


def test_a_dask_chunk_has_one_thread_unless_more_are_asked_for(monkeypatch):
    used = []
    own = chunk.solve_stack
    monkeypatch.setattr(chunk, "solve_stack", lambda C, call: used.append(ang.kernels.threads()) or own(C, call))
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    stack = da.from_array(gaussian_stack(4, 8), chunks=(4, 4, 4))
    ang.synchronize(stack).compute()
    ang.synchronize(stack, threads=3).compute()
    assert used == [1, 1, 3, 3]
    assert ang.kernels.threads() == 5


def test_the_kernels_may_be_called_from_several_threads_at_once(hard):
    stack, expected = hard
    found = ang.synchronize(da.from_array(np.tile(stack, (20, 1, 1, 1)), chunks=(3, 10, 6, 6)))
    with dask.config.set(scheduler="threads", num_workers=8):
        for name, values in found.compute().data_vars.items():
            wanted = np.tile(getattr(expected, name), (20,) + (1,) * (values.ndim - 1))
            assert np.array_equal(values, wanted, equal_nan=True)


def test_problems_beyond_the_batch_kernels_have_the_bits_of_one_thread():
    n = MAX_ORDER + 1
    stack = gaussian_stack(n, 3, 0.5)
    stack[1] = 0
    expected = ang.synchronize(stack, threads=1, on_failure="ignore")
    found = ang.synchronize(da.from_array(stack, chunks=(1, n, n))).compute(scheduler="threads")
    assert_same(found, expected)
    assert found.status.values.tolist() == [0, BatchStatus.EMPTY, 0]


def test_further_starts_are_the_same_for_every_chunk_whatever_the_seed(hard):
    stack, _ = hard
    for seed in (7, None, np.random.default_rng):
        given = seed(3) if callable(seed) else seed
        found = ang.synchronize(da.from_array(stack, chunks=(1, 5, 6, 6)), rng=given)
        if seed is not None:
            expected = ang.synchronize(stack, rng=seed(3) if callable(seed) else seed, on_failure="ignore")
            assert_same(found.compute(), expected)
        again = found.compute()
        assert again.identical(found.compute())
    own, other = np.random.default_rng(3), np.random.default_rng(3)
    ang.synchronize(da.from_array(stack, chunks=(1, 5, 6, 6)), rng=own)
    ang.synchronize(stack, rng=other, on_failure="ignore")
    assert own.random() == other.random()  # a generator goes on as after one stack


def test_coordinates_are_kept(hard):
    stack, expected = hard
    coordinates = {
        "y": np.arange(6) * 2.0, "x": np.arange(10), "date": list("abcdef"), "other": np.arange(6), "time": 3,
        "height": (("y", "x"), np.ones((6, 10))), "baseline": ("date", np.arange(6.0)),
    }  # fmt: skip
    given = xarray.DataArray(stack, coordinates, ("y", "x", "date", "other"), "coherence", {"units": "1"})
    with pytest.warns(ConvergenceWarning, match=r"1 of 60 problems did not converge: 1 not finite.* several pieces"):
        at_once = ang.synchronize(given)
    for found in (at_once, ang.synchronize(given.chunk({"y": 4, "x": 3}))):
        assert_same(found, expected)
        assert found.z.dims == ("y", "x", "date")
        assert found.status.dims == ("y", "x")
        assert set(found.coords) == {"y", "x", "date", "time", "height", "baseline"}
        assert found.sel(y=4.0, x=3).z.shape == (6,)
        assert json.loads(found.attrs["settings"])["tolerance"] == 1e-5
        assert found.attrs["angsync_version"] == ang.__version__
        assert "coherence" in found.attrs["source"]
    assert isinstance(at_once.z.data, np.ndarray)


def test_codes_are_told_as_the_conventions_have_it(hard):
    stack, _ = hard
    found = ang.synchronize(da.from_array(stack, chunks=(6, 10, 6, 6)))
    assert found.status.attrs["flag_meanings"].split() == [status.name for status in BatchStatus]
    assert found.status.attrs["flag_values"].tolist() == [int(status) for status in BatchStatus]
    assert found.status.attrs["flag_values"].dtype == np.int8
    assert found.verdict.attrs["flag_meanings"] == "CERTIFIED UNDECIDED"


def test_without_certificates(hard):
    stack, _ = hard
    found = ang.synchronize(da.from_array(stack, chunks=(3, 10, 6, 6)), certify=False)
    assert set(found.data_vars) == {"z", "status", "residual", "objective"}
    assert np.array_equal(found.z, ang.synchronize(stack, certify=False, on_failure="ignore").z, equal_nan=True)


def test_a_zarr_array_is_read_by_the_tasks_and_written_by_xarray(hard, tmp_path):
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 3, 6, 3))
    found = ang.synchronize(array)
    assert found.z.chunks is not None
    assert all(side % 3 == 0 for side in found.z.chunks[1][:-1])  # whole chunks of the store
    assert_same(pickle.loads(pickle.dumps(found)).compute(), expected)
    found.to_zarr(str(tmp_path / "out.zarr"), consolidated=False)
    assert_same(xarray.open_zarr(str(tmp_path / "out.zarr"), consolidated=False), expected)
    assert "C.zarr" in found.attrs["source"]


@pytest.mark.parametrize("chunks", [None, {}])
def test_xarray_over_zarr_with_and_without_dask(hard, tmp_path, chunks):
    stack, expected = hard
    made = xarray.Dataset({"C": (("y", "x", "i", "j"), stack)}, {"y": np.arange(6)})
    made.to_zarr(str(tmp_path / "C.zarr"), encoding={"C": {"chunks": (2, 10, 6, 6)}}, consolidated=False)
    given = xarray.open_zarr(str(tmp_path / "C.zarr"), chunks=chunks, consolidated=False)["C"]
    found = ang.synchronize(given)
    assert found.z.chunks is not None
    assert_same(found, expected)
    part = ang.synchronize(given[3:, ::2])
    assert np.array_equal(part.z, expected.z[3:, ::2], equal_nan=True)
    assert part.y.values.tolist() == [3, 4, 5]


@pytest.mark.parametrize("missing", ["xarray", "dask.array"])
def test_without_a_library_it_is_said_what_is_missing(monkeypatch, tmp_path, missing):
    array = on_disk(tmp_path / "C.zarr", gaussian_stack(3, 2), (1, 3, 3))
    own = importlib.import_module

    def without(name, *rest):
        if name == missing:
            raise ImportError(name)
        return own(name, *rest)

    monkeypatch.setattr(dataset.importlib, "import_module", without)
    with pytest.raises(MissingDependencyError, match=r"angsync\[stack\]"):
        ang.synchronize(array)
