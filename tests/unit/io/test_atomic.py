"""Outputs are complete, or not there at all; files also in the tests of every format."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from angsync.errors import InputError, OutputError
from angsync.io.atomic import atomic_open, report_folder


def test_folder_is_made_and_stays(tmp_path):
    with report_folder(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "page").write_text("x")
    assert (tmp_path / "a" / "b" / "page").read_text() == "x"


def test_folder_goes_away_when_the_work_fails(tmp_path):
    with pytest.raises(InputError, match="sigma"), report_folder(tmp_path / "a" / "b"):
        raise InputError("sigma is wrong")
    assert list((tmp_path / "a").iterdir()) == []


def test_what_was_there_before_stays_when_the_work_fails(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(KeyboardInterrupt), report_folder(tmp_path / "a" / "b"):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("name", ["file", "file/deeper"])
def test_folder_that_cannot_be_made(tmp_path, name):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=r"cannot create the folder .*file"), report_folder(tmp_path / name):
        raise AssertionError("no work without a folder")
    assert (tmp_path / "file").read_text() == "x"


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    target, link = tmp_path / "inside" / "target.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    for text in ("first", "second"):
        with atomic_open(link) as stream:
            stream.write(text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inside", "link.txt", "target.txt"]


def test_devices_are_no_outputs(tmp_path: Path) -> None:
    device = tmp_path / "device.txt"
    device.symlink_to(os.devnull)
    with pytest.raises(OutputError, match=r"device\.txt: it is a pipe or a device"), atomic_open(device):
        pass


def test_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").touch()
    with atomic_open(tmp_path / "out.txt") as stream:
        stream.write("x")
    assert (tmp_path / "out.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_a_full_disk_is_one_message_with_the_name(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")

    def write_half() -> None:
        with atomic_open(path) as stream:
            stream.write("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match=r"out\.txt: No space left"):
        write_half()
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_text_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="lone surrogate"), atomic_open(tmp_path / "out.txt") as stream:
        stream.write("a\ud800")
    assert list(tmp_path.iterdir()) == []
