"""A chunk that a zarr store does not have reads as fill values: damage is refused, what may be meant is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import angsync as ang
from angsync.errors import AngsyncWarning, FileFormatError, InputError
from angsync.io.chunked import arrays
from angsync.problem.operators import on_cluster, streamed
from angsync.problem.stored import StoredArray

zarr = pytest.importorskip("zarr")


def written(folder, C, chunks=(20, 20)):
    path = str(folder / "C.zarr")
    zarr.open_array(path, mode="w", shape=C.shape, chunks=chunks, dtype=C.dtype, fill_value=0)[:] = C
    return zarr.open_array(path, mode="r")


def path_of(store, *numbers):
    return arrays.root_of(store) / arrays.key_of(store, numbers)


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


def by_workers(store, hermitian, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(on_cluster, "connected", lambda client: client)
    monkeypatch.setattr(on_cluster, "Pieces", lambda *_: pytest.fail("workers were asked"))
    return ang.as_operator(store, hermitian, client="a client")


WAYS = [in_memory, in_tiles, by_workers]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("hermitian", "gone"),
    [("full", (1, 1)), ("full", (0, 2)), ("full", (2, 0)), ("upper", (1, 1)), ("upper", (0, 2)), ("lower", (2, 0))],
)
def test_a_lost_chunk_is_named(tmp_path, monkeypatch, way, hermitian, gone):
    store = without(written(tmp_path, problem()), gone)
    with pytest.raises(InputError, match=r"no chunk .*fill value.*numpy\.asarray") as raised:
        way(store, hermitian, monkeypatch)
    assert arrays.key_of(store, gone) in str(raised.value)


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_mirrored_pair_may_be_meant_and_is_counted(tmp_path, monkeypatch, way):
    C = problem()
    C[:20, 40:] = C[40:, :20] = 0
    store = written(tmp_path, C)
    for numbers in [(0, 2), (2, 0)]:  # zarr 3 has not written them, zarr 2 has
        path_of(store, *numbers).unlink(missing_ok=True)
    with pytest.warns(AngsyncWarning, match="2 chunks of 9") as caught:
        operator = way(store, "full", monkeypatch)
    assert caught[0].filename == __file__
    assert operator.n == 60


def test_a_mirrored_pair_warns_before_workers_read(tmp_path, monkeypatch):
    store = without(written(tmp_path, problem()), (0, 2), (2, 0))
    with pytest.warns(AngsyncWarning, match="2 chunks of 9"), pytest.raises(pytest.fail.Exception):
        by_workers(store, "full", monkeypatch)


def test_chunks_that_are_not_read_do_not_count(tmp_path, monkeypatch):
    store = without(written(tmp_path, problem()), (1, 0), (2, 0), (2, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ang.synchronize(store, hermitian="upper").objective == ang.synchronize(problem()).objective


def test_entries_of_the_diagonal_alone_may_be_meant(tmp_path):
    C = problem(6)
    np.fill_diagonal(C, 0)
    store = written(tmp_path, C, (1, 1))
    for k in range(6):
        path_of(store, k, k).unlink(missing_ok=True)
    with pytest.warns(AngsyncWarning, match="6 chunks of 36"):
        ang.as_operator(store)


def test_chunks_that_are_not_square_have_no_mirror_image(tmp_path):
    """Off the diagonal their absence proves nothing; both triangles are compared as ever."""
    store = without(written(tmp_path, problem(), (20, 30)), (2, 0))
    with pytest.warns(AngsyncWarning, match="1 chunk of 6"), pytest.raises(ang.errors.NotHermitianError):
        ang.as_operator(store)
    with pytest.raises(InputError, match="no chunk"):
        ang.as_operator(without(written(tmp_path, problem(), (20, 30)), (1, 1)))


def test_a_store_of_xarray_is_looked_at(tmp_path):
    xarray = pytest.importorskip("xarray")
    C = problem()
    xarray.Dataset({"C": (("i", "j"), C)}).to_zarr(str(tmp_path / "D.zarr"), encoding={"C": {"chunks": (20, 20)}})
    without(zarr.open_group(str(tmp_path / "D.zarr"), mode="r")["C"], (1, 1))
    with pytest.raises(InputError, match="no chunk C"):
        ang.as_operator(xarray.open_zarr(str(tmp_path / "D.zarr"), chunks=None)["C"])


def test_a_store_in_memory_is_not_asked():
    store = zarr.open_array({}, mode="w", shape=(4, 4), chunks=(2, 2), dtype="c16", fill_value=0)
    store[:2, :2] = 1
    assert ang.as_operator(store).n == 4


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_chunk_that_is_cut_off_names_the_part(tmp_path, monkeypatch, way):
    store = written(tmp_path, problem())
    path_of(store, 1, 1).write_bytes(b"xx")
    with pytest.raises(FileFormatError, match=r"C\[0:60, 0:60\] cannot be read"):
        way(store, "full", monkeypatch)


def test_the_part_that_cannot_be_read_is_told():
    class Broken:
        shape, dtype, chunks = (9, 9), np.dtype(complex), (3, 3)

        def __getitem__(self, index):
            raise RuntimeError("Zstd decompression error")

    with pytest.raises(FileFormatError, match=r"\[4, 2:5\].*RuntimeError: Zstd decompression error.*[Rr]estore"):
        StoredArray(Broken()).read(4, slice(2, 5))
