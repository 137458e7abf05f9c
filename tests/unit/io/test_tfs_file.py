"""TFS tables: read strictly, written so that they are read again."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.errors import FileFormatError, OutputError
from angsync.io.tfs_file import check_tfs_path, read_tfs, write_tfs

TEXT = """@ Title %12s "a b c"
@ Q1 %le 0.31
@ Free %s none
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
    content = read_tfs(written(tmp_path, TEXT))
    assert content.headers == {"Title": "a b c", "Q1": 0.31, "Free": "none"}
    assert content.table.texts("NAME") == ["A 1", "B"]
    assert content.table.numbers("PHASEX").tolist() == [0.25, -0.5]
    assert content.table.where(1).endswith("table.tfs, line 8")


def test_what_is_written_is_read(tmp_path):
    columns = {"NAME": np.array(["a", "b"], dtype=object), "S": np.array([0.1, 1 / 3]), "N": np.array([1, 2])}
    write_tfs(tmp_path / "out.tfs", {"Q1": 0.27, "WHO": 'the "first"'}, columns)
    content = read_tfs(tmp_path / "out.tfs")
    assert content.headers == {"Q1": 0.27, "WHO": "the 'first'"}
    assert content.table.texts("NAME") == ["a", "b"]
    assert content.table.numbers("S").tolist() == [0.1, 1 / 3]
    tfs = pytest.importorskip("tfs")
    assert tfs.read(tmp_path / "out.tfs").S.tolist() == [0.1, 1 / 3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@ Q1 %le abc\n* A\n 1\n", "line 1: the header Q1 is no number: 'abc'"),
        ("@ Q1\n* A\n 1\n", "line 1: a header reads"),
        (" 1 2\n", "line 1: a row before the line of names"),
        ("* A B\n$ %s %s\n 1\n", "line 3: 1 fields, but there are 2 names"),
        ("* A B\n", "has no rows"),
        ("@ Q1 %le 0.3\n", "has no line of names"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, words):
    with pytest.raises(FileFormatError, match=words):
        read_tfs(written(tmp_path, text))


def test_the_suffix_is_checked_before_the_work(tmp_path):
    with pytest.raises(OutputError, match=r"suffix \.tfs"):
        check_tfs_path(tmp_path / "out.txt")
