"""NumPy's own formats, and scipy.sparse's; pickles are refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from problems import hermitian

from angsync.errors import FileFormatError
from angsync.io import read


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return (Path.touch, (self.target,))


def test_edges(tmp_path: Path) -> None:
    path = tmp_path / "edges.npz"
    np.savez(path, i=[0, 1], j=np.array([1, 2], np.int32), angle=[0.5, 1], weight=[1.0, 4], truth=np.zeros(3))
    m = read(path)
    assert (m.n, m.labels) == (3, None)
    assert m.j.tolist() == [1, 2]
    assert m.weight.tolist() == [1, 4]


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


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_dense_matrix(tmp_path: Path, dtype: type) -> None:
    matrix = hermitian(5, seed=1).astype(dtype)
    np.savez(tmp_path / "c.npz", C=matrix)
    np.save(tmp_path / "c.npy", matrix)
    for name in ("c.npz", "c.npy"):
        back = read(tmp_path / name)
        assert back.dtype == dtype
        assert (back == matrix).all()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_sparse_matrix(tmp_path: Path, format: str, kind: type) -> None:
    matrix = kind(np.triu(hermitian(5, seed=1), 2)).asformat(format)
    scipy.sparse.save_npz(tmp_path / "c.npz", matrix)
    back = read(tmp_path / "c.npz")
    assert isinstance(back, scipy.sparse.csr_array)
    assert (back.toarray() == matrix.toarray()).all()


def test_sparse_matrix_with_indices_out_of_range(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    parts = {"data": np.ones(2), "indices": np.array([0, 900]), "indptr": np.array([0, 1, 2])}
    np.savez(path, format=b"csc", shape=[2, 2], **parts)
    with pytest.raises(FileFormatError, match="truncated, damaged"):
        read(path)


@pytest.mark.parametrize("key", ["C", "angle", "remark"])
def test_pickles_in_npz_are_refused_and_not_run(tmp_path: Path, key: str) -> None:
    target = tmp_path / "executed"
    arrays = {"i": [0], "j": [1], "angle": [0.5]} | {key: np.array([Bomb(target)], dtype=object)}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(FileFormatError, match=rf"refused to load .*bad\.npz.*{key}.*a pickle of Python objects"):
        read(tmp_path / "bad.npz")
    assert not target.exists()


def test_sparse_pickles_are_refused_and_not_run(tmp_path: Path) -> None:
    target = tmp_path / "executed"
    data = np.array([Bomb(target)], dtype=object)
    np.savez(tmp_path / "bad.npz", format=b"csr", shape=[1, 1], data=data, indices=[0], indptr=[0, 1])
    with pytest.raises(FileFormatError, match="a pickle of Python objects"):
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
    with pytest.raises(FileFormatError, match="a pickle of Python objects"):
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
        ({"i": [0], "j": [1.5], "angle": [1]}, "whole numbers or text"),
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
    with pytest.raises(FileFormatError, match=r"no weight 'w'.*'i', 'j', 'angle'"):
        read(tmp_path / "e.npz", weight="w")


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
