"""NumPy's own formats, scipy.sparse's, and named arrays of a field; pickles are refused."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from problems import hermitian

from angsync import Measurements
from angsync.errors import FileFormatError, InputError
from angsync.io import read, write_measurements
from angsync.io.arrays import read_arrays


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return (Path.touch, (self.target,))


def test_n_declares_isolated_nodes(tmp_path: Path) -> None:
    path = tmp_path / "edges.npz"
    np.savez(path, i=[0, 4], j=[1, 1], angle=[0.5, 1], n=7)
    m = read(path)
    assert (m.n, m.labels) == (7, None)
    assert m.i.tolist() == [0, 4]
    np.savez(path, i=[2], j=[1], angle=[0.5], n=4)
    m = read(path)
    assert (m.n, m.labels, m.i[0]) == (4, None, 2)


def test_without_n_numbers_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "edges.npz"
    np.savez(path, i=[10, 40], j=[20, 20], angle=[0.5, 1])
    assert read(path).labels == (10, 20, 40)


def test_text_labels_and_other_names(tmp_path: Path) -> None:
    path = tmp_path / "edges.npz"
    np.savez(path, a=["x", "y"], b=np.array([b"y", b"z"]), phase=[0.5, 1], w=[1, 2])
    m = read(path, i="a", j="b", angle="phase", weight="w")
    assert m.labels == ("x", "y", "z")
    assert m.weight.tolist() == [1, 2]


@pytest.mark.parametrize("key", ["value", "angle"])
def test_complex_values(tmp_path: Path, key: str) -> None:
    path = tmp_path / "edges.npz"
    np.savez(path, i=[0, 5], j=[1, 1], weight=[1, 3], **{key: [2j, -0.5 + 0j]})
    m = read(path)
    assert np.allclose(m.angle, [np.pi / 2, np.pi])
    assert np.allclose(m.strength, [2, 1.5])
    assert m.labels == (0, 1, 5)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_sparse_matrix(tmp_path: Path, format: str, kind: type) -> None:
    matrix = kind(np.triu(hermitian(5, seed=1), 2)).asformat(format)
    scipy.sparse.save_npz(tmp_path / "c.npz", matrix)
    back = read(tmp_path / "c.npz")
    assert isinstance(back, scipy.sparse.csr_array)
    assert (back.toarray() == matrix.toarray()).all()


@pytest.mark.parametrize(
    "parts",
    [
        {"format": b"coo", "row": [1, 0], "col": [0, 1], "shape": [10**11, 10**11]},
        {"format": b"coo", "row": [10**6, -7], "col": [0, 1], "shape": [3, 3]},
        {"format": b"csr", "indices": [10**6, 0], "indptr": [0, 1, 2], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, 2, 1], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, 9, 0], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, -5, -5], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [0, 2**63 - 1, -2], "shape": [2, 2]},
        {"format": b"csc", "indices": [1, 0], "indptr": [0, 1, 3], "shape": [2, 2]},
        {"format": b"csr", "indices": [1, 0], "indptr": [1, 1, 2], "shape": [2, 2]},
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


@pytest.mark.parametrize("key", ["C", "angle"])
def test_pickles_in_npz_are_refused_and_not_run(tmp_path: Path, key: str) -> None:
    target = tmp_path / "executed"
    arrays = {"i": [0], "j": [1], "angle": [0.5], "remark": np.array([Bomb(target)], dtype=object)}
    np.savez(tmp_path / "bad.npz", **arrays)
    assert len(read(tmp_path / "bad.npz")) == 1  # what is not needed is not loaded
    np.savez(tmp_path / "bad.npz", **arrays | {key: np.array([Bomb(target)], dtype=object)})
    with pytest.raises(FileFormatError, match=r"bad\.npz.*pickle"):
        read(tmp_path / "bad.npz")
    assert not target.exists()


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("bare", [True, False])
def test_pickles_alone_are_refused_and_not_run(tmp_path: Path, suffix: str, bare: bool) -> None:
    target = tmp_path / "executed"
    path = tmp_path / f"bad{suffix}"
    with open(path, "wb") as stream:
        if bare or suffix == ".npz":
            pickle.dump(Bomb(target), stream)
        else:
            np.save(stream, np.array([Bomb(target)], dtype=object))
    with pytest.raises(FileFormatError, match="pickle"):
        read(path)
    assert not target.exists()
    # the bomb itself works: otherwise this test would prove nothing
    pickle.loads(pickle.dumps(Bomb(target)))
    assert target.exists()


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.95])
def test_truncated(tmp_path: Path, suffix: str, share: float) -> None:
    path = tmp_path / f"c{suffix}"
    (np.savez(path, C=hermitian(20)) if suffix == ".npz" else np.save(path, hermitian(20)))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match=rf"c\{suffix}"):
        read(path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": [1], "y": [2]}, "neither edges .* nor a matrix 'C'.*'x', 'y'"),
        ({"i": [0], "j": [1]}, "'i', 'j'"),
        ({"i": [0], "j": [1], "angle": [np.nan]}, r"angle\[0\] is nan"),
        ({"i": [0, 1], "j": [1], "angle": [1]}, "same length|one entry|1 and 2|2 and 1"),
        ({"i": [0], "j": [5], "angle": [1], "n": 3}, "out of range for n = 3"),
        ({"i": [0], "j": [-1], "angle": [1], "n": 3}, "negative"),
        ({"i": [0], "j": [1], "angle": [1], "n": 2.5}, "n must be one whole number"),
        ({"i": [0], "j": [1.5], "angle": [1]}, "whole numbers"),
        ({"i": [0], "j": ["a"], "angle": [1]}, "both name nodes"),
        ({"i": ["a"], "j": ["b"], "angle": [1], "labels": ["a", "c"]}, "'b'.*not among"),
        ({"C": ["text", "more"]}, "not numbers"),
        ({"C": [1.0, 2.0]}, r"shape \(2,\)"),
        ({}, "holds nothing"),
    ],
)
def test_wrong_content(tmp_path: Path, arrays: dict, words: str) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(FileFormatError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_named_weight_must_exist(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", i=[0], j=[1], angle=[1])
    with pytest.raises(FileFormatError, match="no column 'w'"):
        read(tmp_path / "e.npz", weight="w")


def test_standard_deviations_give_weights(tmp_path: Path) -> None:
    edges = {"i": [0, 1], "j": [1, 2], "angle": [5, 6]}
    np.savez(tmp_path / "e.npz", **edges, sigma=[2, 4])
    assert read(tmp_path / "e.npz").weight.tolist() == [1 / 4, 1 / 16]
    np.savez(tmp_path / "e.npz", **edges, sd=[2, 4], sigma=0.1)  # one number for all is not a column
    assert read(tmp_path / "e.npz").weight.tolist() == [1, 1]
    assert read(tmp_path / "e.npz", error="sd").weight.tolist() == [1 / 4, 1 / 16]
    np.savez(tmp_path / "e.npz", **edges, sigma=[2, 4, 8])
    with pytest.raises(FileFormatError, match="weight"):
        read(tmp_path / "e.npz")


@pytest.mark.parametrize("n", [10**12, 10**6 + 1, 2.7, -1, np.nan, np.inf, 1e300])
def test_declared_nodes_that_cannot_be(tmp_path: Path, n: float) -> None:
    np.savez(tmp_path / "e.npz", i=[0], j=[1], angle=[0.5], n=n)
    with pytest.raises(FileFormatError, match=r"e\.npz"):
        read(tmp_path / "e.npz")


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_nothing_is_written_that_would_not_be_read(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match="declares 2000000 nodes"):
        write_measurements(Measurements([0], [1], [0.5], n=2 * 10**6), tmp_path / f"e.{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shape", [(10**6, 10**6), (10**9, 10**9), (-5, 5), (2**62, 16), (1, 1)])
def test_shapes_that_do_not_fit_the_bytes(tmp_path: Path, shape: tuple) -> None:
    text = repr({"descr": "<c16", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)
    (tmp_path / "c.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("C.npy", content)
    for name in ("c.npy", "c.npz"):
        with pytest.raises(FileFormatError, match=name):
            read(tmp_path / name)


def test_an_array_that_is_there_twice(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", i=[0], j=[1], angle=[0.5])
    with zipfile.ZipFile(tmp_path / "e.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("angle.npy", archive.read("angle.npy"))
    with pytest.raises(FileFormatError, match="'angle' is there twice"):
        read(tmp_path / "e.npz")


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_arrays_of_a_field(tmp_path: Path, suffix: str) -> None:
    path, arrays = tmp_path / f"data{suffix}", {"a": np.arange(3) * 1j, "b": np.ones((2, 2)), "c": np.zeros(5)}
    if suffix == ".npz":
        np.savez(path, **arrays)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    found = read_arrays(path, ("a",), ("b", "d"))
    assert sorted(found) == ["a", "b"]
    assert np.array_equal(found["a"], arrays["a"])
    with pytest.raises(FileFormatError, match=r"no 'x' and no 'y'; it holds .*a.*b.*c"):
        read_arrays(path, ("a", "x", "y"))
    with pytest.raises(FileFormatError, match=r"'\.csv'"):
        read_arrays(tmp_path / "data.csv", ("a",))


@pytest.mark.shared_data
def test_real_sensor_patches(shared_data: Path) -> None:
    files = sorted((shared_data / "sensor-patches").glob("*.npz"))
    assert files
    for file in files:
        m = read(file)
        assert (m.n, len(m), m.labels) == (426, 23583, None)
    m = read(shared_data / "sensor-patches" / "pacm-eta0-gamma-seed2.npz")
    with np.load(shared_data / "sensor-patches" / "pacm-eta0-gamma-seed2.npz") as archive:
        truth = archive["truth"]
    # no noise in this one: every measured angle is the difference of the true ones, in our orientation
    assert np.abs(np.exp(1j * m.angle) - np.exp(1j * (truth[m.i] - truth[m.j]))).max() < 1e-6


@pytest.mark.shared_data
def test_real_sparse_file(shared_data: Path) -> None:
    matrix = read(shared_data / "ranking" / "premier-league-2009.npz")
    assert isinstance(matrix, scipy.sparse.csr_array)
    assert matrix.shape == (20, 20)
