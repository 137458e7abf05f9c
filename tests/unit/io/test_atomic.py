"""Outputs are complete, or not there at all: folders here, files in the tests of every format."""

from __future__ import annotations

import pytest

from angsync.errors import InputError, OutputError
from angsync.io.atomic import report_folder


def test_folder_is_made_and_stays(tmp_path):
    with report_folder(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "page").write_text("x")
    assert (tmp_path / "a" / "b" / "page").read_text() == "x"


def test_folder_goes_away_when_the_work_fails(tmp_path):
    with pytest.raises(InputError, match="sigma"), report_folder(tmp_path / "a" / "b"):
        raise InputError("sigma is wrong")
    assert list(tmp_path.iterdir()) == []


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
