"""Behind xarray and dask a chunk that is absent is seen as well: named, NaN or no data, never taken for measured."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from problems import gaussian_stack
from stored_stacks import files_at, key_of, take_away

import angsync as ang
from angsync.applications import phase_linking
from angsync.batch import synchronize_stack
from angsync.batch.result import BatchStatus
from angsync.errors import FileFormatError, InputError
from angsync.problem.absent import DamagedChunkError, marked

da = pytest.importorskip("dask.array")
xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
CHUNKS = (2, 2, 2)
# problems without data are warned about when they are computed: tests/unit/batch/test_dataset_faults.py
pytestmark = pytest.mark.filterwarnings("ignore:in the chunk:angsync.errors.ConvergenceWarning")


def in_a_group(path, values, chunks, dims):
    """As xarray stores it, but with the fill value 0, whatever the versions."""
    group = zarr.open_group(str(path), mode="w")
    how = {"shape": values.shape, "chunks": chunks, "dtype": values.dtype, "fill_value": 0}
    array = group.create_array("C", dimension_names=dims, **how)
    array[...] = values
    return array


@pytest.fixture
def stack():
    return gaussian_stack(6, 8)


@pytest.fixture
def store(tmp_path, stack):
    """Problems 2 and 3 have lost two mirrored chunks: what is read instead is Hermitian."""
    path = tmp_path / "C.zarr"
    array = in_a_group(path, stack, CHUNKS, ("p", "i", "j"))
    take_away(array, slice(2, 4), slice(0, 2), slice(4, 6))
    take_away(array, slice(2, 4), slice(4, 6), slice(0, 2))
    return path


def lazily(path, **how):
    return xarray.open_zarr(str(path), consolidated=False, mask_and_scale=False, **how)["C"]


def without_dask(path):
    return lazily(path, chunks=None)


WHOLE = {
    "zarr": lambda path: zarr.open_group(str(path), mode="r")["C"],
    "xarray": without_dask,
    "xarray over dask": lazily,
    "dask": lambda path: da.from_zarr(str(path), component="C"),
    "dask, other chunks": lambda path: da.from_zarr(str(path), component="C", chunks=(3, 6, 2)),
    "chunked later": lambda path: without_dask(path).chunk(p=3),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_problems_that_need_an_absent_chunk_have_no_data(store, stack, kind):
    found = ang.synchronize(WHOLE[kind](store)).compute()
    assert found.status.values.tolist() == [0, 0, BatchStatus.NO_DATA, BatchStatus.NO_DATA, 0, 0, 0, 0]
    assert found.verdict.values.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    known = [0, 1, 4, 5, 6, 7]
    assert np.array_equal(found.z.values[known], ang.synchronize(stack).z[known])
    with pytest.raises(DamagedChunkError, match=r"no chunk C.*absent='zeros'"):
        ang.synchronize(WHOLE[kind](store), absent="error").compute()
    zeros = stack.copy()
    zeros[2:4, :2, 4:] = zeros[2:4, 4:, :2] = 0
    assert np.array_equal(ang.synchronize(WHOLE[kind](store), absent="zeros").z.values, ang.synchronize(zeros).z)


PARTS = {
    "slice": (lambda x: x[1:3], [False, True]),
    "steps backwards": (lambda x: x[::-2], [False, False, True, False]),
    "list": (lambda x: x.isel(p=[6, 2, 2, 0]), [False, True, True, False]),
    "slices of slices": (lambda x: x[1:][1:][::2], [True, False, False]),
    "nodes": (lambda x: x[:, 2:, 2:], [False] * 8),
    "other nodes": (lambda x: x[:, 1:5, 1:5], [False, False, True, True, False, False, False, False]),
}


@pytest.mark.parametrize("kind", PARTS)
def test_parts_of_an_array_of_xarray(store, kind):
    taken, expected = PARTS[kind]
    found = ang.synchronize(taken(without_dask(store))).compute()
    assert (found.status.values == BatchStatus.NO_DATA).tolist() == expected
    chunked = ang.synchronize(taken(without_dask(store)).chunk()).compute()
    assert (chunked.status.values == BatchStatus.NO_DATA).tolist() == expected


WORKED_ON = {
    "slice": lambda x: x[1:5],
    "astype": lambda x: x.astype(np.complex64),
    "sum": lambda x: x + 0,
    "rows": lambda x: x[:, ::-1, ::-1],
    "joined": lambda x: xarray.concat([x, x], "p"),
}


@pytest.mark.parametrize("kind", WORKED_ON)
def test_what_was_done_to_an_array_of_dask_does_not_hide_it(store, kind):
    given = WORKED_ON[kind](lazily(store))
    with pytest.raises(DamagedChunkError, match=r"no chunk C"):
        ang.synchronize(given).compute()
    with pytest.raises(DamagedChunkError):
        ang.synchronize(given.data).compute()
    found = ang.synchronize(given, absent="empty").compute()
    lost = int(found.status.isin([BatchStatus.NO_DATA, BatchStatus.NOT_FINITE]).sum())
    assert lost == {"joined": 4}.get(kind, 2)
    assert int(found.verdict.sum()) == lost
    assert (ang.synchronize(given, absent="zeros").status.values == 0).all()


def test_chunks_that_are_not_read_do_not_count(store, stack):
    found = ang.synchronize(lazily(store)[4:] + 0).compute()
    assert (found.verdict.values == 0).all()
    assert np.array_equal(found.z.values, ang.synchronize(stack[4:]).z)


def test_a_source_inside_the_tasks_is_seen(store, stack):
    array = zarr.open_group(str(store), mode="r")["C"]
    inline = da.from_array(array, chunks=CHUNKS, inline_array=True)
    hidden = da.map_blocks(lambda source: np.asarray(source[2:4]), array, chunks=((2,), (6,), (6,)), dtype=complex)
    for given in (inline, inline[1:] + 0, hidden):
        with pytest.raises(DamagedChunkError, match="no chunk C"):
            ang.synchronize(given).compute()
    assert np.array_equal(ang.synchronize(inline[4:]).z.values, ang.synchronize(stack[4:]).z)


def test_an_array_that_cannot_be_looked_into_is_refused(store):
    class Task(tuple):
        __module__ = "dask"  # a part of a graph that cannot be copied

        def __reduce__(self):
            raise TypeError("no copies")

    given = da.map_blocks(lambda block, more: block, lazily(store).data, Task())
    with pytest.raises(InputError, match="no copies"):
        ang.synchronize(given)


def test_numbers_without_nan_are_an_error_in_any_case(tmp_path):
    array = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=(4, 3, 3), chunks=(2, 3, 3), dtype="i4")
    array[...] = 1
    take_away(array, slice(2, 4))
    with pytest.raises(DamagedChunkError, match="no chunk"):
        ang.synchronize(da.from_zarr(str(tmp_path / "C.zarr")) * 2, absent="empty").compute()


def test_a_guarded_array_goes_to_another_process(store):
    guarded = marked(lazily(store).data[1:], "error")
    with pytest.raises(DamagedChunkError, match="no chunk C"):
        pickle.loads(pickle.dumps(guarded)).compute()


@pytest.mark.parametrize("hermitian", ["upper", "lower"])
@pytest.mark.parametrize("kind", WHOLE)
def test_the_triangle_that_is_not_read_does_not_count(store, stack, tmp_path, hermitian, kind):
    array = zarr.open_group(str(store), mode="r+")["C"]
    array[...] = np.triu(stack) if hermitian == "upper" else np.tril(stack)
    away = (slice(4, 6), slice(0, 2)) if hermitian == "upper" else (slice(0, 2), slice(4, 6))
    for file in files_at(array, slice(0, 8), *away):
        file.unlink(missing_ok=True)
    found = ang.synchronize(WHOLE[kind](store), hermitian=hermitian).compute()
    assert np.array_equal(found.z.values, ang.synchronize(stack, hermitian=hermitian).z)


@pytest.mark.parametrize("kind", ["zarr", "xarray over dask", "dask"])
def test_a_store_that_is_gone_is_an_error(store, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(store.parent)
    found = ang.synchronize(WHOLE[kind](store.name))
    store.rename(tmp_path / "other.zarr")
    with pytest.raises(FileFormatError, match="is not there any more"):
        found.compute()


MATRIX = {
    "xarray over dask": lambda path: lazily(path)[3],
    "xarray": lambda path: without_dask(path)[3],
    "dask": lambda path: da.from_zarr(str(path), component="C")[2],
}


@pytest.mark.parametrize("kind", MATRIX)
def test_one_matrix_behind_them(store, kind):
    with pytest.raises(InputError, match="no chunk C"):
        ang.synchronize(MATRIX[kind](store))
    assert ang.synchronize(MATRIX[kind](store), absent="zeros").z.shape == (6,)


def test_one_matrix_that_is_all_of_it(tmp_path):
    C = ang.simulate.gaussian(20, 0.5, rng=0).C
    take_away(in_a_group(tmp_path / "C.zarr", C, (5, 5), ("i", "j")), slice(15, 20), slice(0, 5))
    for given in (lazily(tmp_path / "C.zarr"), lazily(tmp_path / "C.zarr").data, without_dask(tmp_path / "C.zarr")):
        with pytest.raises(InputError, match="no chunk C"):
            ang.synchronize(given)
        assert ang.synchronize(given, hermitian="upper").objective == ang.synchronize(C, hermitian="upper").objective


def test_weights_and_stacks_that_are_loaded(store, stack):
    array = zarr.open_group(str(store), mode="r")["C"]
    with pytest.raises(InputError, match="no chunk C"):
        synchronize_stack(array)
    with pytest.raises(InputError, match="no chunk C"):
        synchronize_stack(stack, weights=da.absolute(da.from_zarr(str(store), component="C")))


def test_what_is_loaded_is_not_asked_any_more(store):
    with pytest.raises(InputError, match="in memory already"):
        ang.synchronize(without_dask(store).load(), absent="error")


@pytest.mark.slow
def test_workers_of_a_cluster_see_it_too(store):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster),
    ):
        found = ang.synchronize(lazily(store)).compute()
        assert found.status.values.tolist() == [0, 0, 7, 7, 0, 0, 0, 0]
        with pytest.raises(DamagedChunkError, match=r"no chunk C"):
            ang.synchronize(lazily(store)[1:]).compute()


def test_what_is_loaded_as_a_whole_has_all_its_chunks(tmp_path):
    ends = np.triu_indices(12, 1)
    angles = np.random.default_rng(0).normal(size=66)
    C = np.array(np.broadcast_to(np.exp(-np.abs(np.subtract.outer(range(6), range(6))) / 6), (4, 6, 6)), complex)
    for name, values, load in (
        ("angle", angles, lambda x: ang.Measurements(*ends, x).angle),
        ("value", np.exp(1j * angles), lambda x: ang.Measurements(*ends, value=x).angle),
        ("C", C, lambda x: phase_linking.link_covariance(x, looks=50).phase),
    ):
        path = str(tmp_path / f"{name}.zarr")
        chunks = (len(values) // 2, *values.shape[1:])
        made = zarr.open_array(path, mode="w", shape=values.shape, chunks=chunks, dtype=values.dtype, fill_value=1)
        made[...] = values
        given = (made, da.from_zarr(made), da.from_zarr(made) * 1, xarray.DataArray(da.from_zarr(made)))
        for x in given:
            np.testing.assert_array_equal(load(x), load(values))
        (tmp_path / f"{name}.zarr" / key_of(made, (1,) + (0,) * (values.ndim - 1))).unlink()
        for x in given:
            with pytest.raises(InputError, match=r"has no chunk.*load it yourself"):
                load(x)
        load(made[:])
