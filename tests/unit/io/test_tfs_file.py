"""TFS tables: what is written is read again, and truncated files are refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from angsync.errors import FileFormatError, MissingDependencyError, OutputError
from angsync.io.tfs_file import check_tfs_path, read_tfs, write_tfs

pytest.importorskip("tfs")

TEXT = """@ Title %12s "a b c"
@ Q1 %le 0.31
# a remark
*  NAME  S   PHASEX
$  %s    %le %le
   "A 1" 0.5 0.25
   B     1.5 -0.5
"""


def written(tmp_path, text):
    path = tmp_path / "table.tfs"
    path.write_text(text)
    return path


def test_headers_names_and_rows(tmp_path):
    headers, table = read_tfs(written(tmp_path, TEXT))
    assert headers == {"Title": "a b c", "Q1": 0.31}
    assert table.texts("NAME") == ["A 1", "B"]
    assert table.numbers("PHASEX").tolist() == [0.25, -0.5]


def test_what_is_written_is_read(tmp_path):
    columns = {"NAME": np.array(["a", "b"], dtype=object), "S": np.array([0.1, -1 / 3e300]), "N": np.array([1, 2])}
    write_tfs(tmp_path / "out.tfs", {"Q1": 0.27, "WHO": "the first"}, columns)
    headers, table = read_tfs(tmp_path / "out.tfs")
    assert headers == {"Q1": 0.27, "WHO": "the first"}
    assert table.texts("NAME") == ["a", "b"]
    assert table.numbers("S").tolist() == columns["S"].tolist()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.tfs"]


@pytest.mark.parametrize(
    "text",
    [
        "@ Q1 %le abc\n* A\n$ %le\n 1\n", "@ Q1\n* A\n$ %le\n 1\n", " 1 2\n", "* A B\n$ %s %s\n 1\n",
        "* A B\n$ %le %le\n", "* A B\n$ %le %le\n 1 x\n", "* A A\n$ %le %le\n 1 2\n", "* A\n 1\n", "@ Q1 %le 0.3\n",
        TEXT[:-6], TEXT + " 1 2 3 4\n",
    ],
)  # fmt: skip
def test_damaged_tables_are_refused(tmp_path, text):
    with pytest.raises(FileFormatError, match=r"table\.tfs"):
        read_tfs(written(tmp_path, text))


def test_path_and_library_are_checked_before_the_work(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="tfs"):
        check_tfs_path(tmp_path / "out.txt")
    path = written(tmp_path, TEXT)
    monkeypatch.setitem(sys.modules, "tfs", None)
    with pytest.raises(MissingDependencyError, match=r"angsync\[beam\]"):
        check_tfs_path(tmp_path / "out.tfs")
    with pytest.raises(MissingDependencyError, match=r"angsync\[beam\]"):
        read_tfs(path)
