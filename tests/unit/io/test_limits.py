"""What files may claim."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from angsync import Measurements
from angsync.errors import FileFormatError, InputError
from angsync.io import read, write_measurements
from angsync.io.limits import array_bytes, check_node_count, check_size, in_bytes

DECLARED = [10**12, 2.7, -1, 3 * 10**8, "6", True, None, 10**400]


def test_sizes_beside_the_file() -> None:
    check_size(2**28, 1, "C")
    check_size(10**11, 10**9, "C")
    with pytest.raises(InputError, match=r"C would take 3 GB of memory, but the file stores it in 3 MB"):
        check_size(3 * 10**9, 3 * 10**6, "C")
    assert [in_bytes(size) for size in (7, 2500, 4 * 10**12)] == ["7 bytes", "2.5 kB", "4 TB"]


def test_nodes_beside_the_edges() -> None:
    assert check_node_count(10**6, 1) == 10**6
    assert check_node_count(10**8, 10**6) == 10**8
    with pytest.raises(InputError, match="declares 1000001 nodes, but has 1 edges"):
        check_node_count(10**6 + 1, 1)


def test_impossible_arrays() -> None:
    assert array_bytes((10**9, 10**9), 16) == 16 * 10**18
    assert array_bytes((0, 3), 0) == 0
    for shape, item in (((-1, 2), 8), ((5,), 0)):
        with pytest.raises(InputError, match="cannot be"):
            array_bytes(shape, item)


@pytest.mark.parametrize("n", DECLARED)
def test_declared_nodes_in_a_table(tmp_path: Path, n: object) -> None:
    path = tmp_path / "e.csv"
    path.write_text(f"# angsync-measurements {json.dumps({'n': n})}\ni,j,angle\n0,1,0.5\n")
    with pytest.raises(FileFormatError, match=r"e\.csv"):
        read(path)


@pytest.mark.parametrize("n", [10**12, 2.7, -1, np.nan, np.inf, 1e300])
def test_declared_nodes_in_an_archive(tmp_path: Path, n: float) -> None:
    np.savez(tmp_path / "e.npz", i=[0], j=[1], angle=[0.5], n=n)
    with pytest.raises(FileFormatError, match=r"e\.npz"):
        read(tmp_path / "e.npz")


@pytest.mark.parametrize("n", DECLARED)
def test_declared_nodes_in_parquet(tmp_path: Path, n: object) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"i": [0], "j": [1], "angle": [0.5]})
    table = table.replace_schema_metadata({b"angsync-measurements": json.dumps({"n": n}).encode()})
    parquet.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(FileFormatError, match=r"e\.parquet"):
        read(tmp_path / "e.parquet")


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_nothing_is_written_that_would_not_be_read(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="declares 2000000 nodes"):
        write_measurements(Measurements([0], [1], [0.5], n=2 * 10**6), tmp_path / f"e.{suffix}")
    assert list(tmp_path.iterdir()) == []


def header(dtype: str, shape: tuple) -> bytes:
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize("shape", [(10**6, 10**6), (10**9, 10**9), (-5, 5), (2**62, 16)])
def test_arrays_that_the_file_cannot_hold(tmp_path: Path, shape: tuple) -> None:
    (tmp_path / "c.npy").write_bytes(header("<c16", shape))
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("C.npy", header("<c16", shape))
    for name in ("c.npy", "c.npz"):
        with pytest.raises(FileFormatError, match=name):
            read(tmp_path / name)


def test_an_archive_that_grows(tmp_path: Path) -> None:
    """300 MB of zeros in 300 kB: refused where it is needed, and not even unpacked where it is not."""
    zeros = bytes(2**20)
    packed = zipfile.ZipFile(tmp_path / "c.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed as archive, archive.open("C.npy", "w") as stream:
        stream.write(header("<f8", (300, 2**17)))
        for _ in range(300):
            stream.write(zeros)
    with pytest.raises(FileFormatError, match="would take 315 MB of memory, but the file stores it in"):
        read(tmp_path / "c.npz")
    with zipfile.ZipFile(tmp_path / "c.npz", "a") as archive:
        for name, array in {"i": [0], "j": [1], "angle": [0.5]}.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.save(stream, np.array(array))
    with pytest.raises(FileFormatError, match="would take"):
        read(tmp_path / "c.npz")
    (tmp_path / "c.npz").rename(tmp_path / "old.npz")
    changed = zipfile.ZipFile(tmp_path / "new.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with zipfile.ZipFile(tmp_path / "old.npz") as old, changed as new:
        for name in old.namelist():
            new.writestr("unneeded.npy" if name == "C.npy" else name, old.read(name))
    assert len(read(tmp_path / "new.npz")) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"format": b"coo", "row": [1, 0], "col": [0, 1], "shape": [10**11, 10**11]},
        {"format": b"coo", "row": [10**6, -7], "col": [0, 1], "shape": [3, 3]},
        {"format": b"dia", "offsets": [10**6, -(10**9)], "shape": [3, 3], "data": np.ones((2, 3))},
        {"format": b"csr", "indices": [10**6, 0], "indptr": [0, 1, 2], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, 2, 1], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, -5, -5], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, 2**63 - 1, -2], "shape": [2, 2]},
        {"format": b"csc", "indices": [1, 0], "indptr": [0, 1, 3], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [1, 1, 2], "shape": [2, 2]},
        {"format": b"csr", "indices": [1.0, 0.0], "indptr": [0, 1, 2], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, 1, 2], "shape": [2, 2], "data": np.array(["a", "b"])},
        {"format": b"bsr", "indices": [10**6, 0], "indptr": [0, 1, 2], "shape": [2, 2], "data": np.ones((2, 1, 1))},
        {"format": b"bsr", "indices": [1, 0], "indptr": [0, 1, 2], "shape": [2, 2], "data": np.ones((2, 0, 1))},
        {"format": b"lil", "shape": [2, 2]},
        {"format": b"csr", "shape": [2]},
        {"format": b"csr", "shape": [2, 2]},
    ],
)
def test_sparse_matrices_that_cannot_be(tmp_path: Path, parts: dict) -> None:
    np.savez(tmp_path / "c.npz", **{"data": np.ones(2), **parts})
    with pytest.raises(FileFormatError, match=r"c\.npz"):
        read(tmp_path / "c.npz")
