"""A chunk that a zarr store does not have reads as fill values: it is refused and named, unless that is meant."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import gaussian_stack
from stored_stacks import key_of

import angsync as ang
from angsync.errors import FileFormatError, InputError
from angsync.problem.operators import streamed
from angsync.problem.stored import StoredArray

zarr = pytest.importorskip("zarr")


def written(folder, C, chunks=(20, 20)):
    path = str(folder / "C.zarr")
    zarr.open_array(path, mode="w", shape=C.shape, chunks=chunks, dtype=C.dtype, fill_value=0)[:] = C
    return zarr.open_array(path, mode="r")


def path_of(store, *numbers):
    return store.store.root / key_of(store, numbers)


def without(store, *gone):
    for numbers in gone:
        path_of(store, *numbers).unlink()
    return store


def problem(n=60):
    return ang.simulate.gaussian(n, 0.5, rng=0).C


def in_memory(store, hermitian, monkeypatch):
    return ang.as_operator(store, hermitian)


def in_tiles(store, hermitian, monkeypatch):
    monkeypatch.setattr(streamed, "LOADED_UP_TO_BYTES", 1000)
    return ang.as_operator(store, hermitian)


WAYS = [in_memory, in_tiles]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("hermitian", "gone"),
    [("full", (1, 1)), ("full", (0, 2)), ("full", (2, 0)), ("upper", (1, 1)), ("upper", (0, 2)), ("lower", (2, 0))],
)
def test_a_lost_chunk_is_named(tmp_path, monkeypatch, way, hermitian, gone):
    store = without(written(tmp_path, problem()), gone)
    with pytest.raises(InputError, match="no chunk") as raised:
        way(store, hermitian, monkeypatch)
    assert key_of(store, gone) in str(raised.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_mirrored_pair_is_refused_too(tmp_path, monkeypatch, way):
    """It may be lost, and the matrix with zeros there is Hermitian: only its owner knows."""
    store = without(written(tmp_path, problem()), (0, 2), (2, 0))
    with pytest.raises(InputError, match=r"no chunk .*0.2, .*2.0: "):
        way(store, "full", monkeypatch)


@pytest.mark.parametrize("streams", [False, True])
def test_chunks_of_zeros_that_were_not_written_are_zeros_where_that_is_said(tmp_path, monkeypatch, streams):
    C = problem()
    C[:20, 40:] = C[40:, :20] = 0
    store = written(tmp_path, C)
    for numbers in [(0, 2), (2, 0)]:  # zarr 3 has not written them, zarr 2 has
        path_of(store, *numbers).unlink(missing_ok=True)
    if streams:
        monkeypatch.setattr(streamed, "LOADED_UP_TO_BYTES", 1000)
    with pytest.raises(InputError, match="no chunk"):
        ang.synchronize(store)
    with pytest.raises(InputError, match="'error' or 'zeros' for one matrix"):
        ang.synchronize(store, absent="empty")
    found = ang.synchronize(store, absent="zeros")
    assert found.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-12)
    assert ang.as_operator(store, absent="zeros").n == 60


def test_what_is_read_as_another_number_is_not_zeros(tmp_path):
    store = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=(4, 4), chunks=(2, 2), dtype="c16", fill_value=1)
    with pytest.raises(InputError, match=r"absent is 'zeros', but .* read as"):
        ang.synchronize(store, absent="zeros")


def test_the_option_is_for_stores_alone():
    with pytest.raises(InputError, match="absent is for arrays of zarr"):
        ang.synchronize(problem(), absent="zeros")
    with pytest.raises(InputError, match="absent must be 'error', 'empty' or 'zeros'"):
        ang.synchronize(problem(), absent="never")


def test_chunks_that_are_not_read_do_not_count(tmp_path, monkeypatch):
    store = without(written(tmp_path, problem()), (1, 0), (2, 0), (2, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ang.synchronize(store, hermitian="upper").objective == ang.synchronize(problem()).objective


def test_chunks_that_are_not_square(tmp_path):
    for gone in ((2, 0), (1, 1)):
        with pytest.raises(InputError, match="no chunk"):
            ang.as_operator(without(written(tmp_path, problem(), (20, 30)), gone))


def test_a_store_of_xarray_is_looked_at(tmp_path):
    xarray = pytest.importorskip("xarray")
    C = problem()
    xarray.Dataset({"C": (("i", "j"), C)}).to_zarr(str(tmp_path / "D.zarr"), encoding={"C": {"chunks": (20, 20)}})
    without(zarr.open_group(str(tmp_path / "D.zarr"), mode="r")["C"], (1, 1))
    with pytest.raises(InputError, match="no chunk C"):
        ang.as_operator(xarray.open_zarr(str(tmp_path / "D.zarr"), chunks=None)["C"])


def test_stores_that_are_no_folder_are_asked():
    store = zarr.open_array({}, mode="w", shape=(4, 4), chunks=(2, 2), dtype="c16", fill_value=0)
    store[:2, :2] = 1
    with pytest.raises(InputError, match=r"no chunk .*0.1, .*1.0, .*1.1: "):
        ang.as_operator(store)
    store[:] = 1
    assert ang.as_operator(store).n == 4


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_inner_chunks_that_a_shard_does_not_have(tmp_path, location, kind):
    C = problem(70)  # the last shards reach over the edge
    store = zarr.storage.MemoryStore() if kind == "memory" else str(tmp_path / "C.zarr")
    how = {"shards": {"shape": (40, 40), "index_location": location}, "chunks": (20, 20), "dtype": C.dtype}
    array = zarr.create_array(store, shape=C.shape, **how)
    array[...] = C
    assert ang.as_operator(array).n == 70
    C[:20, 20:40] = C[20:40, :20] = 0
    array[...] = C
    with pytest.raises(InputError, match=r"no chunk c/0/0 \(or inner"):
        ang.as_operator(array)
    assert ang.as_operator(array, absent="zeros").n == 70


@pytest.mark.parametrize("way", WAYS)
def test_a_chunk_that_is_cut_off_names_the_part(tmp_path, monkeypatch, way):
    store = written(tmp_path, problem())
    path_of(store, 1, 1).write_bytes(b"xx")
    with pytest.raises(FileFormatError, match=r"chunk c/1/1 of the input cannot be read"):
        way(store, "full", monkeypatch)


def test_the_part_that_cannot_be_read_is_told():
    class Broken:
        shape, dtype, chunks = (9, 9), np.dtype(complex), (3, 3)

        def __getitem__(self, index):
            raise RuntimeError("Zstd decompression error")

    with pytest.raises(FileFormatError, match=r"\[4, 2:5\].*RuntimeError: Zstd decompression error.*[Rr]estore"):
        StoredArray(Broken()).read(4, slice(2, 5))


def blosc(folder, values, chunks):
    """As xarray writes the older format; numbers without a pattern, which Blosc keeps as they are."""
    codec = pytest.importorskip("numcodecs").Blosc(cname="lz4")
    made = zarr.open_array(
        str(folder), mode="w", shape=values.shape, chunks=chunks, dtype=values.dtype, compressor=codec, zarr_format=2
    )
    made[...] = values
    return zarr.open_array(str(folder), mode="r")


@pytest.mark.parametrize("absent", ["error", "empty", "zeros"])
def test_a_chunk_of_blosc_that_is_cut_off_is_named_and_not_read_beyond_its_end(tmp_path, absent):
    da, xarray = pytest.importorskip("dask.array"), pytest.importorskip("xarray")
    stack = gaussian_stack(4, 6, dtype=np.complex64)
    array = blosc(tmp_path / "C.zarr", stack, (2, 6, 6))
    expected = ang.synchronize(array, absent=absent).compute()
    assert np.array_equal(expected.z.values, ang.synchronize(stack).z)
    file = tmp_path / "C.zarr" / "1.0.0"
    file.write_bytes(file.read_bytes()[:-1])
    whole = da.from_zarr(array)
    done_to = [whole * 1] if absent != "zeros" else []  # where nothing is looked for behind dask
    for given in (array, whole, xarray.DataArray(whole, dims=("k", "i", "j")), *done_to):
        with pytest.raises(InputError, match=r"chunk 1\.0\.0 of the input cannot be read: it is cut off"):
            ang.synchronize(given, absent=absent).compute()
    one = blosc(tmp_path / "one.zarr", stack[0], (6, 6))
    (tmp_path / "one.zarr" / "0.0").write_bytes((tmp_path / "one.zarr" / "0.0").read_bytes()[:-1])
    with pytest.raises(InputError, match=r"chunk 0\.0 of the input cannot be read: it is cut off"):
        ang.synchronize(one)


@pytest.mark.parametrize("case", ["transposed", "checked", "nested"])
def test_shards_inside_other_codecs_are_seen_too(tmp_path, case):
    from zarr.codecs import Crc32cCodec, ShardingCodec, TransposeCodec

    pytest.importorskip("zarr", "3.1.6", reason="3.1.0 writes no such shards")
    inner = ShardingCodec(chunk_shape=(2, 2))
    codecs = {
        "transposed": [TransposeCodec(order=(1, 0)), inner],
        "checked": [inner, Crc32cCodec()],
        "nested": [ShardingCodec(chunk_shape=(4, 4), codecs=[inner])],
    }
    array = zarr.create(store=str(tmp_path / "C.zarr"), shape=(4, 4), chunks=(4, 4), dtype="c16", codecs=codecs[case])
    array[...] = np.diag([1, 1, 1, 1])  # two inner chunks are not written
    with pytest.raises(InputError, match="no chunk"):
        ang.as_operator(array)


@pytest.mark.parametrize("location", ["start", "end"])
def test_a_shard_that_is_cut_off_is_not_read_beyond_its_end(tmp_path, location):
    from zarr.codecs import BloscCodec, BytesCodec, ShardingCodec

    codec = ShardingCodec(
        chunk_shape=(4, 16, 16), codecs=[BytesCodec(), BloscCodec(cname="lz4", clevel=0)], index_location=location
    )
    stack = np.stack([problem(16)] * 8)
    array = zarr.create(
        store=str(tmp_path / "C.zarr"), shape=stack.shape, chunks=stack.shape, dtype="c16", codecs=[codec]
    )
    array[...] = stack
    file = path_of(array, 0, 0, 0)
    file.write_bytes(file.read_bytes()[:-6000])
    with pytest.raises(FileFormatError, match="cut off"):
        ang.synchronize(array).compute()
