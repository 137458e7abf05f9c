"""Rows out of edges: the compiled kernel against its twin, bit for bit, and against a plain sum."""

import numpy as np
import pytest

from angsync import kernels
from angsync.kernels.sparse import assemble_reference

compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not built")


def edges(seed: int, n: int = 60, count: int = 400):
    rng = np.random.default_rng(seed)
    i = rng.integers(0, n, count)
    j = (i + rng.integers(1, n, count)) % n
    return i, j, rng.random(count) * np.exp(1j * rng.normal(size=count))


@pytest.mark.parametrize("seed", range(5))
def test_the_matrix_is_the_sum_of_its_edges(seed):
    i, j, value = edges(seed)
    expected = np.zeros((60, 60), dtype=complex)
    np.add.at(expected, (i, j), value)
    np.add.at(expected, (j, i), np.conj(value))
    matrix = kernels.hermitian_rows(60, i, j, lambda part: value[part]).matrix
    assert np.allclose(matrix.toarray(), expected, rtol=0, atol=1e-14)
    assert np.array_equal(matrix.toarray(), matrix.toarray().conj().T)
    assert matrix.has_canonical_format


@compiled
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [5, 60, 2000])
def test_both_kernels_agree_to_the_bit(seed, n):
    from angsync.kernels.sparse import assemble

    i, j, value = edges(seed, n)
    value[::7] = 0
    value[1::7] = -0.0
    one, other = (module.hermitian_rows(n, i, j, lambda part: value[part]) for module in (assemble, assemble_reference))
    assert one.matrix.data.tobytes() == other.matrix.data.tobytes()
    assert np.array_equal(one.matrix.indices, other.matrix.indices)
    assert np.array_equal(one.matrix.indptr, other.matrix.indptr)
    assert one[1:] == other[1:]


@compiled
def test_long_rows_are_sorted_too(monkeypatch):
    from angsync.kernels.sparse import assemble

    monkeypatch.setattr(assemble, "_AT_ONCE", 17)  # values in many parts
    leaves = np.random.default_rng(0).permutation(np.arange(1, 500))
    value = np.exp(1j * leaves)
    matrix = assemble.hermitian_rows(500, np.zeros(499, dtype=np.int64), leaves, lambda part: value[part]).matrix
    assert np.array_equal(matrix.indices[:499], np.arange(1, 500))
    assert np.array_equal(matrix.data[:499], np.exp(1j * np.arange(1, 500)))


@pytest.mark.parametrize("which", ["in use", "NumPy"])
def test_edges_that_cancel_leave_nothing(which):
    rows = kernels.hermitian_rows if which == "in use" else assemble_reference.hermitian_rows
    value = np.exp(1j * np.array([0.0, np.pi, 0.0, 2.0, 1.0]))
    i, j = np.array([0, 1, 1, 2, 0]), np.array([1, 0, 2, 1, 2])
    matrix, contradictions, worst = rows(3, i, j, lambda part: value[part])
    assert contradictions == 2
    assert worst == (0, 1)
    assert matrix[0, 1] == matrix[1, 0] == 0
    assert abs(matrix[1, 2] - (1 + np.exp(-2j))) < 1e-15
    assert matrix[0, 2] == np.exp(1j)


def test_pairs_given_twice_give_memory_back():
    i, j = np.array([0, 1, 2, 1, 2, 0]), np.array([1, 2, 0, 0, 1, 2])
    matrix = kernels.hermitian_rows(3, i, j, lambda part: np.ones(6, dtype=complex)[part]).matrix
    assert matrix.data.base is None or matrix.data.base.size == matrix.nnz
    assert np.array_equal(matrix.toarray(), 2 * (1 - np.eye(3)))
