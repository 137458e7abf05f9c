"""Stacks of xarray, dask and zarr: what may be wrong with them, and how much of them is in memory."""

from __future__ import annotations

import builtins
import pickle
import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest
from problems import gaussian_stack
from stored_stacks import NAMES, assert_same, on_disk, take_away

import angsync as ang
from angsync.batch import chunk, dataset
from angsync.batch import input as batch_input
from angsync.batch.result import BatchStatus
from angsync.errors import ConvergenceError, ConvergenceWarning, InputError, ShapeError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")


# Faults


@pytest.mark.parametrize("fill", [0, 1j])  # 1j: not Hermitian
@pytest.mark.parametrize("kind", ["zarr", "xarray"])
def test_a_chunk_that_is_absent_from_the_store_is_no_data(hard, tmp_path, monkeypatch, fill, kind):
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 3), fill_value=fill)
    take_away(array, slice(2, 4), slice(5, 10))
    if kind == "xarray":
        backend = pytest.importorskip("xarray")
        made = backend.Dataset({"C": (("y", "x", "i", "j"), stack)})
        made.to_zarr(str(tmp_path / "X.zarr"), encoding={"C": {"chunks": (2, 5, 6, 3)}},
                     consolidated=False)  # fmt: skip
        take_away(zarr.open_group(str(tmp_path / "X.zarr"), mode="r")["C"], slice(2, 4), slice(5, 10))
        given = backend.open_zarr(str(tmp_path / "X.zarr"), chunks=None, consolidated=False)["C"]
    else:
        given = array
    found = ang.synchronize(given, on_failure="ignore").compute()
    absent = np.zeros((6, 10), dtype=bool)
    absent[2:4, 5:10] = True
    assert (found.status.values[absent] == BatchStatus.NO_DATA).all()
    assert (found.verdict.values[absent] == 1).all()
    assert np.isnan(found.z.values[absent]).all()
    for name in NAMES:
        assert np.array_equal(found[name].values[~absent], getattr(expected, name)[~absent], equal_nan=True)


def test_a_chunk_that_is_absent_is_seen_where_the_axes_were_turned(hard, tmp_path):
    stack, expected = hard
    made = xarray.Dataset({"C": (("y", "x", "i", "j"), stack)})
    made.to_zarr(str(tmp_path / "X.zarr"), encoding={"C": {"chunks": (2, 5, 6, 3)}}, consolidated=False)
    take_away(zarr.open_group(str(tmp_path / "X.zarr"), mode="r")["C"], slice(2, 4), slice(5, 10))
    given = xarray.open_zarr(str(tmp_path / "X.zarr"), chunks=None, consolidated=False)["C"]
    turned = given.transpose("x", "y", "i", "j")
    found = ang.synchronize(turned, on_failure="ignore").compute()
    absent = np.zeros((6, 10), dtype=bool)
    absent[2:4, 5:10] = True
    assert np.array_equal(found.status.values.T == BatchStatus.NO_DATA, absent)
    assert np.array_equal(found.z.values.swapaxes(0, 1)[~absent], expected.z[~absent], equal_nan=True)
    with pytest.raises(InputError, match="has no chunk"):
        ang.synchronize(turned, absent="error", on_failure="ignore").compute()
    with pytest.raises(InputError, match="has no chunk"):
        ang.synchronize(turned.chunk(x=5), absent="error", on_failure="ignore").compute()


def test_zeros_that_are_there_are_empty_and_never_certified(tmp_path):
    stack = gaussian_stack(4, 6, dtype=np.complex64)
    stack[2:4] = 0
    with pytest.warns(ConvergenceWarning, match=r"at \(2,\) .* 2 problems have no measurement\."):
        found = ang.synchronize(da.from_array(stack, chunks=(2, 4, 4))).compute()
    assert found.status.values.tolist() == [0, 0, BatchStatus.EMPTY, BatchStatus.EMPTY, 0, 0]
    assert found.verdict.values.tolist() == [0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize("kind", ["dask", "xarray", "zarr"])
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_nan_in_a_lazy_stack_is_warned_about_once(tmp_path, kind, scheduler):
    stack = gaussian_stack(4, 40)
    stack[3:40:5, 1, 2] = np.nan
    lazy = da.from_array(stack, chunks=(5, 4, 4))
    made = {"dask": lambda: lazy, "xarray": lambda: xarray.DataArray(lazy, dims=("pixel", "date", "other")),
            "zarr": lambda: on_disk(tmp_path / "C.zarr", stack, (5, 4, 4))}  # fmt: skip
    found = ang.synchronize(made[kind]())  # nothing is known yet
    with dask.config.set(scheduler=scheduler), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        status = found.compute().status.values
    words = [str(one.message) for one in seen if issubclass(one.category, ConvergenceWarning)]
    assert len(words) == 1
    assert "not finite, phases NaN" in words[0]
    assert "the variable status has all" in words[0]
    np.testing.assert_array_equal(status == BatchStatus.NOT_FINITE, np.arange(40) % 5 == 3)


def test_a_damaged_chunk_is_named(hard, tmp_path):
    stack, _ = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 10, 6, 6))
    chunks = sorted(
        f for f in (tmp_path / "C.zarr").rglob("*") if f.is_file() and f.name[0] != "." and "json" not in f.name
    )
    chunks[1].write_bytes(chunks[1].read_bytes()[:100])
    with pytest.raises(InputError, match=r"chunk \S*1.0.0.0 of the input cannot be read: it is cut off"):
        ang.synchronize(array, on_failure="ignore").compute()


def test_what_is_not_hermitian_is_named_by_its_place_in_the_whole_stack():
    stack = gaussian_stack(4, 12).reshape(3, 4, 4, 4)
    stack[2, 1, 0, 3] += 1
    with pytest.raises(InputError, match=r"in problem \(2, 1\), "):
        ang.synchronize(da.from_array(stack, chunks=(1, 1, 4, 4))).compute()


@pytest.mark.filterwarnings("ignore:in the chunk .* several pieces")
def test_failures_raise_where_that_is_wanted(hard):
    stack, _ = hard
    found = ang.synchronize(da.from_array(stack, chunks=(3, 5, 6, 6)), on_failure="raise")
    with pytest.raises(ConvergenceError, match=r"in the chunk \[0:3, 5:10\] 1 of 15 .* not finite") as caught:
        found.z.compute()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_masked_blocks_are_refused():
    stack = da.from_array(gaussian_stack(3, 4), chunks=(2, 3, 3)).map_blocks(lambda C: np.ma.masked_less(C.real, 0.5))
    with pytest.raises(InputError, match="Fill what is masked"):
        ang.synchronize(stack).compute()


@pytest.mark.parametrize(
    ("shape", "call", "error", "words"),
    [
        ((4, 3, 2), {}, ShapeError, r"\(\.\.\., n, n\)"),
        ((4, 3, 3), {"gauge": 5}, InputError, "gauge|node"),
        ((4, 3, 3), {"anchors": {0: 1.0}}, InputError, "anchors is not for a stack"),
        ((4, 3, 3), {"memory": 100}, InputError, "one problem of 3 nodes has 144 bytes, but memory is 100 bytes"),
        ((4, 3, 3), {"memory": "lots"}, InputError, "memory must be"),
        ((4, 3, 3), {"stopping": ang.Stopping(max_seconds=1)}, InputError, "max_seconds"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(shape, call, error, words):
    with pytest.raises(error, match=words):
        ang.synchronize(da.ones(shape, chunks=1, dtype=complex), **call)


def test_axes_of_one_name_and_chunks_of_unknown_size():
    stack = gaussian_stack(3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice = xarray.DataArray(stack, dims=("x", "date", "date"))
    with pytest.raises(InputError, match="give the last one another name"):
        ang.synchronize(twice)
    lazy = da.from_array(stack, chunks=(2, 3, 3))
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        ang.synchronize(lazy[lazy[:, 0, 0].real > 0])


def test_a_stack_without_problems():
    for given in (da.zeros((0, 3, 3), dtype=complex), xarray.DataArray(np.zeros((2, 0, 3, 3), complex))):
        found = ang.synchronize(given)
        assert found.z.shape == (*given.shape[:-2], 3)


# Memory


def test_dask_chunks_that_are_too_large_are_cut_along_the_stack(monkeypatch):
    monkeypatch.setattr(dataset.os, "cpu_count", lambda: 2)
    stack = gaussian_stack(4, 60).reshape(6, 10, 4, 4)
    found = ang.synchronize(da.from_array(stack, chunks=(6, 10, 2, 4)), memory=20 * 256)
    assert max(found.z.chunks[0]) * max(found.z.chunks[1]) <= 10
    assert np.array_equal(found.z, ang.synchronize(stack).z)
    found = ang.synchronize(da.from_array(stack, chunks=(6, 10, 4, 4)), memory=256)
    assert np.array_equal(found.z, ang.synchronize(stack).z)


def test_no_more_is_read_at_once_than_allowed(hard, tmp_path, monkeypatch):
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (1, 5, 6, 6))
    own, lock, now, most = chunk.solve_stack, threading.Lock(), [0], [0]
    unit = 5 * 288

    def counted(C, call):
        with lock:
            now[0] += C.nbytes
            most[0] = max(most[0], now[0])
        result = own(C, call)
        with lock:
            now[0] -= C.nbytes
        return result

    monkeypatch.setattr(chunk, "solve_stack", counted)
    with dask.config.set(scheduler="threads", num_workers=8):
        assert_same(ang.synchronize(array, memory=6 * unit, on_failure="ignore").compute(), expected)
    assert unit <= most[0] <= 2 * unit  # each counts three times, for what it takes to decode it


def test_a_stored_chunk_that_is_too_large_is_refused(hard, tmp_path):
    array = on_disk(tmp_path / "C.zarr", hard[0], (6, 10, 6, 6))
    with pytest.raises(InputError, match=r"a chunk of the store, \(6, 10, 6, 6\), has 17.3 kB and can only be decoded"):
        ang.synchronize(array, memory="10kB")


def test_arrays_of_numpy_and_h5py_keep_giving_results_in_memory(tmp_path):
    h5py = pytest.importorskip("h5py")
    stack = gaussian_stack(4, 6)
    with h5py.File(tmp_path / "C.h5", "w") as file:
        assert isinstance(ang.synchronize(file.create_dataset("C", data=stack)), ang.BatchResult)
    np.save(tmp_path / "C.npy", stack)
    assert isinstance(ang.synchronize(np.load(tmp_path / "C.npy", mmap_mode="r")), ang.BatchResult)
    assert isinstance(ang.synchronize(stack), ang.BatchResult)


def test_a_stack_of_numpy_loads_none_of_these_libraries(monkeypatch):
    own = builtins.__import__

    def guarded(name, *rest, **more):
        assert name.partition(".")[0] not in ("dask", "xarray", "zarr"), name
        return own(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", guarded)
    ang.synchronize(gaussian_stack(4, 3))


def test_ctrl_c_keeps_what_is_done_of_a_stack_in_memory(hard, monkeypatch):
    stack, expected = hard
    own = chunk.solve_stack

    def interrupted(C, call):
        return own(C, replace(call, callback=lambda done, total: done >= 20))

    monkeypatch.setattr(chunk, "solve_stack", interrupted)
    monkeypatch.setattr(batch_input, "block_size", lambda n, dtype, in_place=False: 20)
    with pytest.warns(ConvergenceWarning, match="40 not reached before the interruption"):
        found = ang.synchronize(xarray.DataArray(stack))
    assert np.array_equal(found.z[:2], expected.z[:2], equal_nan=True)
    assert (found.status.values[2:] == BatchStatus.INTERRUPTED).all()
    assert (found.verdict.values[2:] == 1).all()
    assert np.isnan(found.z.values[2:]).all()


def test_stores_of_the_older_format(hard, tmp_path):
    stack, expected = hard
    array = on_disk(tmp_path / "C.zarr", stack, (2, 5, 6, 3), zarr_format=2)
    take_away(array, slice(2, 4), slice(5, 10))
    with pytest.warns(ConvergenceWarning, match="in the chunk"):
        found = ang.synchronize(array).compute()
    assert int((found.status == BatchStatus.NO_DATA).sum()) == 10
    assert np.array_equal(found.z[4:], expected.z[4:], equal_nan=True)
