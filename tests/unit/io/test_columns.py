"""The names of nodes: one rule in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from angsync import Measurements
from angsync.errors import FileFormatError, InputError
from angsync.io import read, write_measurements
from angsync.io.result_file import save_fields


def csv(folder: Path, i: list, j: list) -> Path:
    path = folder / "e.csv"
    rows = "".join(f'"{a}","{b}",0.5\n' for a, b in zip(i, j, strict=True))
    path.write_bytes(("i,j,angle\n" + rows).encode())
    return path


def npz(folder: Path, i: list, j: list) -> Path:
    np.savez(folder / "e.npz", i=np.array(i), j=np.array(j), angle=np.full(len(i), 0.5))
    return folder / "e.npz"


def parquet(folder: Path, i: list, j: list) -> Path:
    arrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    writer.write_table(arrow.table({"i": i, "j": j, "angle": [0.5] * len(i)}), folder / "e.parquet")
    return folder / "e.parquet"


def hdf5(folder: Path, i: list, j: list) -> Path:
    with pytest.importorskip("h5py").File(folder / "e.h5", "w") as file:
        file["i"], file["j"], file["angle"] = i, j, np.full(len(i), 0.5)
    return folder / "e.h5"


def mat(folder: Path, i: list, j: list) -> Path:
    scipy.io.savemat(folder / "e.mat", {"i": i, "j": j, "angle": np.full(len(i), 0.5)})
    return folder / "e.mat"


EVERY = pytest.mark.parametrize("write", [csv, npz, parquet, hdf5, mat])


@EVERY
def test_one_number_in_two_spellings_is_refused(tmp_path: Path, write) -> None:
    for i, j in ((["1.0", "1"], ["b", "c"]), (["1.0", "a"], ["1", "c"]), (["1e3", "a"], ["1000", "b"])):
        with pytest.raises(FileFormatError, match="one number in two spellings"):
            read(write(tmp_path, i, j))


@EVERY
def test_leading_zeros_make_names_and_blanks_do_not_count(tmp_path: Path, write) -> None:
    assert read(write(tmp_path, ["007", " x "], ["7", "x2"])).labels == ("007", "7", "x", "x2")


def test_whole_numbers_with_decimals_are_whole_numbers(tmp_path: Path) -> None:
    m = read(csv(tmp_path, ["1.0", "2.0", "3.0"], ["2", "3", "1"]))
    assert m.labels == (1, 2, 3)
    assert m.j.tolist() == [1, 2, 0]
    assert read(csv(tmp_path, ["0.0", "1.0"], ["1.", "2"])).labels is None
    assert read(csv(tmp_path, ["0.5", "1"], ["1", "2"])).labels == ("0.5", "1", "2")
    for write in (npz, hdf5, mat):
        m = read(write(tmp_path, [1.0, 2.0, 3.0], [2, 3, 1]))
        assert (m.labels, m.j.tolist()) == ((1, 2, 3), [1, 2, 0])


@pytest.mark.parametrize("write", [csv, parquet])  # the others cannot hold them
def test_nul_is_refused(tmp_path: Path, write) -> None:
    with pytest.raises(FileFormatError, match="holds the letter NUL"):
        read(write(tmp_path, ["a\0", "a"], ["b", "b"]))


@pytest.mark.parametrize("write", [npz, parquet, hdf5])
def test_empty_names_are_refused(tmp_path: Path, write) -> None:
    with pytest.raises(FileFormatError, match="is empty"):
        read(write(tmp_path, ["a", " "], ["b", "c"]))


def test_nodes_that_no_number_holds(tmp_path: Path) -> None:
    for write in (npz, hdf5, mat):
        for number in (1e19, 2.0**53 + 2, -1e19):
            with pytest.raises(FileFormatError, match=r"beyond 2\*\*53"):
                read(write(tmp_path, [number, 1.0], [2.0, 3.0]))
        for number in (np.nan, np.inf, 0.5):
            with pytest.raises(FileFormatError, match="whole numbers"):
                read(write(tmp_path, [number, 1.0], [2.0, 3.0]))
    path = tmp_path / "u.npz"
    np.savez(path, i=np.array([2**64 - 1], np.uint64), j=np.array([1], np.uint64), angle=[0.5], n=3)
    with pytest.raises(FileFormatError, match=r"holds 18446744073709551615, but node indices go from 0 to 2"):
        read(path)


def test_no_date_is_no_node(tmp_path: Path) -> None:
    days = np.array(["2020-01-01", "NaT"], dtype="M8[D]")
    with pytest.raises(FileFormatError, match=r"j\[1\] is no date"):
        read(npz(tmp_path, days[[0, 0]], days))


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_surrogates_and_nul_are_not_written(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    for name in ("a\ud800", "a\0", ""):
        with pytest.raises(InputError, match="cannot name a node"):
            write_measurements(Measurements([name], ["b"], [0.5]), tmp_path / f"e.{suffix}")
        if suffix != "parquet":
            with pytest.raises(InputError, match="the name of a node"):
                save_fields(tmp_path / f"r.{suffix}", {"z": np.ones(2, complex), "labels": (name, "b")})
    assert list(tmp_path.iterdir()) == []


def test_surrogates_in_an_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="lone surrogate"):
        read(npz(tmp_path, ["a\ud800"], ["b"]))
