"""Saved results."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import FileFormatError, InputError, OutputError
from angsync.io.result_file import check_table_path, load_fields, save_fields, write_result_table
from angsync.io.table import table_of


def fields(dtype: type = np.complex128, n: int = 40) -> dict:
    angles = np.random.default_rng(3).uniform(-np.pi, np.pi, n)
    angles[:3] = np.pi, -np.pi, 0.0
    return {
        "z": np.exp(1j * angles).astype(dtype),
        "labels": None,
        "components": np.arange(n) // 20,
        "standard_errors": np.r_[np.nan, np.linspace(0, 1, n - 1)],
        "objective": np.float64(12.5),
        "iterations": 7,
        "converged": np.bool_(True),
        "message": 'it said "done",\nand more: é # x',
        "nothing": None,
        "gaps": [math.nan, math.inf, -math.inf],
        "center": 1 - 2j,
        "history": {"objective": np.array([1.0, 2.0]), "step": np.array([[1, 2], [3, 4]], dtype=np.int32)},
        "certificate": {
            "verdict": "CERTIFIED",
            "witness": None,
            "deep": {"v": np.array([complex(1, np.inf), complex(np.inf, -1)])},
        },
        "names": np.array(["a", "bc"]),
    }


def check_same(a: object, b: object) -> None:
    if isinstance(b, dict):
        assert isinstance(a, dict)
        assert a.keys() == b.keys()
        for key in b:
            check_same(a[key], b[key])
    elif isinstance(b, np.ndarray):
        assert isinstance(a, np.ndarray)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(b, list):
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_round_trip(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "result.npz"
    saved = fields(dtype)
    save_fields(path, saved)
    back = load_fields(path)
    z, expected = back.pop("z"), saved.pop("z")
    assert z.dtype == dtype
    assert z.tobytes() == expected.tobytes()
    check_same(back, saved)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((5, 3, 9), (5, 3, 9)),
        (("x", "y", "z"), ("x", "y", "z")),
        (("1", "2", "3"), ("1", "2", "3")),
        (("#1", "a,b", "two\nlines"), ("#1", "a,b", "two\nlines")),
        ((("a", 1), 2, None), ("('a', 1)", "2", "None")),
        ((0, 1, 2), (0, 1, 2)),
    ],
)
def test_labels(tmp_path: Path, labels: tuple, expected: tuple) -> None:
    path = tmp_path / "result.npz"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        save_fields(path, {"z": np.ones(3, dtype=complex), "labels": labels})
    assert [str(warning.message)[:6] for warning in said] == ([] if labels == expected else ["labels"])
    back = load_fields(path)["labels"]
    assert back == expected
    assert [type(x) for x in back] == [type(x) for x in expected]


def test_a_csv_table_is_an_export(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    save_fields(path, {"z": np.array([1, 1j]), "components": np.array([0, 0]), "rank": 1})
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.csv"]
    assert path.read_text().splitlines() == [
        "node,angle,component,real,imag",
        "0,0.0,0,1.0,0.0",
        "1,1.5707963267948966,0,0.0,1.0",
    ]
    with pytest.raises(FileFormatError, match=r"\.npz"):
        load_fields(path)


@pytest.mark.parametrize(("unit", "quarter"), [("deg", 90.0), ("turn", 0.25)])
def test_a_table_in_another_unit(tmp_path: Path, unit: str, quarter: float) -> None:
    path = tmp_path / "result.csv"
    save_fields(path, {"z": np.array([1, 1j]), "standard_errors": np.array([0, np.pi / 2])}, unit)
    row = path.read_text().splitlines()[2].split(",")
    assert [float(row[1]), float(row[2])] == [quarter, quarter]


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_tables_of_applications(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"table{suffix}"
    columns = {"node": np.array(["a", "b"], dtype=object), "rank": np.array([1.5, np.nan])}
    write_result_table(path, "ranking", columns, {"chi": np.inf}, {"matrix": np.eye(2)})
    if suffix == ".npz":
        with np.load(path) as archive:
            assert json.loads(str(archive["facts"])) == {"kind": "ranking", "chi": None}
            assert archive["matrix"].shape == (2, 2)
            assert archive["node"].tolist() == ["a", "b"]
    else:
        table = table_of(path)
        assert table.texts("node") == ["a", "b"]
        assert table.numbers("rank", missing=True).tolist()[0] == 1.5
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with pytest.raises(OutputError, match=r"\.txt"):
        check_table_path(tmp_path / "table.txt")


def test_npz_layout_needs_no_pickle(tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    save_fields(path, fields())
    with np.load(path, allow_pickle=False) as archive:
        assert str(archive["format"]) == "angsync-result"
        assert int(archive["format_version"]) == 1
        assert json.loads(str(archive["metadata"]))["iterations"] == 7
        assert archive["z"].dtype == np.complex128
        assert archive["history.objective"].tolist() == [1, 2]


def test_batches_go_into_npz_only(tmp_path: Path) -> None:
    z = np.ones((2, 3, 4), dtype=complex)
    save_fields(tmp_path / "batch.npz", {"z": z})
    assert load_fields(tmp_path / "batch.npz")["z"].shape == (2, 3, 4)
    with pytest.raises(OutputError, match=r"one problem.*\(2, 3, 4\).*\.npz"):
        save_fields(tmp_path / "batch.csv", {"z": z})
    assert not (tmp_path / "batch.csv").exists()


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ({}, InputError, "needs the field 'z'"),
        ({"z": np.ones(3)}, InputError, "'z', a complex array"),
        ({"z": np.ones(3, complex), "labels": ["a"]}, InputError, "1 labels for 3 nodes"),
        ({"z": np.ones(2, complex), "labels": [1, "1"]}, InputError, "same text"),
        ({"z": np.ones(2, complex), "x": object()}, InputError, "'x' is of the type object.*pickling"),
        ({"z": np.ones(2, complex), "x": {"y": np.array([None])}}, InputError, "'x.y' is of the type array of object"),
    ],
)
def test_refused_content_leaves_no_file(tmp_path: Path, content: dict, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        save_fields(tmp_path / "result.npz", content)
    assert list(tmp_path.iterdir()) == []


def test_reserved_and_colliding_names(tmp_path: Path) -> None:
    z = np.ones(2, complex)
    with pytest.raises(InputError, match="cannot be called 'metadata'"):
        save_fields(tmp_path / "r.npz", {"z": z, "metadata": z})
    with pytest.raises(InputError, match=r"under the name 'a\.b'"):
        save_fields(tmp_path / "r.npz", {"z": z, "a": {"b": z}, "a.b": z})
    with pytest.raises(InputError, match="components"):
        save_fields(tmp_path / "r.csv", {"z": z, "components": np.zeros(5, int)})


def test_result_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="npz or csv"):
        save_fields(tmp_path / "result", {"z": np.ones(2, complex)})


@pytest.mark.parametrize(("version", "words"), [(2, "Update"), (0, "does not exist"), ("x", "'x'"), (1.0, "1.0")])
def test_newer_and_damaged_versions_are_refused(tmp_path: Path, version: object, words: str) -> None:
    path = tmp_path / "r.npz"
    save_fields(path, {"z": np.ones(2, complex)})
    with np.load(path) as archive:
        np.savez(path, **(dict(archive) | {"format_version": np.array(version)}))
    with pytest.raises(FileFormatError, match=words) as caught:
        load_fields(path)
    assert str(path) in str(caught.value)


def test_plain_and_damaged_npz_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    np.savez(path, z=np.ones(3, complex))
    with pytest.raises(FileFormatError, match=r"r\.npz is not a saved result: it has no mark.*'z'"):
        load_fields(path)
    save_fields(path, fields())
    with np.load(path) as archive:
        arrays = dict(archive)
    for key, words in (
        ("z", "'z' is missing"),
        ("metadata", "no 'metadata'"),
        ("format_version", "no 'format_v"),
    ):
        np.savez(path, **{name: array for name, array in arrays.items() if name != key})
        with pytest.raises(FileFormatError, match=words):
            load_fields(path)
    np.savez(path, **(arrays | {"metadata": np.array('{"z":')}))
    with pytest.raises(FileFormatError, match="truncated, damaged"):
        load_fields(path)
    np.savez(path, **(arrays | {"metadata": np.array("{}")}))
    with pytest.raises(FileFormatError, match="has no 'z'"):
        load_fields(path)
    np.savez(path, **(arrays | {"z": np.array([None, {}])}))
    with pytest.raises(FileFormatError, match="pickle"):
        load_fields(path)
