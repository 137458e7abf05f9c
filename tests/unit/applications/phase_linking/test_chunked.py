"""Stores of images into stores of phases: the same bits at any chunking, resumed exactly, faults of the input named."""

from __future__ import annotations

import shutil
import subprocess
import sys

import linking_work
import numpy as np
import pytest
from stacks_on_disk import damage, file_of, stack

from angsync.applications import phase_linking
from angsync.applications.phase_linking import chunked
from angsync.errors import AngsyncWarning, InputError, MissingDependencyError, OutputError
from angsync.io import chunks
from angsync.io.chunks import verify
from angsync.problem.absent import DamagedChunkError

zarr = pytest.importorskip("zarr")
FIELDS = ("phase", "standard_error", "temporal_coherence", "certified", "status", "looks")


@pytest.fixture(scope="module")
def slc():
    return phase_linking.simulate(5, (30, 26), gamma_inf=0.6, rng=2).slc.astype(np.complex64)


@pytest.fixture(scope="module")
def expected(slc):
    linked = phase_linking.link(slc, 5)
    return {name: np.asarray(vars(linked)[name]) for name in FIELDS}


def equal(path, expected, place=np.s_[..., :, :]):
    found = chunks.read(path, FIELDS)
    for name in FIELDS:
        np.testing.assert_array_equal(found[name][...][place], expected[name][place], err_msg=name)


@pytest.mark.parametrize(("given", "chunk"), [((5, 8, 8), 64), ((1, 30, 26), (13, 9)), ((2, 11, 7), 12)])
def test_the_same_bits_at_any_chunking_of_input_and_output(tmp_path, slc, expected, given, chunk):
    linked = phase_linking.link(stack(tmp_path / "slc.zarr", slc, given), 5, output=tmp_path / "out.zarr", chunk=chunk)
    equal(tmp_path / "out.zarr", expected)
    assert linked.is_proved
    assert verify(tmp_path / "out.zarr").is_complete


@pytest.mark.slow
@pytest.mark.parametrize("side", [(64, 64), (100, 37), (130, 150)])
def test_the_same_bits_at_the_chunkings_of_large_stacks(tmp_path, side):
    slc = phase_linking.simulate(8, (130, 150), gamma_inf=0.5, rng=5).slc.astype(np.complex64)
    whole = phase_linking.link(slc, (11, 9))
    phase_linking.link(stack(tmp_path / "slc.zarr", slc, (8, *side)), (11, 9), output=tmp_path / "out.zarr", chunk=side)
    equal(tmp_path / "out.zarr", {name: np.asarray(vars(whole)[name]) for name in FIELDS})


def test_a_resumed_run_links_what_is_missing_with_the_chunks_of_the_first(tmp_path, slc, expected, monkeypatch):
    path, out = stack(tmp_path / "slc.zarr", slc, (5, 8, 8)), tmp_path / "out.zarr"
    with pytest.warns(AngsyncWarning, match="interrupted: .* of 780 pixels"):
        first = phase_linking.link(path, 5, output=out, chunk=10, max_seconds=0)
    assert first.is_interrupted
    monkeypatch.setattr(chunked, "side_for", lambda *_: 7)  # another memory, other tiles: the output has its own
    linked = phase_linking.link(path, 5, output=out, resume=True)
    assert "resumed: 1 of 9 chunks were done before." in linked.notes
    equal(out, expected)
    whole = phase_linking.link(path, 5, output=out, resume=True)
    assert "nothing to do: all 9 chunks were done before." in whole.notes
    assert whole.counts == linked.counts == {**linked.counts, "CERTIFIED": 780, "CONVERGED": 780}
    assert whole.beta == linked.beta
    with pytest.raises(OutputError, match="there already"):
        phase_linking.link(path, 5, output=out)
    with pytest.raises(OutputError, match=r"beta was 0\.1 and is 0\.2; looks was not given and is 9"):
        phase_linking.link(path, 5, output=out, resume=True, beta=0.2, looks=9)
    with pytest.raises(OutputError, match=r"size of the chunks was \[10, 10\] and is \[6, 6\]"):
        phase_linking.link(path, 5, output=out, resume=True, chunk=6)
    mask = np.zeros(slc.shape[1:], dtype=bool)
    with pytest.raises(OutputError, match="mask was not given and is crc32"):
        phase_linking.link(path, 5, output=out, resume=True, mask=mask)
    zarr.open_array(str(path), mode="r+")[0, 29, 25] += 1
    with pytest.raises(OutputError, match="input was written again"):
        phase_linking.link(path, 5, output=out, resume=True)


def test_an_array_in_memory_is_resumed_and_another_one_is_refused(tmp_path, slc, expected):
    out = tmp_path / "out.zarr"
    with pytest.warns(AngsyncWarning, match="interrupted"):
        phase_linking.link(slc, 5, output=out, chunk=10, max_seconds=0)
    other = slc.copy()
    other[4, 29, 25] += 1
    with pytest.raises(OutputError, match="values of the input was"):
        phase_linking.link(other, 5, output=out, resume=True)
    phase_linking.link(slc, 5, output=out, resume=True)
    equal(out, expected)


@pytest.mark.parametrize("kind", ["absent", "cut off", "flipped"])
def test_a_chunk_of_the_input_that_is_no_good_is_named_and_the_rest_is_done(tmp_path, slc, expected, kind):
    path, out = stack(tmp_path / "slc.zarr", slc, (5, 10, 26)), tmp_path / "out.zarr"
    shutil.copytree(path, tmp_path / "kept.zarr")
    key = damage(path, (0, 0, 0), kind)
    with pytest.warns(AngsyncWarning, match="chunks failed: 2 of 5 .* 0_0 among them"):
        linked = phase_linking.link(path, 5, output=out, chunk=(7, 26))
    assert sorted(linked.failed) == ["0_0", "1_0"]  # rows 0 to 7 and 7 to 14: their windows need rows 0 to 10
    for reason in linked.failed.values():
        assert key in reason
    assert not linked.is_proved
    assert linked.counts["FAILED"] == 14 * 26
    equal(out, expected, np.s_[..., 14:, :])
    found = chunks.read(out, FIELDS)
    assert not found["certified"][:14].any()
    assert (found["status"][:14] == phase_linking.LinkStatus.INTERRUPTED).all()
    assert np.isnan(found["phase"][:, :14]).all()
    with pytest.raises(DamagedChunkError, match="chunk"):
        phase_linking.link(path, 5)  # in memory there is no part of an answer
    shutil.copy(tmp_path / "kept.zarr" / key, path / key)  # restored: what failed may be tried again
    mended = phase_linking.link(path, 5, output=out, resume=True)
    assert not mended.failed
    equal(out, expected)
    assert verify(out).is_complete


def test_chunks_that_hold_nothing_may_be_absent_where_the_caller_says_so(tmp_path, slc):
    slc = slc.copy()
    slc[:, :10] = 0
    path = stack(tmp_path / "slc.zarr", slc, (5, 10, 26))
    expected = phase_linking.link(slc, 5)
    file_of(path, (0, 0, 0)).unlink(missing_ok=True)
    linked = phase_linking.link(path, 5, output=tmp_path / "out.zarr", chunk=8, absent="empty")
    equal(tmp_path / "out.zarr", {name: np.asarray(vars(expected)[name]) for name in FIELDS})
    assert linked.counts["EMPTY"] == 260
    how = {"shape": slc.shape, "chunks": (5, 10, 26), "dtype": slc.dtype, "fill_value": 1j}
    zarr.create_array(str(tmp_path / "filled.zarr"), **how)[:, 10:] = slc[:, 10:]
    phase_linking.link(tmp_path / "filled.zarr", 5, output=tmp_path / "second.zarr", absent="empty")
    equal(tmp_path / "second.zarr", {name: np.asarray(vars(expected)[name]) for name in FIELDS})
    with pytest.raises(InputError, match="absent must be one of 'error', 'empty'"):
        phase_linking.link(path, 5, absent="fill")


def test_a_chunk_of_nan_is_flagged_and_never_certified(tmp_path, slc):
    slc = slc.copy()
    slc[:, 10:20, :13] = np.nan
    path = stack(tmp_path / "slc.zarr", slc, (5, 10, 13))
    linked = phase_linking.link(path, 5, output=tmp_path / "out.zarr", chunk=10)
    found = chunks.read(tmp_path / "out.zarr", FIELDS)
    assert not found["certified"][10:20, :13].any()
    assert (found["status"][10:20, :13] == phase_linking.LinkStatus.EMPTY).all()
    assert np.isnan(found["phase"][:, 10:20, :13]).all()
    assert linked.counts["EMPTY"] == 130
    assert verify(tmp_path / "out.zarr").is_complete  # chunks of nothing but NaN are written too


def test_memory_bounds_the_tiles(tmp_path, slc):
    path = stack(tmp_path / "slc.zarr", slc, (5, 8, 8))
    phase_linking.link(path, 5, output=tmp_path / "out.zarr", memory="67.2MB")
    assert max(chunks.read(tmp_path / "out.zarr", ["phase"])["phase"].chunks[1:]) < 26
    with pytest.raises(InputError, match="memory=1MB is too little"):
        phase_linking.link(path, 5, output=tmp_path / "other.zarr", memory="1MB")
    with pytest.raises(InputError, match="a size such as '1GB'"):
        phase_linking.link(path, 5, output=tmp_path / "other.zarr", memory="much")
    assert not (tmp_path / "other.zarr").exists()


def test_what_needs_a_zarr_store_says_so(tmp_path, slc):
    for how in ({"resume": True}, {"client": "tcp://nobody:1"}, {"max_seconds": 3.0}):
        with pytest.raises(InputError, match="a zarr store"):
            phase_linking.link(slc, 5, **how)


def test_a_client_without_the_library_is_told(tmp_path, slc, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"needs distributed.*angsync\[cluster\]"):
        phase_linking.link(slc, 5, output=tmp_path / "out.zarr", client="tcp://nobody:1")
    assert list(tmp_path.iterdir()) == []


def test_workers_open_the_images_themselves_and_give_the_same_bits(tmp_path, slc, expected, monkeypatch):
    distributed = pytest.importorskip("distributed")
    path = tmp_path / "slc.npy"
    np.save(path, slc)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        for given, name in ((path, "a.zarr"), (stack(tmp_path / "slc.zarr", slc, (5, 9, 9)), "b.zarr")):
            phase_linking.link(given, 5, output=tmp_path / name, chunk=11, client=cluster.scheduler_address)
            equal(tmp_path / name, expected)
    monkeypatch.setattr(chunked, "_SENT_BYTES", 100)
    with pytest.raises(InputError, match="an array in memory"):
        phase_linking.link(slc, 5, output=tmp_path / "c.zarr", client="tcp://host:1")


def test_a_saved_result_does_not_replace_the_store_of_another_program(tmp_path, slc):
    path = tmp_path / "images.zarr"
    zarr.save(str(path), slc)
    with pytest.raises(OutputError, match="another name"):
        phase_linking.link(slc, 5).save(path)
    np.testing.assert_array_equal(zarr.open(str(path), mode="r")[...], slc)


def test_resume_refuses_other_coordinates(tmp_path, slc):
    xarray = pytest.importorskip("xarray")
    first, second = (
        xarray.DataArray(slc, dims=("date", "y", "x"), coords={"y": np.arange(slc.shape[1]) + add}) for add in (0, 9.0)
    )
    out = tmp_path / "out.zarr"
    with pytest.warns(AngsyncWarning, match="interrupted"):
        phase_linking.link(first, 5, output=out, chunk=10, max_seconds=0)
    with pytest.raises(OutputError, match="coordinate y"):
        phase_linking.link(second, 5, output=out, resume=True)


def test_a_saved_result_can_be_verified_and_replaces_what_was_there(tmp_path, slc, expected):
    linked = phase_linking.link(slc, 5)
    for _ in range(2):
        linked.save(tmp_path / "saved.zarr")
    equal(tmp_path / "saved.zarr", expected)
    assert verify(tmp_path / "saved.zarr").is_complete
    assert [path.name for path in tmp_path.iterdir()] == ["saved.zarr"]


@pytest.mark.slow
def test_client_killed_at_30_and_60_percent_is_resumed_exactly(tmp_path, slc, expected):
    path, out, log = stack(tmp_path / "slc.zarr", slc, (5, 8, 8)), tmp_path / "out put.zarr", tmp_path / "log"
    marked = []
    for done in (6, 12, 100):
        command = [sys.executable, linking_work.__file__, str(path), str(out), str(log), str(done)]
        assert subprocess.run(command, timeout=120).returncode == (-9 if done < 20 else 0)
        marked.append({file.stem for file in (out / chunks.TASKS).glob("*_*.json")})
    assert [len(names) for names in marked] == [6, 12, 20]
    computed = log.read_text().split()
    assert len(computed) == len(set(computed)) == 20
    assert verify(out).is_complete
    equal(out, expected)


@pytest.mark.parametrize("library", ["dask", "xarray", "h5py"])
def test_arrays_of_other_libraries_are_resumed_and_another_one_is_refused(tmp_path, slc, expected, library):
    pytest.importorskip(library)

    def given(values):
        if library == "h5py":
            import h5py

            path = tmp_path / f"{values.sum().real}.h5"
            if not path.exists():
                with h5py.File(path, "w") as file:
                    file.create_dataset("slc", data=values, chunks=(5, 8, 8))
            return h5py.File(path)["slc"]
        from dask.array import from_array

        lazy = from_array(values, chunks=(5, 8, 8))
        if library == "dask":
            return lazy
        from xarray import DataArray

        return DataArray(lazy, dims=("date", "y", "x"), coords={"y": np.arange(30.0)})

    out = tmp_path / "out.zarr"
    with pytest.warns(AngsyncWarning, match="interrupted"):
        phase_linking.link(given(slc), 5, output=out, chunk=10, max_seconds=0)
    words = "input was written again" if library == "h5py" else "sample of the input was"
    turns = np.array([1, 1j, -1, -1j])[np.arange(len(slc)) % 4]  # exact: the moduli of all coherences stay
    for other in (0.5 * slc[::-1], slc * turns[:, None, None]):
        with pytest.raises(OutputError, match=words):
            phase_linking.link(given(other.astype(slc.dtype)), 5, output=out, resume=True)
    phase_linking.link(given(slc), 5, output=out, resume=True)
    equal(out, expected)


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path, slc, expected):
    room = tmp_path / "tiny disk"
    room.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=180k", "tmpfs", str(room)], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        out = room / "out.zarr"
        with pytest.raises(OutputError, match=r"No space left on device, and .* free"):
            phase_linking.link(slc, 5, output=out, chunk=(6, 7))
        found = verify(out)
        assert found.wrong == {}
        assert 0 < found.right < found.total
        subprocess.run(["mount", "-o", "remount,size=4m", str(room)], check=True)
        phase_linking.link(slc, 5, output=out, chunk=(6, 7), resume=True)
        equal(out, expected)
        assert verify(out).is_complete
    finally:
        subprocess.run(["umount", str(room)], check=True)


def test_another_variable_of_a_file_is_refused(tmp_path, slc):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "two.nc", "w") as file:
        file["hh"], file["vv"] = slc, slc.conj()
    out = tmp_path / "out.zarr"
    hh, vv = (phase_linking.read(tmp_path / "two.nc", name) for name in ("hh", "vv"))
    with pytest.warns(AngsyncWarning, match="interrupted"):
        phase_linking.link(hh, 5, output=out, chunk=10, max_seconds=0)
    with pytest.raises(OutputError, match="variable was hh and is vv"):
        phase_linking.link(vv, 5, output=out, resume=True)
