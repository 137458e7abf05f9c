"""What does not depend on the format: suffixes, missing files, optional libraries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from angsync import load_result
from angsync.errors import FileFormatError, InputError, MissingDependencyError, UnitWarning
from angsync.io import read, read_phases
from angsync.io.result_file import load_fields

OPTIONAL = ("h5py", "pyarrow", "narwhals", "pandas", "matplotlib", "networkx")


@pytest.mark.parametrize("reader", [read, read_phases, load_fields])
def test_missing_directory_and_empty(tmp_path: Path, reader) -> None:
    with pytest.raises(FileFormatError, match=r"absent\.csv: there is no such file"):
        reader(tmp_path / "absent.csv")
    with pytest.raises(FileFormatError, match="is a directory"):
        reader(tmp_path)
    empty = tmp_path / "empty.npz"
    empty.touch()
    with pytest.raises(FileFormatError, match=r"empty\.npz is empty"):
        reader(empty)


def test_unknown_suffix_lists_those_known(tmp_path: Path) -> None:
    path = tmp_path / "edges.xlsx"
    path.write_text("i,j,angle\n0,1,0.5\n")
    with pytest.raises(FileFormatError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    for suffix in (".csv", ".parquet", ".npz", ".npy", ".mat", ".h5", ".hdf5", ".g2o"):
        assert suffix in message


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("i,j,angle\n0,1,0.5\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileFormatError, match=r"cannot read .*edges\.csv: Permission denied"):
        read(path)


def test_weights_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'kapa'.*'kappa' or 'unit'"):
        read(tmp_path / "any.g2o", weights="kapa")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".npy", ".mat", ".h5", ".hdf5", ".g2o"])
@pytest.mark.parametrize("kind", ["noise", "text", "zip"])
def test_wrong_format_behind_every_suffix(tmp_path: Path, suffix: str, kind: str) -> None:
    content = {
        "noise": np.random.default_rng(0).bytes(3000),
        "text": b"this is not\nwhat the suffix says\n",
        "zip": b"PK\x03\x04" + bytes(200),
    }
    path = tmp_path / f"file{suffix}"
    path.write_bytes(content[kind])
    with pytest.raises(FileFormatError) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("suffix", "library", "extra"),
    [(".parquet", "pyarrow", "parquet"), (".h5", "h5py", "hdf5"), (".mat", "h5py", "hdf5")],
)
def test_missing_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, library: str, extra: str
) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(600))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependencyError, match=rf"{library}.*angsync\[{extra}\]"):
        read(path)


def test_the_unit_of_the_angles(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("i,j,angle\n0,1,90\n1,2,-45\n")
    np.testing.assert_allclose(read(path, unit="deg").angle, [np.pi / 2, -np.pi / 4], rtol=1e-15)
    arrays = tmp_path / "edges.npz"
    np.savez(arrays, i=[0, 1], j=[1, 2], angle=[0.25, -0.125], n=4)
    np.testing.assert_allclose(read(arrays, unit="turn").angle, [np.pi / 2, -np.pi / 4], rtol=1e-15)
    with pytest.raises(InputError, match="unit must be"):
        read(path, unit="degree")
    with pytest.warns(UnitWarning, match="degrees") as heard:
        read(path)
    assert heard[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "option", "word"),
    [
        ("C.npy", {"unit": "deg"}, "unit is only for edge lists"),
        ("C.npy", {"weight": "w"}, "weight"),
        ("C.npz", {"unit": "deg"}, "unit"),
        ("C.npz", {"error": "sigma"}, "error"),
        ("poses.g2o", {"unit": "deg"}, "unit"),
        ("poses.g2o", {"angle": "dtheta"}, "angle"),
        ("C.npy", {"weights": "unit"}, "weights is only for pose graphs"),
        ("value.npz", {"unit": "deg"}, "unit"),
    ],
)
def test_read_option_of_another_kind_of_file_is_refused(tmp_path: Path, name: str, option: dict, word: str) -> None:
    np.save(tmp_path / "C.npy", np.eye(3))
    np.savez(tmp_path / "C.npz", C=np.eye(3))
    np.savez(tmp_path / "value.npz", i=[0], j=[1], value=[1j])
    (tmp_path / "poses.g2o").write_text("EDGE_SE2 0 1 1 0 0.5 1 0 0 1 0 1\n")
    with pytest.raises(InputError, match=word):
        read(tmp_path / name, **option)


@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
@pytest.mark.parametrize("reader", [read, read_phases, load_fields, load_result])
def test_files_without_end_and_links_in_a_circle(tmp_path: Path, reader) -> None:
    endless, pipe, loop, dangling = (tmp_path / f"{name}.csv" for name in ("endless", "pipe", "loop", "dangling"))
    endless.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    dangling.symlink_to(tmp_path / "nothing.csv")
    for path, words in (
        (endless, "a pipe or a device"),
        (pipe, "a pipe or a device"),
        (loop, "[sS]ymbolic links"),
        (dangling, "no such file"),
    ):
        with pytest.raises(FileFormatError, match=words) as caught:
            reader(path)
        assert str(path) in str(caught.value)


def test_names_that_no_file_can_have() -> None:
    for name in ("a\0b.csv", "x" * 5000 + ".csv"):
        with pytest.raises(FileFormatError):
            read(name)
