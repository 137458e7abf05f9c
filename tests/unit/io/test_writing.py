"""Problems written by angsync are read back the same."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from angsync.errors import AngsyncWarning, InputError, OutputError
from angsync.io import read, write_matrix, write_measurements
from angsync.problem.measurements import Measurements

SUFFIX = pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet", ".CSV"])


def same(a: Measurements, b: Measurements) -> bool:
    columns = ((a.i, b.i), (a.j, b.j), (a.angle, b.angle), (a.weight, b.weight))
    return (a.n, a.labels) == (b.n, b.labels) and all(np.array_equal(x, y) for x, y in columns)


def problem(**settings) -> Measurements:
    rng = np.random.default_rng(2)
    i, j = np.array([0, 1, 2, 4]), np.array([1, 2, 0, 1])
    return Measurements(i, j, rng.uniform(-3, 3, 4), rng.uniform(0.1, 2, 4), **settings)


@SUFFIX
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n": 9},
        {"labels": [30, 10, 20, 5, 7]},
        {"labels": ["b", "a", "c", "lonely", "d"]},
        {"labels": ["1", "2", "3", "4", "5"]},
        {"labels": ["#1", "a,b", 'quo"te', "two\nlines", "né"]},
    ],
    ids=["node 3 isolated", "n", "numbers", "text", "text like numbers", "awkward text"],
)
def test_round_trip(tmp_path: Path, suffix: str, settings: dict) -> None:
    path = tmp_path / f"edges{suffix}"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        write_measurements(problem(**settings), path)
    back = read(path)
    if suffix == ".npz":
        assert not said
        assert same(back, problem(**settings))
        return
    # an export: nodes without measurements are lost, with a warning
    assert [warning.category for warning in said] == [AngsyncWarning]
    assert "no measurement" in str(said[0].message)
    m = problem(**settings)
    names = [np.arange(x.n) if x.labels is None else np.array(x.labels) for x in (m, back)]
    assert names[1][back.i].astype(str).tolist() == names[0][m.i].astype(str).tolist()
    assert back.angle.tolist() == m.angle.tolist()


def test_plain_csv_has_nothing_but_the_table(tmp_path: Path) -> None:
    write_measurements(Measurements([0, 1], [1, 2], [0.5, 0.1], [1, 2]), tmp_path / "edges.csv")
    assert (tmp_path / "edges.csv").read_text() == "i,j,angle,weight\n0,1,0.5,1.0\n1,2,0.1,2.0\n"


@SUFFIX
def test_other_labels_become_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"edges{suffix}"
    with pytest.warns(AngsyncWarning, match=r"\('a', 1\) will come back as \"\('a', 1\)\"") as said:
        write_measurements(Measurements([("a", 1)], [("b", 2)], [0.5]), path)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert read(path).labels == ("('a', 1)", "('b', 2)")


@SUFFIX
def test_labels_of_the_same_text_are_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match="same text"):
        write_measurements(Measurements([0], [1], [0.5], labels=["1", 1]), tmp_path / f"edges{suffix}")
    assert list(tmp_path.iterdir()) == []


@SUFFIX
def test_complex_values_keep_the_matrix(tmp_path: Path, suffix: str) -> None:
    m = Measurements([0, 1], [1, 2], value=[2j, 0.3 - 0.4j], weight=[3, 0.5])
    path = tmp_path / f"edges{suffix}"
    write_measurements(m, path)
    back = read(path)
    assert abs(back.to_sparse() - m.to_sparse()).max() < 1e-15
    if suffix == ".npz":
        assert np.allclose(back.modulus, m.modulus, rtol=1e-15)
        assert (back.weight == m.weight).all()
    else:
        assert back.modulus is None
        assert np.allclose(back.weight, [6, 0.25])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_have_no_place_for_the_truth(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(OutputError, match="truth"):
        write_measurements(problem(n=5), tmp_path / f"edges{suffix}", truth=np.arange(5) / 10)


def test_truth_in_npz(tmp_path: Path) -> None:
    write_measurements(problem(n=5), tmp_path / "e.npz", truth=[0.1, 0.2, 0.3, 0.4, 0.5])
    assert same(read(tmp_path / "e.npz"), problem(n=5))
    write_matrix(scipy.sparse.csr_array(np.eye(2)), tmp_path / "s.npz", truth=[0.1, 0.2])
    write_matrix(np.eye(2), tmp_path / "c.npz", truth=[0.1, 0.2])
    for name, size in (("e.npz", 5), ("s.npz", 2), ("c.npz", 2)):
        with np.load(tmp_path / name) as archive:
            assert archive["truth"].shape == (size,)
    assert read(tmp_path / "s.npz").shape == (2, 2)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.int64])
def test_dense_matrix(tmp_path: Path, suffix: str, dtype: type) -> None:
    matrix = np.array([[0, 2], [2, 1]], dtype=dtype)
    write_matrix(matrix, tmp_path / f"c{suffix}")
    back = read(tmp_path / f"c{suffix}")
    assert back.dtype == dtype
    assert (back == matrix).all()


def test_sparse_matrix_is_scipys_format(tmp_path: Path) -> None:
    matrix = scipy.sparse.coo_array(np.array([[0, 2j], [-2j, 0]]))
    write_matrix(matrix, tmp_path / "c.npz")
    for back in (read(tmp_path / "c.npz"), scipy.sparse.load_npz(tmp_path / "c.npz")):
        assert isinstance(back, scipy.sparse.csr_array)
        assert (back.toarray() == matrix.toarray()).all()


def test_failures(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"e\.txt.*\.csv or \.npz or \.parquet"):
        write_measurements(problem(), tmp_path / "e.txt")
    with pytest.raises(OutputError, match=r"c\.csv.*\.npz or \.npy"):
        write_matrix(np.eye(2), tmp_path / "c.csv")
    with pytest.raises(OutputError, match=r"one dense array only. Use the suffix \.npz"):
        write_matrix(scipy.sparse.csr_array(np.eye(2)), tmp_path / "c.npy")
    with pytest.raises(OutputError, match=r"one dense array only"):
        write_matrix(np.eye(2), tmp_path / "c.npy", truth=[0, 0])
    with pytest.raises(OutputError, match="holds object"):
        write_matrix(np.array([[{}]], dtype=object), tmp_path / "c.npz")
    with pytest.raises(OutputError, match="does not exist"):
        write_matrix(np.eye(2), tmp_path / "absent" / "c.npy")
    assert list(tmp_path.iterdir()) == []
