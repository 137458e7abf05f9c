"""What a file holds, from its beginning alone."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import FileFormatError
from angsync.io.columns import ColumnNames
from angsync.io.header import header_of
from angsync.io.writing import write_matrix, write_measurements


@pytest.fixture
def edges():
    return ang.simulate.grid(60, 60, sigma=0.2, rng=0).measurements


def test_arrays_are_known_by_their_shape(tmp_path):
    for shape, kind, n, problems in [
        ((7, 7), "matrix", 7, 1),
        ((4, 5, 7, 7), "stack", 7, 20),
        ((6, 4, 9), "images", 6, 36),
    ]:
        np.save(tmp_path / "x.npy", np.ones(shape, dtype=np.complex64))
        header = header_of(tmp_path / "x.npy")
        assert (header.kind, header.n, header.problems) == (kind, n, problems)
        assert header.nbytes == 8 * np.prod(shape)
    np.save(tmp_path / "x.npy", np.ones((3, 4)))
    with pytest.raises(FileFormatError, match="no matrix"):
        header_of(tmp_path / "x.npy")


def test_nothing_of_the_size_of_the_data_is_read(tmp_path):
    path = tmp_path / "large.npy"
    with open(path, "wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<c8", "fortran_order": False, "shape": (1_000_000, 1_000_000)}
        )
        stream.truncate(8 * 10**12 + 128)  # a file with a hole
    header = header_of(path)
    assert (header.kind, header.n, header.nbytes) == ("matrix", 10**6, 8 * 10**12)


def test_edges_of_every_format(edges, tmp_path):
    for name in ("edges.npz", "edges.csv"):
        write_measurements(edges, tmp_path / name)
        header = header_of(tmp_path / name)
        assert header.kind == "edges"
        assert header.edges == pytest.approx(len(edges), rel=0.02)
        assert header.n == edges.n
        assert header.estimated is False
    write_matrix(ang.simulate.grid(9, 9, 0.1, rng=0).C, tmp_path / "C.npz")
    assert header_of(tmp_path / "C.npz").kind == "edges"


def test_a_long_text_is_counted_from_a_part_of_it(tmp_path):
    path = tmp_path / "long.csv"
    rng = np.random.default_rng(0)
    count = 200_000
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("i,j,angle\n")
        stream.writelines(f"{a},{b},{c:.6f}\n" for a, b, c in zip(
            rng.integers(50_000, size=count), rng.integers(50_000, size=count), rng.normal(size=count), strict=True
        ))  # fmt: skip
    header = header_of(path)
    assert header.estimated
    assert header.edges == pytest.approx(count, rel=0.01)
    assert header.n == pytest.approx(50_000, rel=0.01)
    path.write_text("i,j,angle\n" + "ann,bob,0.5\n" * 10)
    assert header_of(path).edges == 10


def test_stores_and_hdf5(tmp_path):
    zarr, h5py = pytest.importorskip("zarr"), pytest.importorskip("h5py")
    zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=(4, 6, 6), chunks=(2, 6, 6), dtype="complex64")
    header = header_of(tmp_path / "x.zarr")
    assert (header.kind, header.problems, header.chunked, header.absent) == ("stack", 4, True, 2)
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    for name in ("slc", "other"):
        group.create_array(name, shape=(5, 8, 9), dtype="complex64")
    with pytest.raises(FileFormatError, match="--variable"):
        header_of(tmp_path / "g.zarr")
    assert header_of(tmp_path / "g.zarr", "slc").kind == "images"
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["C"] = np.eye(5)
    assert header_of(tmp_path / "x.h5").n == 5
    (tmp_path / "x.h5").write_bytes(b"no file")
    with pytest.raises(FileFormatError, match="damaged"):
        header_of(tmp_path / "x.h5")


def test_what_is_not_known_is_said(tmp_path):
    with pytest.raises(FileFormatError, match="there is no"):
        header_of(tmp_path / "nothing.npy")
    (tmp_path / "x.mat").write_bytes(b"")
    with pytest.raises(FileFormatError, match=r"\.mat"):
        header_of(tmp_path / "x.mat")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(FileFormatError):
        header_of(tmp_path / "x.npy")
    (tmp_path / "x.csv").write_bytes(b"")
    with pytest.raises(FileFormatError):
        header_of(tmp_path / "x.csv")


def beginning(path, shape, kind):
    """An array of which only the beginning is there."""
    with open(path, "wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
        stream.write(bytes(64))


@pytest.mark.parametrize(
    ("shape", "kind", "words"),
    [
        ((300, 300), "<c16", "1440000 bytes are needed"),
        ((10**30, 10**30), "<c16", "bytes are needed"),
        ((0, 0), "<c16", "is empty"),
        ((0, 20, 20), "<c16", "is empty"),
        ((-3, -3), "<c16", "cannot be"),
        ((2, 2), "<U1", "not numbers"),
    ],
)
def test_arrays_that_a_solve_refuses(shape, kind, words, tmp_path):
    beginning(tmp_path / "x.npy", shape, kind)
    with pytest.raises(FileFormatError, match=words):
        header_of(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"i,j,angle\n", "no rows"),
        (b"x,y\n1,2\n", "no column 'i'"),
        (bytes(range(256)) * 10, "UTF-8"),
        ("i,j,angle\n0,1,0.5\n".encode("utf-16"), "UTF-8"),
        (b"i,j,angle\n0,1,0.5\n1,2\n", "2 fields"),
        (b"i,j,angle\n0,1,abc\n", "not a finite number"),
        (b"i,j,angle\n" + b"1,2,0.5\n" * 200_000 + b"3,4", "last line, '3,4', has 2 fields"),
    ],
)
def test_texts_that_a_solve_refuses(content, words, tmp_path):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(FileFormatError, match=words):
        header_of(tmp_path / "x.csv")


def test_columns_may_have_other_names_and_places(tmp_path):
    (tmp_path / "x.csv").write_text("time;from;to;turn\n" + "".join(f"7,5;{k};{k + 1};0.5\n" for k in range(90_000)))
    header = header_of(tmp_path / "x.csv", columns=ColumnNames("from", "to", "turn"))
    assert header.edges == pytest.approx(90_000, rel=0.02)
    assert header.n == pytest.approx(90_000, rel=0.02)
    (tmp_path / "x.csv").write_text('i,j,angle\n"a, b","c",0.1\n"two\nlines","c",0.3\n')
    header = header_of(tmp_path / "x.csv")
    assert (header.edges, header.n, header.estimated) == (2, 3, False)


def test_named_arrays_that_a_solve_refuses(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, i=[0, 1], j=[1, 2])
    with pytest.raises(FileFormatError, match="neither edges"):
        header_of(path)
    np.savez(path, i=[0, 1], j=[1, 2], angle=[0.5])
    with pytest.raises(FileFormatError, match="same length"):
        header_of(path)
    np.savez(path, data=np.ones(3), indices=[0, 1, 2], indptr=[0, 1, 3], shape=[2, 3], format=b"csr")
    with pytest.raises(FileFormatError, match="no square matrix"):
        header_of(path)
    np.savez(path, C=np.full((2, 2), "a"))
    with pytest.raises(FileFormatError):
        header_of(path)


def test_tables_and_stores_that_a_solve_refuses(tmp_path):
    zarr, parquet = pytest.importorskip("zarr"), pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.table({"x": [1, 2], "y": [2, 3]}), tmp_path / "x.parquet")
    with pytest.raises(FileFormatError, match="no column 'i'"):
        header_of(tmp_path / "x.parquet")
    store = zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=(8, 8), chunks=(4, 4), dtype="complex64")
    with pytest.raises(FileFormatError, match="has no chunk"):
        header_of(tmp_path / "x.zarr")
    store[:] = 1
    assert header_of(tmp_path / "x.zarr").kind == "matrix"
    zarr.open(str(tmp_path / "y.zarr"), mode="w", shape=(10**9, 10**9), chunks=(4, 4), dtype="complex64")
    with pytest.raises(FileFormatError, match="would take"):
        header_of(tmp_path / "y.zarr")
