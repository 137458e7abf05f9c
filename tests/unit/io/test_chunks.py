"""Chunk by chunk into a store: done once, resumed exactly, refused if something differs, kept whatever happens."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import chunked_work
import numpy as np
import pytest
from chunked_work import SHAPE, work

from angsync.errors import FileFormatError, OutputError
from angsync.io import chunks
from angsync.io.chunks import TASKS, carry_out, check_output, verify

zarr = pytest.importorskip("zarr")
TOTAL = 9


def content(path):
    return {name: array[...] for name, array in chunks.read(path, ["twice", "small"]).items()}


def right(path):
    numbers = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE)
    found = content(path)
    np.testing.assert_array_equal(found["twice"], np.stack([2 * numbers, 3 * numbers]))
    np.testing.assert_array_equal(found["small"], numbers < 50)


def stop_after(count):
    """A progress that is interrupted when so many chunks are done."""

    def progress(done, total):
        if done == count:
            raise KeyboardInterrupt

    return progress


def begun(tmp_path, count, **how):
    """An output with so many chunks done."""
    out = tmp_path / "out.zarr"
    done = carry_out(work(tmp_path, **how), out, progress=stop_after(count))
    assert (done.interrupted, done.computed, len(done.missing)) == (True, count, TOTAL - count)
    return out


def test_carry_out_writes_every_chunk_once(tmp_path):
    told, log = [], tmp_path / "log"
    out = tmp_path / "two words.zarr"
    done = carry_out(work(tmp_path, log=str(log)), out, progress=lambda k, total: told.append((k, total)))
    right(out)
    assert (done.computed, done.found, done.failed, done.missing, done.interrupted) == (TOTAL, 0, {}, [], False)
    assert told == [(k, TOTAL) for k in range(1, TOTAL + 1)]
    assert sum(report["sum"] for report in done.reports.values()) == sum(range(140))
    assert verify(out).is_complete
    assert sorted(log.read_text().split()) == sorted(done.reports)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "numbers.npy", "two words.zarr"]


@pytest.mark.parametrize("sides", [(10, 14), (1, 3), (7, 14)])
def test_content_does_not_depend_on_the_chunks(tmp_path, sides):
    carry_out(work(tmp_path, sides=sides), tmp_path / "out.zarr")
    right(tmp_path / "out.zarr")


def test_resume_computes_exactly_what_is_missing(tmp_path):
    log = tmp_path / "log"
    out = begun(tmp_path, 4, log=str(log))
    second = carry_out(work(tmp_path, log=str(log)), out, resume=True)
    assert (second.found, second.computed, second.missing) == (4, 5, [])
    assert len(log.read_text().split()) == len(set(log.read_text().split())) == TOTAL
    third = carry_out(work(tmp_path), out, resume=True)
    assert (third.found, third.computed) == (TOTAL, 0)
    right(out)


def test_time_limit_keeps_what_is_done(tmp_path):
    done = carry_out(work(tmp_path), tmp_path / "out.zarr", max_seconds=0)
    assert done.interrupted
    assert done.computed == 1
    assert not carry_out(work(tmp_path), tmp_path / "out.zarr", resume=True, max_seconds=60).interrupted
    right(tmp_path / "out.zarr")


def test_kill_between_data_and_marker_leaves_the_chunk_to_do(tmp_path):
    work(tmp_path)
    out = tmp_path / "out.zarr"
    command = [sys.executable, chunked_work.__file__, str(tmp_path), str(out), "2_2"]
    assert subprocess.run(command, timeout=120).returncode == -9
    assert verify(out).unfinished == ["2_2"]
    for file in out.glob("twice/c/*/2/2"):  # also cut off in the middle of the writing
        file.write_bytes(file.read_bytes()[:7])
    done = carry_out(work(tmp_path), out, resume=True)
    assert (done.found, done.computed) == (8, 1)
    assert verify(out).is_complete
    right(out)


def test_failed_chunks_are_named_and_the_rest_is_done(tmp_path):
    out = tmp_path / "out.zarr"
    done = carry_out(work(tmp_path, bad=("0_1", "2_0")), out)
    assert done.failed == {name: f"ValueError: no luck with {name}" for name in ("0_1", "2_0")}
    assert (done.computed, done.interrupted) == (TOTAL - 2, False)
    assert np.isnan(content(out)["twice"][:, 8:, :5]).all()
    found = verify(out)
    assert (found.right, found.failed, found.unfinished) == (TOTAL - 2, done.failed, [])
    again = carry_out(work(tmp_path), out, resume=True)
    assert (again.computed, again.failed) == (2, {})
    assert verify(out).is_complete
    right(out)


@contextmanager
def largest_file(size):
    """A disk that is full, as far as files above this size are concerned."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_keeps_finished_chunks(tmp_path):
    out = begun(tmp_path, 4)
    with largest_file(60), pytest.raises(OutputError, match=r"File too large.*bytes are free"):
        carry_out(work(tmp_path), out, resume=True)
    found = verify(out)
    assert (found.right, found.wrong, len(found.unfinished)) == (4, {}, TOTAL - 4)
    assert carry_out(work(tmp_path), out, resume=True).computed == TOTAL - 4
    right(out)


def test_full_disk_at_once_leaves_nothing(tmp_path):
    made = work(tmp_path)
    with largest_file(10), pytest.raises(OutputError, match="File too large"):
        carry_out(made, tmp_path / "out.zarr")
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.npy"]


def test_scheduler_that_does_not_answer_leaves_nothing(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(OutputError.__base__, match="no scheduler"):
        carry_out(work(tmp_path), tmp_path / "out.zarr", client="tcp://127.0.0.1:9")
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.npy"]


def test_what_is_there_is_not_written_over(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    with pytest.raises(OutputError, match="there already"):
        carry_out(work(tmp_path), out)
    right(out)
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    (tmp_path / "file.zarr").write_text("dear")
    for name in ("other.zarr", "file.zarr"):
        for resume in (False, True):
            with pytest.raises(OutputError, match="not a zarr store that angsync wrote"):
                carry_out(work(tmp_path), tmp_path / name, resume=resume)
    with pytest.raises(OutputError, match="does not exist"):
        check_output(tmp_path / "gone" / "out.zarr")


def test_second_client_is_refused_and_hurts_nothing(tmp_path):
    out = tmp_path / "out.zarr"

    def another_comes(done, total):
        with pytest.raises(OutputError, match="another client"):
            carry_out(work(tmp_path), out, resume=True)

    assert carry_out(work(tmp_path), out, progress=another_comes).computed == TOTAL
    right(out)


def test_second_process_is_refused_while_the_first_lives(tmp_path):
    out = tmp_path / "out.zarr"
    command = [sys.executable, chunked_work.__file__, str(tmp_path), str(out)]
    seen = []

    def another_comes(done, total):
        if done == 1:
            seen.append(subprocess.run(command, capture_output=True, text=True, timeout=120))
            raise KeyboardInterrupt

    carry_out(work(tmp_path), out, progress=another_comes)
    assert seen[0].returncode == 1
    assert "another client" in seen[0].stderr
    assert subprocess.run(command, timeout=120).returncode == 0
    right(out)


def test_resume_of_nothing_begins_it(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    for name in ("none.zarr", "empty.zarr"):
        assert carry_out(work(tmp_path), tmp_path / name, resume=True).computed == TOTAL
        right(tmp_path / name)


def test_resume_refuses_other_settings_and_names_them(tmp_path, monkeypatch):
    out = begun(tmp_path, 3)
    with pytest.raises(OutputError, match=r"factor was 1\.0 and is 2\.0"):
        carry_out(work(tmp_path, factor=2.0), out, resume=True)
    with pytest.raises(OutputError, match=r"size of the chunks was \[4, 5\] and is \[5, 5\]"):
        carry_out(work(tmp_path, sides=(5, 5)), out, resume=True)
    monkeypatch.setattr("angsync.__version__", "9.9")
    with pytest.raises(OutputError, match=r"version of angsync was .* and is 9\.9"):
        carry_out(work(tmp_path), out, resume=True)
    monkeypatch.undo()
    np.save(tmp_path / "numbers.npy", np.zeros((9, 14)))
    with pytest.raises(OutputError, match=r"shape of the input was \[10, 14\] and is \[9, 14\]"):
        carry_out(work(tmp_path), out, resume=True)
    assert len(verify(out).unfinished) == TOTAL - 3


def test_resume_refuses_an_input_that_was_written_again(tmp_path):
    out = begun(tmp_path, 3)
    path = tmp_path / "numbers.npy"
    before = path.stat()
    os.utime(path, ns=(1, before.st_mtime_ns + 1))
    with pytest.raises(OutputError, match="input was written again"):
        carry_out(work(tmp_path), out, resume=True)
    os.utime(path, ns=(1, before.st_mtime_ns))
    carry_out(work(tmp_path), out, resume=True)
    right(out)


def test_input_that_changes_during_the_run_is_refused(tmp_path):
    out = tmp_path / "out.zarr"

    def change(done, total):
        if done == 4:
            os.utime(tmp_path / "numbers.npy", ns=(1, 1))

    with pytest.raises(OutputError, match="input was written again"):
        carry_out(work(tmp_path), out, progress=change)
    assert len(verify(out).unfinished) == 4


def test_output_file_that_is_gone_is_computed_again(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    (out / "small" / "c" / "1" / "2").unlink()
    done = carry_out(work(tmp_path), out, resume=True)
    assert (done.found, done.computed) == (TOTAL - 1, 1)
    right(out)
    shutil.rmtree(out / "small")
    with pytest.raises(OutputError, match="cannot resume"):
        carry_out(work(tmp_path), out, resume=True)


def test_damaged_metadata_are_named(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    (out / "zarr.json").write_text("{")
    with pytest.raises(OutputError, match="damaged"):
        carry_out(work(tmp_path), out, resume=True)
    with pytest.raises(FileFormatError, match="damaged"):
        verify(out)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_read_only_folder_is_told_before_any_work(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        check_output(tmp_path / "closed" / "out.zarr")


def test_two_tasks_of_one_chunk_write_once(tmp_path):
    """As when Dask gives up a worker that is still alive."""
    out = begun(tmp_path, 3)
    layouts = {name: one.layout for name, one in work(tmp_path).fields.items()}
    task = chunks._Task(str(out), chunks.plan_of(out)["id"], layouts, work(tmp_path).compute)
    chunk = list(work(tmp_path).grid)[5]
    first = task(chunk)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    time.sleep(0.02)
    assert task(chunk) == first
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == times
    shutil.rmtree(out)
    carry_out(work(tmp_path, factor=2.0), out)  # another output of the same name
    (out / TASKS / f"{chunk.name}.json").unlink()
    with pytest.raises(OutputError, match="replaced by another output"):
        task(chunk)


# Verify


def test_verify_finds_a_flipped_byte(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    file = out / "twice" / "c" / "0" / "1" / "1"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    found = verify(out)
    assert (list(found.wrong), found.right) == (["1_1"], TOTAL - 1)
    assert "twice/c/0/1/1 cannot be read" in found.wrong["1_1"]
    assert not found.is_complete


def test_verify_finds_a_missing_chunk(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    (out / "small" / "c" / "2" / "0").unlink()
    found = verify(out)
    assert found.wrong == {"2_0": "the file small/c/2/0 is missing"}
    assert not found.is_complete


def test_verify_finds_an_unfinished_chunk(tmp_path):
    out = begun(tmp_path, TOTAL - 1)
    told = []
    found = verify(out, lambda k, total: told.append((k, total)))
    assert (found.unfinished, found.wrong, found.failed, found.right) == (["2_2"], {}, {}, TOTAL - 1)
    assert not found.is_complete
    assert told[-1] == (TOTAL, TOTAL)


def test_unmarked_chunks_and_coordinates_are_written_again(tmp_path):
    xarray = pytest.importorskip("xarray")
    beside = xarray.Dataset(coords={"x": np.arange(14) / 2, "orbit": ("y", np.arange(10))})
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path, beside=beside), out)
    for file in (out / "twice" / "c" / "0" / "0" / "0", out / "x" / "c" / "0"):
        file.write_bytes(file.read_bytes()[:-1] + b"\0")
    (out / TASKS / "0_1.json").write_text("{")
    (out / "orbit" / "c" / "0").unlink()
    found = verify(out, unmark=True)
    assert sorted(found.coordinates) == ["orbit", "x"]
    assert (list(found.wrong), found.unfinished) == (["0_0"], ["0_1"])
    assert carry_out(work(tmp_path, beside=beside), out, resume=True).computed == 2
    assert verify(out).is_complete
    np.testing.assert_array_equal(zarr.open_group(str(out), mode="r")["x"][...], np.arange(14) / 2)
    right(out)


def test_verify_refuses_what_is_not_such_a_store(tmp_path):
    with pytest.raises(FileFormatError, match="there is no store"):
        verify(tmp_path / "gone.zarr")
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    (tmp_path / "empty").mkdir()
    for name in ("other.zarr", "empty"):
        with pytest.raises(FileFormatError, match="not a zarr store that angsync wrote"):
            verify(tmp_path / name)


# What an input is


def test_facts_of_an_array_in_memory_change_with_every_value():
    images = (np.arange(3 * 40 * 50).reshape(3, 40, 50) + 1j).astype(np.complex64)
    other = images.copy()
    other[2, 39, 49] += 1
    assert chunks.facts_of(images) == chunks.facts_of(images.copy()) == chunks.facts_of(np.asfortranarray(images))
    assert chunks.facts_of(images) != chunks.facts_of(other)
    masked = np.ma.masked_array(images, images.real == 7)
    assert chunks.facts_of(masked) != chunks.facts_of(np.ma.masked_array(images, images.real == 8))


def test_stamp_changes_with_the_files_behind_a_box(tmp_path):
    array = zarr.open_array(str(tmp_path / "C.zarr"), mode="w", shape=(4, 6), chunks=(2, 3), dtype="f8")
    array[...] = 1
    boxes = [(slice(0, 2), slice(0, 6)), (slice(2, 4), slice(0, 6))]
    before = [chunks.stamp_of(array, None, box) for box in boxes]
    (tmp_path / "C.zarr" / "c" / "1" / "1").unlink()
    after = [chunks.stamp_of(array, None, box) for box in boxes]
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)


@pytest.mark.parametrize("content", ["{", "3", '{"stamp": ""}'])
def test_markers_that_are_not_whole_do_not_count(tmp_path, content):
    out = begun(tmp_path, 3)
    next((out / TASKS).glob("*_*.json")).write_text(content)
    assert len(verify(out).unfinished) == TOTAL - 2
    carry_out(work(tmp_path), out, resume=True)
    right(out)


def test_stores_with_a_plan_that_is_not_whole_are_refused(tmp_path):
    zarr.open_group(str(tmp_path / "out.zarr"), mode="w").attrs["angsync"] = {}
    with pytest.raises(FileFormatError, match="metadata"):
        verify(tmp_path / "out.zarr")
