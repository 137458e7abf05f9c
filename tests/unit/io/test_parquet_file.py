"""Parquet tables of edges."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import FileFormatError
from angsync.io import read

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table(tmp_path: Path):
    def write(columns: dict) -> Path:
        path = tmp_path / "edges.parquet"
        parquet.write_table(pyarrow.table(columns), path)
        return path

    return write


def test_indices_weights_and_other_columns(table) -> None:
    m = read(table({"remark": ["x", "y"], "i": [0, 2], "j": [1, 1], "angle": [0.5, 1.0], "weight": [1, 3]}))
    assert m.i.tolist() == [0, 2]
    assert m.weight.tolist() == [1, 3]
    assert m.labels is None


def test_columns_by_other_names(table) -> None:
    path = table({"p": [0], "q": [1], "phase": [0.5], "w": [3.0]})
    m = read(path, i="p", j="q", angle="phase", weight="w")
    assert (m.angle[0], m.weight[0]) == (0.5, 3)


def test_text_categories_and_dates_are_labels(table) -> None:
    assert read(table({"i": ["a", "b"], "j": ["b", "c"], "angle": [0.5, 1.0]})).labels == ("a", "b", "c")
    first, second = (pyarrow.array(x).dictionary_encode() for x in (["a", "b"], ["b", "c"]))
    assert read(table({"i": first, "j": second, "angle": [0.5, 1.0]})).labels == ("a", "b", "c")
    days = [datetime.date(2020, 1, day) for day in (1, 2)]
    assert read(table({"i": days[:1], "j": days[1:], "angle": [0.5]})).labels == tuple(days)


def test_whole_floats_are_numbers(table) -> None:
    m = read(table({"i": [0.0, 2.0], "j": [1, 1], "angle": pyarrow.array([0.5, 1], pyarrow.float32())}))
    assert m.i.tolist() == [0, 2]
    assert m.angle.tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [0], "b": [1], "angle": [0.5]}, "no column 'i'; the columns found are 'a', 'b', 'angle'"),
        ({"i": [0, 1], "j": [1, 2], "angle": [0.5, None]}, "column 'angle' has no value in row 1"),
        ({"i": [0, None], "j": [1, 2], "angle": [0.5, 1]}, "column 'i' has no value in row 1"),
        ({"i": [0], "j": ["1"], "angle": [0.5]}, "both name nodes"),
        ({"i": [0], "j": [1], "angle": ["fast"]}, "angle must be numeric"),
        ({"i": [0], "j": [1], "angle": [np.inf]}, r"angle\[0\] is inf"),
        ({"i": [], "j": [], "angle": []}, "no rows"),
    ],
)
def test_failures(table, columns: dict, words: str) -> None:
    path = table(columns)
    with pytest.raises(FileFormatError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_truncated(table, share: float) -> None:
    path = table({"i": [0], "j": [1], "angle": [0.5]})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match="truncated, damaged"):
        read(path)
