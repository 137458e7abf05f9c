"""Saved results."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import AngsyncWarning, FileFormatError, InputError, OutputError
from angsync.io.result_file import check_result_path, load_fields, save_fields

BOTH = pytest.mark.parametrize("suffix", [".npz", ".csv"])


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


@BOTH
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_round_trip(tmp_path: Path, suffix: str, dtype: type) -> None:
    path = tmp_path / f"result{suffix}"
    saved = fields(dtype)
    save_fields(path, saved)
    back = load_fields(path)
    z, expected = back.pop("z"), saved.pop("z")
    assert z.dtype == dtype
    assert z.tobytes() == expected.tobytes()
    check_same(back, saved)


@BOTH
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
def test_labels(tmp_path: Path, suffix: str, labels: tuple, expected: tuple) -> None:
    path = tmp_path / f"result{suffix}"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        save_fields(path, {"z": np.ones(3, dtype=complex), "labels": labels})
    assert [str(warning.message)[:6] for warning in said] == ([] if labels == expected else ["labels"])
    back = load_fields(path)["labels"]
    assert back == expected
    assert [type(x) for x in back] == [type(x) for x in expected]


def test_csv_layout(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    save_fields(path, {"z": np.array([1, 1j]), "components": np.array([0, 0]), "rank": 1})
    facts = json.loads((tmp_path / "result.csv.json").read_text())
    assert (facts["format"], facts["format_version"], facts["unit"]) == ("angsync-result", 1, "rad")
    assert facts["fields"] == {"rank": 1}
    assert path.read_text().splitlines() == [
        "node,angle,component,real,imag",
        "0,0.0,0,1.0,0.0",
        "1,1.5707963267948966,0,0.0,1.0",
    ]


EARLY = """# angsync-result format_version=1
# {"n": 2, "z_dtype": "complex128", "labels": "text", "fields": {"rank": 1}}
node,angle,component,standard_error,real,imag
a,0.0,0,0.0,1.0,0.0
b,1.5707963267948966,0,0.25,6.123233995736766e-17,1.0
"""


def test_results_of_early_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    path.write_text(EARLY)
    back = load_fields(path)
    assert back["z"].tolist() == [1, 6.123233995736766e-17 + 1j]
    assert (back["labels"], back["rank"], back["standard_errors"].tolist()) == (("a", "b"), 1, [0, 0.25])


@pytest.mark.parametrize(("unit", "quarter"), [("deg", 90.0), ("turn", 0.25)])
def test_a_table_in_another_unit(tmp_path: Path, unit: str, quarter: float) -> None:
    path = tmp_path / "result.csv"
    z = np.array([1, 1j, np.exp(2.5j)])
    save_fields(path, {"z": z, "standard_errors": np.array([0, np.pi / 2, 1])}, unit)
    row = path.read_text().splitlines()[2].split(",")
    assert [float(row[1]), float(row[2])] == [quarter, quarter]
    back = load_fields(path)
    assert back["z"].tolist() == z.tolist()
    assert back["standard_errors"].tolist() == pytest.approx([0, np.pi / 2, 1])
    (tmp_path / "result.csv.json").unlink()  # the table alone: real and imag say what the angles mean
    assert load_fields(path)["z"].tolist() == z.tolist()


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
        ({"z": np.ones(2, complex), "x": object()}, InputError, "'x' is a object.*pickling"),
        ({"z": np.ones(2, complex), "x": {"y": np.array([None])}}, InputError, "'x.y' is a array of object"),
    ],
)
@BOTH
def test_refused_content_leaves_no_file(tmp_path: Path, content: dict, error: type, words: str, suffix: str) -> None:
    with pytest.raises(error, match=words):
        save_fields(tmp_path / f"result{suffix}", content)
    assert list(tmp_path.iterdir()) == []


def test_reserved_and_colliding_names(tmp_path: Path) -> None:
    z = np.ones(2, complex)
    with pytest.raises(InputError, match="cannot be called 'metadata'"):
        save_fields(tmp_path / "r.npz", {"z": z, "metadata": z})
    with pytest.raises(InputError, match=r"under the name 'a\.b'"):
        save_fields(tmp_path / "r.npz", {"z": z, "a": {"b": z}, "a.b": z})
    with pytest.raises(InputError, match="components must hold one integer"):
        save_fields(tmp_path / "r.csv", {"z": z, "components": np.zeros(5, int)})


def test_path_is_checked_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.npz or \.csv, not as '\.json'"):
        check_result_path(tmp_path / "result.json")
    with pytest.raises(OutputError, match="does not exist"):
        check_result_path(tmp_path / "absent" / "result.csv")
    with pytest.raises(OutputError, match=r"\.npz or \.csv"):
        save_fields(tmp_path / "result", {"z": np.ones(2, complex)})
    assert check_result_path(tmp_path / "result.NPZ") == tmp_path / "result.NPZ"


def test_newer_and_damaged_versions_are_refused(tmp_path: Path) -> None:
    npz, csv = tmp_path / "r.npz", tmp_path / "r.csv"
    save_fields(npz, {"z": np.ones(2, complex)})
    save_fields(csv, {"z": np.ones(2, complex)})
    with np.load(npz) as archive:
        arrays = dict(archive)
    beside = tmp_path / "r.csv.json"
    text = beside.read_text()
    for version, words in (
        ("2", "format version 2, but .* up to 1. Update"),
        ("0", "no format version 0"),
        ("x", "'x'"),
    ):
        np.savez(npz, **(arrays | {"format_version": np.array(version)}))
        beside.write_text(text.replace('"format_version": 1', f'"format_version": "{version}"'))
        for path in (npz, csv):
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
    with pytest.raises(FileFormatError, match="a pickle of Python objects"):
        load_fields(path)


def test_damaged_csv_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    save_fields(path, fields())
    lines = path.read_text().splitlines(keepends=True)
    cases = {
        "1 fields|truncated": [*lines[:-1], "39"],
        "no column 'angle'; .*'node', 'phase'": ["node,phase\n", "0,1.5\n"],
        "is not a finite number": [*lines[:-1], "39,nan,0,0.1,1.0,0.0\n"],
    }
    for words, content in cases.items():
        path.write_text("".join(content))
        with pytest.raises(FileFormatError, match=words):
            load_fields(path)
    path.write_text("".join(lines[:-1]))
    with pytest.warns(AngsyncWarning, match=r"not the table that r\.csv\.json was written for"):
        assert load_fields(path).keys() == {"z", "labels"}  # it says no more than its columns do
    path.write_text("".join(lines))
    beside = tmp_path / "r.csv.json"
    text = beside.read_text()
    for words, damaged in (
        ("truncated, damaged", text[:50]),
        ("40 nodes|41 nodes", text.replace('"n": 40', '"n": 41')),
    ):
        beside.write_text(damaged)
        with pytest.raises(FileFormatError, match=words):
            load_fields(path)
    other = tmp_path / "r.json"
    other.write_text("{}")
    with pytest.raises(FileFormatError, match=r"\.npz or \.csv file, not '\.json'"):
        load_fields(other)


def test_arrays_of_objects_in_csv_metadata_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    save_fields(path, {"z": np.ones(2, complex), "x": np.ones(2)})
    beside = tmp_path / "r.csv.json"
    beside.write_text(beside.read_text().replace('"<f8"', '"O"'))
    with pytest.raises(FileFormatError, match="array of object has no place"):
        load_fields(path)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("angle\n0.5\n-1\n", None),
        ("node,angle\n0,0.5\n1,-1\n", None),
        ("node,angle\n1,0.5\n0,-1\n", (1, 0)),
        ("angle;label\n0.5;b\n-1;a\n", ("b", "a")),
    ],
)
def test_plain_csv_from_elsewhere(tmp_path: Path, text: str, labels: tuple | None) -> None:
    path = tmp_path / "phases.csv"
    path.write_text(text)
    back = load_fields(path)
    assert back["labels"] == labels
    assert np.allclose(back["z"], np.exp(1j * np.array([0.5, -1])))


def test_bad_plain_csv(tmp_path: Path) -> None:
    path = tmp_path / "phases.csv"
    for text, words in (
        ("node,angle\na,1\na,2\n", "'a' has more than one row"),
        ("angle\n", "no phases in it"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=words):
            load_fields(path)
