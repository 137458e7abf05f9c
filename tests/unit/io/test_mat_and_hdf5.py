"""MATLAB files of both kinds, and plain HDF5."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from angsync.errors import FileFormatError
from angsync.io import read

h5py = pytest.importorskip("h5py")

MATRIX = np.array([[0, 1 + 2j, 3j], [1 - 2j, 0, 4], [-3j, 4, 0]])


def matlab_file(path: Path, **variables: np.ndarray) -> Path:
    """What MATLAB's save(..., '-v7.3') writes: 512 bytes of text, then HDF5 with everything transposed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if scipy.sparse.issparse(value):
                columns = value.tocsc()
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
                group["jc"] = columns.indptr.astype(np.uint64)
                if columns.nnz:
                    group["ir"] = columns.indices.astype(np.uint64)
                    group["data"] = as_pairs(columns.data)
            else:
                file[name] = as_pairs(np.atleast_2d(value).T)
    with open(path, "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512))
    return path


def as_pairs(value: np.ndarray) -> np.ndarray:
    if not np.iscomplexobj(value):
        return value
    pairs = np.empty(value.shape, dtype=[("real", value.real.dtype), ("imag", value.real.dtype)])
    pairs["real"], pairs["imag"] = value.real, value.imag
    return pairs


def version_5(path: Path, **variables: np.ndarray) -> Path:
    scipy.io.savemat(path, variables)
    return path


def plain(path: Path, **variables: np.ndarray) -> Path:
    path = path.with_suffix(".h5")
    with h5py.File(path, "w") as file:
        for name, value in variables.items():
            file[name] = value
    return path


WRITERS = pytest.mark.parametrize("write", [version_5, matlab_file, plain])
MATLAB = pytest.mark.parametrize("write", [version_5, matlab_file])


@WRITERS
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_matrix_is_not_transposed(tmp_path: Path, write, dtype: type) -> None:
    back = read(write(tmp_path / "c.mat", C=MATRIX.astype(dtype)))
    assert back.dtype == dtype
    assert (back == MATRIX).all()


@MATLAB
@pytest.mark.parametrize("matrix", [MATRIX, MATRIX.real, np.zeros((3, 3))])
def test_sparse_matrix(tmp_path: Path, write, matrix: np.ndarray) -> None:
    back = read(write(tmp_path / "c.mat", C=scipy.sparse.csc_array(matrix)))
    assert isinstance(back, scipy.sparse.csr_array)
    assert (back.toarray() == matrix).all()


@MATLAB
@pytest.mark.parametrize("first", [0, 1])
def test_edges_from_matlab_count_from_either(tmp_path: Path, write, first: int) -> None:
    i, j = np.array([0.0, 1, 2]) + first, np.array([1.0, 2, 0]) + first
    m = read(write(tmp_path / "e.mat", i=i, j=j, angle=np.array([0.5, 1, 2]), weight=np.array([1.0, 2, 3])))
    assert m.i.tolist() == [0, 1, 2]
    assert m.j.tolist() == [1, 2, 0]
    assert m.weight.tolist() == [1, 2, 3]
    assert m.labels == ((1, 2, 3) if first else None)


@MATLAB
def test_isolated_nodes_from_matlab(tmp_path: Path, write) -> None:
    m = read(write(tmp_path / "e.mat", i=np.array([1.0, 5]), j=np.array([2.0, 1]), angle=np.ones(2), n=np.array(6.0)))
    assert m.labels == (1, 2, 3, 4, 5, 6)
    assert m.i.tolist() == [0, 4]
    m = read(write(tmp_path / "z.mat", i=np.array([0.0, 5]), j=np.array([2.0, 0]), angle=np.ones(2), n=np.array(6.0)))
    assert (m.n, m.labels) == (6, None)
    assert m.i.tolist() == [0, 5]


@WRITERS
def test_single_edge_and_complex_value(tmp_path: Path, write) -> None:
    m = read(write(tmp_path / "e.mat", i=np.array([1]), j=np.array([2]), value=np.array([2j])))
    assert (len(m), m.modulus[0]) == (1, 2)
    assert np.isclose(m.angle[0], np.pi / 2)


def test_hdf5_edges_with_text_labels_and_n(tmp_path: Path) -> None:
    path = plain(tmp_path / "e.h5", i=np.array([b"a", b"b"]), j=np.array([b"b", b"c"]), angle=np.ones(2))
    assert read(path).labels == ("a", "b", "c")
    renamed = path.rename(tmp_path / "e.hdf5")
    with h5py.File(renamed, "a") as file:
        file["labels"] = ["c", "b", "a", "lonely"]
    m = read(renamed)
    assert m.labels == ("c", "b", "a", "lonely")
    assert m.i.tolist() == [2, 1]
    path = plain(tmp_path / "n.h5", i=np.array([0, 3]), j=np.array([1, 1]), angle=np.ones(2), n=np.array(9))
    assert (read(path).n, read(path).labels) == (9, None)


def test_hdf5_columns_by_other_names(tmp_path: Path) -> None:
    path = plain(tmp_path / "e.h5", p=np.array([0]), q=np.array([1]), phase=np.array([0.5]), w=np.array([3.0]))
    m = read(path, i="p", j="q", angle="phase", weight="w")
    assert (m.angle[0], m.weight[0]) == (0.5, 3)


@WRITERS
def test_unknown_names_are_listed(tmp_path: Path, write) -> None:
    path = write(tmp_path / "x.mat", first=np.ones(3), second=np.ones(3))
    with pytest.raises(FileFormatError, match=r"neither edges .* nor a matrix 'C'.*'first', 'second'") as caught:
        read(path)
    assert str(path) in str(caught.value)


@WRITERS
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_truncated(tmp_path: Path, write, share: float) -> None:
    path = write(tmp_path / "c.mat", C=np.random.default_rng(0).normal(size=(40, 40)))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match="truncated, damaged") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_cells_and_groups_are_refused(tmp_path: Path) -> None:
    path = version_5(tmp_path / "cell.mat", C=np.array([["a", 1]], dtype=object))
    with pytest.raises(FileFormatError, match=r"cell\.mat: C holds a cell array"):
        read(path)
    with h5py.File(tmp_path / "group.h5", "w") as file:
        file.create_group("C")
    with pytest.raises(FileFormatError, match="'C' is a group"):
        read(tmp_path / "group.h5")
    with h5py.File(tmp_path / "cell.h5", "w") as file:
        file.create_dataset("C", (2, 2), dtype=h5py.ref_dtype)
    with pytest.raises(FileFormatError, match="'C' holds object"):
        read(tmp_path / "cell.h5")
    with h5py.File(tmp_path / "text.h5", "w") as file:
        file["C"] = np.frombuffer(b"text", np.uint8).astype(np.uint16).reshape(4, 1)
        file["C"].attrs["MATLAB_class"] = np.bytes_(b"char")
    with pytest.raises(FileFormatError, match="'C' is text of MATLAB"):
        read(tmp_path / "text.h5")


def test_sparse_with_rows_out_of_range(tmp_path: Path) -> None:
    path = matlab_file(tmp_path / "c.mat", C=scipy.sparse.csc_array(MATRIX))
    with h5py.File(path, "a") as file:
        file["C/ir"][0] = 700
    with pytest.raises(FileFormatError, match="truncated, damaged"):
        read(path)


@pytest.fixture
def edges(tmp_path: Path):
    """A function that writes i and j, and lets the caller add the rest."""

    def write(add, name: str = "e.h5") -> Path:
        with h5py.File(tmp_path / name, "w") as file:
            file["i"], file["j"] = np.arange(3), np.arange(1, 4)
            add(file)
        return tmp_path / name

    return write


def test_nothing_outside_the_file_is_read(edges, tmp_path: Path) -> None:
    elsewhere = edges(lambda file: file.create_dataset("angle", data=np.zeros(3)), "elsewhere.h5")
    layout = h5py.VirtualLayout(shape=(3,), dtype=float)
    layout[:] = h5py.VirtualSource(str(elsewhere), "angle", shape=(3,))

    def outside(file) -> None:
        file["angle"] = h5py.ExternalLink(str(elsewhere), "/angle")

    def roundabout(file) -> None:
        file["hop"] = h5py.ExternalLink(str(elsewhere), "/")
        file["angle"] = h5py.SoftLink("/hop/angle")

    for add, words in (
        (outside, "is a link"),
        (roundabout, "is a link"),
        (lambda file: file.create_dataset("angle", (3,), float, external=[(str(elsewhere), 0, 24)]), "another file"),
        (lambda file: file.create_virtual_dataset("angle", layout), "another file"),
    ):
        with pytest.raises(FileFormatError, match=f"'angle' .*{words}"):
            read(edges(add))


@pytest.mark.parametrize(
    "add",
    [
        lambda file: file.create_dataset("angle", data=h5py.Empty("f8")),
        lambda file: file.create_dataset("angle", (3,), dtype=h5py.vlen_dtype(np.int32)),
        lambda file: file.create_dataset("angle", data=np.zeros(3, dtype=[("a", "f8")])),
        lambda file: file.create_dataset("C", shape=(10**6, 10**6), dtype="c16", chunks=(1000, 1000)),
    ],
)
def test_what_is_not_a_column_or_too_large_is_refused(edges, add) -> None:
    with pytest.raises(FileFormatError, match=r"e\.h5: '(angle|C)'"):
        read(edges(add))


def test_hdf5_in_the_other_order_of_bytes(tmp_path: Path) -> None:
    path = plain(tmp_path / "c.h5", C=MATRIX.real.astype(">f8"))
    assert read(path).tolist() == MATRIX.real.tolist()


def test_a_damaged_heap_of_texts_is_refused(edges) -> None:
    """In a process of its own: the library of this format never ends over an object without a size."""
    path = edges(lambda file: file.create_dataset("angle", data=["a", "b", "c"]))
    content = bytearray(path.read_bytes())
    heap = content.index(b"GCOL")
    content[heap + 16 : heap + 32] = bytes(16)
    path.write_bytes(content)
    code = f"from angsync.io import read\ntry: read({str(path)!r})\nexcept ValueError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "heap of texts is damaged" in done.stdout


def test_matlab_version_4_and_variables_twice(tmp_path: Path) -> None:
    path = tmp_path / "old.mat"
    scipy.io.savemat(path, {"i": [1.0, 2], "j": [2.0, 3], "angle": [0.5, 0.25]}, format="4")
    assert read(path).labels == (1, 2, 3)
    scipy.io.savemat(path, {"C": np.eye(2)})
    content = path.read_bytes()
    path.write_bytes(content + content[128:])
    with pytest.raises(FileFormatError, match="Duplicate"):
        read(path)
