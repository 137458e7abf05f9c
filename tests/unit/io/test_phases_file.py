"""Phases from files of many makers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from angsync.errors import AngsyncWarning, FileFormatError, UnitWarning
from angsync.io import read_phases
from angsync.io.result_file import save_fields

ANGLES = np.array([0.0, 0.5, -3.0])
Z = np.exp(1j * ANGLES)


@pytest.mark.parametrize("name", ["r.npz", "r.csv"])
@pytest.mark.parametrize("labels", [None, ("a", "b", "c")])
def test_saved_result(tmp_path: Path, name: str, labels: tuple | None) -> None:
    save_fields(tmp_path / name, {"z": Z, "labels": labels, "iterations": 3})
    z, back = read_phases(tmp_path / name)
    assert abs(z - Z).max() < 1e-15
    # a table names its nodes, and a file of arrays need not
    assert back == ((0, 1, 2) if labels is None and name == "r.csv" else labels)


@pytest.mark.parametrize("array", [Z, ANGLES, Z.astype(np.complex64), ANGLES.astype(np.float32)])
def test_npy(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "z.npy", array)
    z, labels = read_phases(tmp_path / "z.npy")
    assert labels is None
    assert np.iscomplexobj(z)
    assert abs(z - Z).max() < 1e-6
    assert z.dtype.itemsize == 2 * array.real.dtype.itemsize


@pytest.mark.parametrize("arrays", [{"z": Z}, {"angles": ANGLES}, {"z": Z, "angles": ANGLES + 1, "other": [1]}])
def test_npz(tmp_path: Path, arrays: dict) -> None:
    np.savez(tmp_path / "z.npz", **arrays)
    z, labels = read_phases(tmp_path / "z.npz")
    assert labels is None
    assert abs(z - Z).max() < 1e-15


def test_npz_with_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "z.npz", z=Z, labels=["x", "y", "w"])
    assert read_phases(tmp_path / "z.npz")[1] == ("x", "y", "w")
    np.savez(tmp_path / "z.npz", z=Z, labels=["x", "y"])
    with pytest.raises(FileFormatError, match="2 labels for 3 phases"):
        read_phases(tmp_path / "z.npz")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("angle\n0\n0.5\n-3\n", None),
        ("node,angle\n0,0\n1,0.5\n2,-3\n", (0, 1, 2)),
        ("node,angle\n1,0\n0,0.5\n2,-3\n", (1, 0, 2)),
        ("angle;label\n0;x\n0.5;y\n-3;w\n", ("x", "y", "w")),
    ],
)
def test_csv(tmp_path: Path, text: str, labels: tuple | None) -> None:
    (tmp_path / "z.csv").write_text(text)
    z, found = read_phases(tmp_path / "z.csv")
    assert abs(z - Z).max() < 1e-15
    assert found == labels


def test_table_without_node_column_warns_of_other_columns(tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text("name,angle\nc,0\nb,0.5\na,-3\n")
    with pytest.warns(AngsyncWarning, match="'name'"):
        assert read_phases(tmp_path / "z.csv")[1] is None


@pytest.mark.parametrize("unit", ["rad", "deg", "turn"])
def test_exported_phases_come_back_whatever_their_unit(tmp_path: Path, unit: str) -> None:
    save_fields(tmp_path / "z.csv", {"z": Z, "labels": ("a", "b", "c")}, unit)
    z, labels = read_phases(tmp_path / "z.csv")
    assert z.tobytes() == Z.tobytes()
    assert labels == ("a", "b", "c")
    rows = (tmp_path / "z.csv").read_text().splitlines()
    (tmp_path / "z.csv").write_text("\n".join([*rows[:2], f"b,1,{rows[2].partition(',')[2].partition(',')[2]}"]))
    with pytest.raises(FileFormatError, match="line 3"):
        read_phases(tmp_path / "z.csv")


def test_bad_csv(tmp_path: Path) -> None:
    for text, words in (
        ("node,angle\na,1\na,2\n", "'a' has more than one"),
        ("angle\n", "no rows"),
        ("node,phase\n0,1.5\n", "no column 'angle'"),
        ("angle\nnan\n", "line 2"),
    ):
        (tmp_path / "z.csv").write_text(text)
        with pytest.raises(FileFormatError, match=words):
            read_phases(tmp_path / "z.csv")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array(["a", "b"]), "array of <U1"),
        (np.array(1.0), r"shape \(\)"),
        (np.array([]), r"shape \(0,\)"),
        (np.array([0, np.nan]), "entry 1 is not finite"),
        (np.array([{}], dtype=object), "pickle"),
    ],
)
def test_bad_arrays(tmp_path: Path, array: np.ndarray, words: str) -> None:
    np.save(tmp_path / "z.npy", array)
    np.savez(tmp_path / "z.npz", z=array)
    for name in ("z.npy", "z.npz"):
        with pytest.raises(FileFormatError, match=words) as caught:
            read_phases(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_other_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", i=[0], j=[1])
    with pytest.raises(FileFormatError, match=r"holds no phases.*'i', 'j'"):
        read_phases(tmp_path / "e.npz")
    (tmp_path / "z.txt").write_text("angle\n1\n")
    with pytest.raises(FileFormatError, match=r"\.npz, \.csv or \.npy, not from '\.txt'"):
        read_phases(tmp_path / "z.txt")


def test_angles_of_which_nothing_is_left(tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", np.array([0.5, 1e300]))
    np.savez(tmp_path / "z.npz", angles=np.array([0.5, 1e300]))
    (tmp_path / "z.csv").write_text("angle\n0.5\n1e300\n")
    for name in ("z.npy", "z.npz", "z.csv"):
        with pytest.raises(FileFormatError, match=rf"{name}.*angle\[1\] is 1e\+300"):
            read_phases(tmp_path / name)


def test_measurements_are_no_phases(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("i,j,angle\n0,1,0.5\n1,2,0.5\n2,0,-1\n")
    with pytest.raises(FileFormatError, match="columns i and j"):
        read_phases(tmp_path / "edges.csv")
    (tmp_path / "phases.csv").write_text("node,angle,i,j\n0,0.5,3,4\n1,0.25,5,6\n")  # i and j may be a place
    assert np.allclose(np.angle(read_phases(tmp_path / "phases.csv")[0]), [0.5, 0.25])


def test_phases_in_degrees_are_doubted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("angle\n0\n90\n-120\n")
    np.save(tmp_path / "a.npy", [0.0, 90.0, -120.0])
    for name in ("a.csv", "a.npy"):
        with pytest.warns(UnitWarning, match="2 of 3 phases"):
            read_phases(tmp_path / name)
