"""What a checkpoint belongs to, and files that no solve can have written."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
import scipy.sparse.linalg
from checkpoints import Stored, solved, with_every_write

import angsync as ang
from angsync.errors import AngsyncWarning, FileFormatError, InputError
from angsync.pipeline import journal as module
from angsync.pipeline.checkpoint import Checkpoint
from angsync.problem.operators import streamed


@pytest.mark.parametrize("precision", [np.complex128, np.complex64])
@pytest.mark.parametrize("stored_first", [True, False])
def test_the_same_matrix_on_disk_and_in_memory_is_the_same_solve(stored_first, precision, tmp_path, monkeypatch):
    monkeypatch.setattr(streamed, "LOADED_UP_TO_BYTES", 1000)
    C = ang.simulate.gaussian(120, 3.0, rng=1).C.astype(precision)
    first, then = (Stored(C), C) if stored_first else (C, Stored(C))
    result, copies = with_every_write(first, tmp_path, monkeypatch)
    again = solved(then, checkpoint=Checkpoint(copies[-1], resume=True))
    assert again.objective == pytest.approx(result.objective, rel=1e-12 if precision is np.complex128 else 1e-6)
    assert again.certificate.verdict is result.certificate.verdict


def test_a_matrix_and_an_operator_are_told_apart(tmp_path, monkeypatch):
    C = ang.simulate.gaussian(60, 2.0, rng=1).C
    _, copies = with_every_write(scipy.sparse.linalg.aslinearoperator(C), tmp_path, monkeypatch)
    with pytest.raises(InputError, match="made from an operator that is known by its products alone"):
        ang.synchronize(C, checkpoint=Checkpoint(copies[-1], resume=True))


def test_any_random_numbers_are_those_of_the_file(tmp_path, monkeypatch):
    data = ang.simulate.gaussian(40, 7.0, rng=1).C
    result, copies = with_every_write(data, tmp_path, monkeypatch, rng=None)
    for copy in (copies[0], copies[len(copies) // 2], copies[-1]):
        path = shutil.copy(copy, tmp_path / "again")
        again = solved(data, rng=None, checkpoint=Checkpoint(path, resume=True))
        assert again.starts.objectives[:2] == pytest.approx(result.starts.objectives[:2], rel=1e-9)
    with pytest.raises(InputError, match="rng"):
        ang.synchronize(data, rng=3, checkpoint=Checkpoint(copies[-1], resume=True))


def set_entry(name, value, kind):
    def change(arrays, parts):
        for part in parts.values():
            for entry in part["entries"]:
                if entry["kind"] == kind:
                    entry[name] = value

    return change


def set_array(name, value):
    return lambda arrays, parts: arrays.update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        set_entry("z", None, "point"),
        set_entry("facts", {}, "run"),
        set_entry("facts", {"products": -1}, "run"),
        set_entry("facts", {"products": 3, "status": "BEST"}, "run"),
        set_array("is_image", np.array(["x"] * 40)),
        set_array("is_rows", np.array(["x"] * 40)),
    ],
)
def test_what_no_solve_can_have_written_is_one_error_about_the_file(change, tmp_path, monkeypatch):
    C = ang.simulate.gaussian(40, 7.0, rng=1).C
    _, copies = with_every_write(C, tmp_path, monkeypatch)
    with np.load(copies[-1]) as found:
        arrays = dict(found)
    metadata = json.loads(str(arrays["metadata"]))
    change(arrays, metadata["parts"])
    arrays["metadata"] = np.array(json.dumps(metadata))
    with open(copies[-1], "wb") as stream:
        np.savez(stream, **arrays)
    with pytest.raises(FileFormatError, match=copies[-1].name):
        solved(C, checkpoint=Checkpoint(copies[-1], resume=True))


def test_the_file_of_another_solve_is_not_removed_at_the_end(tmp_path):
    C = ang.simulate.gaussian(n=40, sigma=0.5, rng=0).C
    kept = Checkpoint(tmp_path / "check", every_seconds=0, keep=True)
    other = Checkpoint(tmp_path / "other", every_seconds=0, keep=True)
    solved(C, checkpoint=kept)
    solved(C, checkpoint=other)
    shutil.copy(tmp_path / "other", tmp_path / "check")
    kept.remove()
    assert (tmp_path / "check").exists()
    other.remove()
    assert not (tmp_path / "other").exists()


def test_a_file_that_is_no_checkpoint_is_neither_asked_to_be_removed_nor_replaced(tmp_path):
    C = ang.simulate.gaussian(n=40, sigma=0.5, rng=0).C
    mine = tmp_path / "mine.txt"
    mine.write_text("years of work")
    for resume in (False, True):
        with pytest.raises((InputError, FileFormatError), match="no checkpoint") as told:
            ang.synchronize(C, checkpoint=Checkpoint(mine, resume=resume))
        assert "remove" not in str(told.value)
    journal = module.Journal.opened(Checkpoint(tmp_path / "late"), {})
    (tmp_path / "late").write_text("years of work")
    journal._changed = True
    with pytest.warns(AngsyncWarning, match="late"):
        journal.write()
    assert (tmp_path / "late").read_text() == "years of work"


def test_a_generator_may_be_used_again_by_the_call_that_goes_on(tmp_path):
    data = ang.simulate.gaussian(40, 7.0, rng=1).C
    path, rng = tmp_path / "check", np.random.default_rng(7)
    expected = solved(data, rng=np.random.default_rng(7), start="random")
    few = ang.Stopping(max_iterations=3)
    assert not solved(
        data, rng=rng, start="random", stopping=few, checkpoint=Checkpoint(path, every_seconds=0)
    ).converged
    again = solved(data, rng=rng, start="random", checkpoint=Checkpoint(path, resume=True))
    assert again.objective == pytest.approx(expected.objective, rel=1e-12)
    assert rng.bit_generator.state != np.random.default_rng(7).bit_generator.state  # this one went to its end


def test_what_a_link_points_to_is_removed_at_the_end_and_the_link_stays(tmp_path):
    data = ang.simulate.gaussian(n=40, sigma=0.5, rng=0).C
    target, link = tmp_path / "target", tmp_path / "link"
    os.symlink(target, link)
    kept = Checkpoint(link, every_seconds=0, keep=True)
    solved(data, checkpoint=kept)
    assert target.exists()
    solved(data, checkpoint=Checkpoint(link, every_seconds=0, resume=True))
    assert not target.exists()
    assert link.is_symlink()


def test_a_name_that_no_file_can_have(tmp_path):
    with pytest.raises(InputError, match="name of a file"):
        Checkpoint("a\0b")


def test_a_damaged_table_of_contents_is_one_error_about_the_file(tmp_path, monkeypatch):
    C = ang.simulate.gaussian(n=40, sigma=0.5, rng=0).C
    _, copies = with_every_write(C, tmp_path, monkeypatch)
    content = bytearray(copies[0].read_bytes())
    content[content.rindex(b"owner.npy") - 36] ^= 0x10  # how it is compressed: in a way that nobody knows
    copies[0].write_bytes(bytes(content))
    with pytest.raises(FileFormatError, match=copies[0].name):
        solved(C, checkpoint=Checkpoint(copies[0], resume=True))
