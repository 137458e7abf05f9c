"""Chunk by chunk into a store: done once, resumed exactly, refused where something differs, kept whatever happens."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chunked_work import SHAPE, SIDES, work

from angsync.errors import FileFormatError, OutputError
from angsync.io.chunked import arrays, manifest, markers
from angsync.io.chunked.grid import Grid
from angsync.io.chunked.runner import in_process
from angsync.io.chunked.verify import verify
from angsync.io.chunked.work import carry_out, check_output

zarr = pytest.importorskip("zarr")
TOTAL = 9


def content(path):
    return {name: array[...] for name, array in arrays.open_arrays(path, ["twice", "small"]).items()}


def right(path):
    numbers = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE)
    found = content(path)
    np.testing.assert_array_equal(found["twice"], np.stack([2 * numbers, 3 * numbers]))
    np.testing.assert_array_equal(found["small"], numbers < 50)


def some(count):
    """A runner that is interrupted after so many chunks."""

    def run(task, chunks):
        for k, outcome in enumerate(in_process(task, chunks)):
            if k == count:
                raise KeyboardInterrupt
            yield outcome

    return run


def test_a_work_is_done_chunk_by_chunk_in_a_folder_with_spaces(tmp_path):
    told = []
    out = tmp_path / "two words.zarr"
    done = carry_out(work(tmp_path), out, progress=lambda k, total: told.append((k, total)))
    right(out)
    assert (done.computed, done.found, done.failed, done.missing, done.interrupted) == (TOTAL, 0, {}, [], False)
    assert told == [(k, TOTAL) for k in range(1, TOTAL + 1)]
    assert sum(report["sum"] for report in done.reports.values()) == sum(range(140))
    assert verify(out).is_complete
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    names = {path.name for path in (out / "_manifest").iterdir()} - {"zarr.json", ".zgroup"}
    assert names == {"plan.json", "input.json", *(f"{chunk.name}.json" for chunk in Grid(SHAPE, SIDES))}


@pytest.mark.parametrize("sides", [(10, 14), (1, 3), (7, 14)])
def test_the_content_does_not_depend_on_the_chunks(tmp_path, sides):
    carry_out(work(tmp_path, sides=sides), tmp_path / "out.zarr")
    right(tmp_path / "out.zarr")


def test_an_interrupted_work_is_resumed_with_exactly_what_is_missing(tmp_path):
    out, log = tmp_path / "out.zarr", tmp_path / "log"
    first = carry_out(work(tmp_path, log=str(log)), out, runner=some(4))
    assert first.interrupted
    assert (first.computed, len(first.missing)) == (4, 5)
    # the fifth was computed and marked before Ctrl-C came: what counts is the marker, not what the client saw
    second = carry_out(work(tmp_path, log=str(log)), out, resume=True)
    assert (second.found, second.computed, second.missing) == (5, 4, [])
    assert len(log.read_text().split()) == len(set(log.read_text().split())) == TOTAL
    third = carry_out(work(tmp_path), out, resume=True)
    assert (third.found, third.computed) == (TOTAL, 0)
    assert verify(out).again == {}
    right(out)


def test_a_time_limit_keeps_what_is_done(tmp_path):
    done = carry_out(work(tmp_path), tmp_path / "out.zarr", max_seconds=0)
    assert done.interrupted
    assert done.computed == 1
    right_after = carry_out(work(tmp_path), tmp_path / "out.zarr", resume=True, max_seconds=60)
    assert not right_after.interrupted
    right(tmp_path / "out.zarr")


def test_a_process_that_dies_between_the_writing_and_the_marker_leaves_a_chunk_to_do(tmp_path, monkeypatch):
    out = tmp_path / "out.zarr"
    real = markers.write

    def dies(store, name, *rest):
        if name == "2_2":  # on the edge: zarr reads what is there to write a part of a chunk
            raise KeyboardInterrupt
        return real(store, name, *rest)

    monkeypatch.setattr(markers, "write", dies)
    assert carry_out(work(tmp_path), out).interrupted
    monkeypatch.undo()
    for file in (out / "twice").rglob("*"):
        if file.is_file() and file.suffix != ".json" and not file.name.startswith(".z") and "2" in file.name[-1]:
            file.write_bytes(file.read_bytes()[:7])  # and cut off in the middle of the writing
    for name in ("0_2", "1_2"):
        markers.forget(out, name)
    done = carry_out(work(tmp_path), out, resume=True)
    assert done.computed == 3
    assert verify(out).is_complete
    right(out)


def test_failed_chunks_are_named_and_the_rest_is_done(tmp_path):
    out = tmp_path / "out.zarr"
    done = carry_out(work(tmp_path, bad=("0_1", "2_0")), out)
    assert done.failed == {name: f"ValueError: no luck with {name}" for name in ("0_1", "2_0")}
    assert done.computed == TOTAL - 2
    kept = json.loads((out / "_manifest" / "failed.json").read_text())["chunks"]
    assert kept["2_0"] == {"place": [[8, 0], [10, 5]], "reason": "ValueError: no luck with 2_0", "input": []}
    assert np.isnan(content(out)["twice"][:, 8:, :5]).all()
    found = verify(out)
    assert (found.right, list(found.failed), found.unfinished) == (TOTAL - 2, ["0_1", "2_0"], [])
    again = carry_out(work(tmp_path), out, resume=True)
    assert (again.computed, again.failed) == (2, {})
    assert not (out / "_manifest" / "failed.json").exists()
    right(out)


def test_a_run_that_is_killed_has_noted_what_failed_so_that_it_can_be_mended(tmp_path):
    out = tmp_path / "out.zarr"

    def killed(task, chunks):
        yield from in_process(task, chunks[:3])
        raise SystemExit  # nothing after it is done, as after SIGKILL

    with pytest.raises(SystemExit):
        carry_out(replace(work(tmp_path, bad=("0_1",)), reads=lambda chunk: ["numbers.npy"]), out, runner=killed)
    assert manifest.read_failed(out)["0_1"]["input"] == ["numbers.npy"]
    os.utime(tmp_path / "numbers.npy", ns=(1, 1))
    assert carry_out(replace(work(tmp_path), reads=lambda chunk: ["numbers.npy"]), out, resume=True).missing == []
    right(out)


def test_a_full_disk_is_told_with_path_and_bytes_and_finished_chunks_are_kept(tmp_path, monkeypatch):
    out = tmp_path / "out.zarr"
    real = markers.write

    def full(store, name, *rest):
        if name == "1_1":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(store, name, *rest)

    monkeypatch.setattr(markers, "write", full)
    with pytest.raises(OutputError, match=r"out\.zarr: No space left on device\. Chunk 1_1 .* has 340 bytes") as error:
        carry_out(work(tmp_path), out)
    assert "bytes are free" in str(error.value)
    monkeypatch.undo()
    found = verify(out)
    assert (found.right, found.wrong, len(found.unfinished)) == (4, {}, TOTAL - 4)
    assert carry_out(work(tmp_path), out, resume=True).computed == TOTAL - 4
    right(out)


def test_a_runner_that_cannot_begin_leaves_nothing(tmp_path):
    def nobody(task, chunks):
        raise OSError("no scheduler answers")
        yield

    with pytest.raises(OSError, match="no scheduler"):
        carry_out(work(tmp_path), tmp_path / "out.zarr", runner=nobody)
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.npy"]
    carry_out(work(tmp_path), tmp_path / "out.zarr", runner=some(3))
    with pytest.raises(OSError, match="no scheduler"):
        carry_out(work(tmp_path), tmp_path / "out.zarr", runner=nobody, resume=True)
    assert verify(tmp_path / "out.zarr").right == 4


def test_what_is_there_is_not_written_over(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    with pytest.raises(OutputError, match=r"there already.*--resume"):
        carry_out(work(tmp_path), out)
    right(out)
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    (tmp_path / "file.zarr").write_text("dear")
    for name in ("other.zarr", "file.zarr"):
        for resume in (False, True):
            with pytest.raises(OutputError, match="not written chunk by chunk by angsync"):
                carry_out(work(tmp_path), tmp_path / name, resume=resume)
    with pytest.raises(OutputError, match="does not exist"):
        check_output(tmp_path / "gone" / "out.zarr")


def test_a_second_client_is_refused_and_hurts_nothing(tmp_path):
    out = tmp_path / "out.zarr"

    def another_comes(task, chunks):
        for outcome in in_process(task, chunks):
            with pytest.raises(OutputError, match="being written by another client, process"):
                carry_out(work(tmp_path), out, resume=True)
            yield outcome

    assert carry_out(work(tmp_path), out, runner=another_comes).computed == TOTAL
    right(out)
    assert not (out / "_manifest" / "lock").exists()


def test_resuming_what_is_not_there_begins_it(tmp_path):
    (tmp_path / "empty.zarr").mkdir()
    for name in ("none.zarr", "empty.zarr"):
        assert carry_out(work(tmp_path), tmp_path / name, resume=True).computed == TOTAL
        right(tmp_path / name)


def test_a_resumed_run_has_to_agree_with_the_first_and_is_told_what_differs(tmp_path, monkeypatch):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out, runner=some(3))
    with pytest.raises(OutputError, match=r"factor was 1\.0 and is 2\.0"):
        carry_out(work(tmp_path, factor=2.0), out, resume=True)
    with pytest.raises(OutputError, match=r"the chunks were \[4, 5\] and are \[5, 5\]"):
        carry_out(work(tmp_path, sides=(5, 5)), out, resume=True)
    monkeypatch.setattr("angsync.__version__", "9.9")
    with pytest.raises(OutputError, match=r"angsync was .* and is 9\.9"):
        carry_out(work(tmp_path), out, resume=True)
    monkeypatch.undo()
    assert len(manifest.read_plan(out)["id"]) == 32
    shutil.copy(tmp_path / "numbers.npy", tmp_path / "before.npy")
    numbers = np.load(tmp_path / "numbers.npy")
    numbers[9, 13] += 1  # the same size, elsewhere than what is done
    time.sleep(0.02)
    np.save(tmp_path / "numbers.npy", numbers)
    with pytest.raises(OutputError, match=r"numbers\.npy of the input was written again"):
        carry_out(work(tmp_path), out, resume=True)
    np.save(tmp_path / "numbers.npy", numbers[:9])
    with pytest.raises(OutputError, match=r"the shape of the input was \[10, 14\] and is \[9, 14\].*bytes"):
        carry_out(work(tmp_path), out, resume=True)
    assert len(verify(out).unfinished) == TOTAL - 4


def comparing(folder, **how):
    """A work that can tell whether what is done is what the input gives now."""
    made = work(folder, **how)
    return replace(made, still=made.compute.still)


def test_a_copy_of_the_input_is_the_same_input_and_other_values_are_not(tmp_path):
    out, path = tmp_path / "out.zarr", tmp_path / "numbers.npy"
    carry_out(comparing(tmp_path), out, runner=some(3))
    os.utime(path, ns=(1, 1))  # as a copy has another time
    assert carry_out(comparing(tmp_path), out, runner=some(1), resume=True).found == 4
    numbers = np.load(path)
    numbers[0, 0] += 1
    np.save(path, numbers)
    with pytest.raises(OutputError, match=r"numbers\.npy of the input was written again: chunk 0_0 .* other values"):
        carry_out(comparing(tmp_path), out, resume=True)
    numbers[0, 0] -= 1
    np.save(path, numbers)
    assert carry_out(comparing(tmp_path), out, resume=True).missing == []
    right(out)


def test_an_input_without_files_is_compared_by_what_is_done(tmp_path):
    out, path = tmp_path / "out.zarr", tmp_path / "numbers.npy"

    def given():
        made = comparing(tmp_path)
        return replace(made, source=made.source._replace(files={}))

    carry_out(given(), out, runner=some(3))
    numbers = np.load(path)
    np.save(path, numbers + 1)
    with pytest.raises(OutputError, match=r"the input is another one: chunk 0_0 .* was made of other values"):
        carry_out(given(), out, resume=True)
    np.save(path, numbers)
    carry_out(given(), out, resume=True)
    right(out)


def test_what_is_decided_anew_holds_for_every_chunk(tmp_path):
    out, log = tmp_path / "out.zarr", tmp_path / "log"
    carry_out(replace(work(tmp_path, log=str(log)), kept={"order": None}), out)
    done = carry_out(replace(work(tmp_path, log=str(log)), kept={"order": [1, 0]}), out, resume=True)
    assert (done.found, done.computed) == (0, TOTAL)
    assert manifest.read_plan(out)["kept"] == {"order": [1, 0]}
    assert carry_out(replace(work(tmp_path), kept={"order": [1, 0]}), out, resume=True).found == TOTAL


def test_a_chunk_of_the_output_that_is_gone_is_done_again(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    opened = arrays.open_arrays(out, ["small"])["small"]
    (out / arrays.key_of(opened, (1, 2))).unlink()
    done = carry_out(work(tmp_path), out, resume=True)
    assert (done.found, done.computed) == (TOTAL - 1, 1)
    right(out)
    shutil.rmtree(out / "small")
    with pytest.raises(OutputError, match=r"cannot resume .*: its arrays cannot be opened"):
        carry_out(work(tmp_path), out, resume=True)


def test_a_damaged_plan_is_named(tmp_path):
    out = tmp_path / "out.zarr"
    carry_out(work(tmp_path), out)
    (out / "_manifest" / "plan.json").write_text("{")
    with pytest.raises(OutputError, match=r"plan\.json is damaged.*Restore"):
        carry_out(work(tmp_path), out, resume=True)
    with pytest.raises(FileFormatError, match=r"plan\.json is damaged"):
        verify(out)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_told_before_any_work(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        check_output(tmp_path / "closed" / "out.zarr")


def test_a_read_only_output_is_told_before_any_work(tmp_path, monkeypatch):
    def closed(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    given = work(tmp_path, log=str(tmp_path / "log"))
    monkeypatch.setattr("tempfile.mkstemp", closed)
    with pytest.raises(OutputError, match=r"cannot write .*out\.zarr: Read-only file system in "):
        carry_out(given, tmp_path / "out.zarr")
    assert not (tmp_path / "out.zarr").exists()
    assert not Path(tmp_path / "log").exists()
