"""Dense operators: precision of sums, components, and what only a matrix on the host knows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from problems import hermitian
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.errors import NotFiniteError, NotHermitianError


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_row_sums_of_single_precision_data_bound_the_objective_in_double_precision(make):
    # |C_jl| rounded to single precision is half of the time too small, by up to 6e-8: no bound on f
    C = hermitian(40, dtype=np.complex64)
    sums = ang.as_operator(make(C)).abs_row_sums()
    assert sums.dtype == np.float64
    assert sums == pytest.approx(np.abs(C.astype(np.complex128)).sum(axis=1), rel=1e-14, abs=0)


def test_components_of_dense_and_sparse_agree():
    blocks = np.zeros((9, 9))
    for a, b in [(0, 4), (4, 8), (1, 2), (5, 6), (6, 7), (5, 7)]:
        blocks[a, b] = blocks[b, a] = 1
    expected = [0, 1, 1, 2, 0, 3, 3, 3, 0]
    assert ang.as_operator(blocks).component_labels().tolist() == expected
    assert ang.as_operator(scipy.sparse.csr_array(blocks)).component_labels().tolist() == expected
    assert ang.as_operator(aslinearoperator(blocks)).component_labels() is None
    part = ang.as_operator(blocks).restrict(np.array([5, 6, 7]))
    assert np.array_equal(part.to_dense(), blocks[5:8, 5:8])


def test_wider_vectors_get_wider_sums():
    # 0.1 is not a float32: a sum of 10^5 products of float32 data is exact to 1e-12 only if accumulated in double
    n = 3000
    C = np.full((n, n), 0.1, dtype=np.complex64)
    exact = n * float(np.float32(0.1))
    wide = ang.as_operator(C).apply(np.ones(n, dtype=np.complex128))
    assert wide.dtype == np.complex128
    assert np.abs(wide - exact).max() < 1e-12 * exact
    wide = ang.as_operator(scipy.sparse.csr_array(C[:50, :50])).apply(np.ones(50, dtype=np.complex128))
    assert wide.dtype == np.complex128


def test_what_a_matrix_on_the_host_knows():
    C = hermitian(30)
    operator = ang.as_operator(C)
    assert operator.entries() is C
    assert operator.is_dense_matrix
    assert operator.sparse() is None
    assert operator.row_length() == 30
    assert not operator.is_real()
    assert ang.as_operator(C.real).is_real()
    bare = operator.without_diagonal().to_dense()
    assert not bare.diagonal().any()
    assert np.array_equal(bare + np.diag(C.diagonal()), C)


@pytest.mark.parametrize("n", [20, 100, 450])
@pytest.mark.parametrize("kind", ["rows", "columns", "lower", "single", "real"])
def test_without_its_diagonal_a_matrix_is_the_same_otherwise(n, kind):
    C = hermitian(n)
    C = C.real.copy() if kind == "real" else C.astype(np.complex64) if kind == "single" else C
    given = np.asfortranarray(C) if kind == "columns" else C
    operator = ang.as_operator(given, hermitian="lower" if kind == "lower" else "full").without_diagonal()
    expected = C - np.diag(C.diagonal())
    x = np.exp(1j * np.arange(n))
    assert np.array_equal(operator.to_dense(), expected)
    assert np.allclose(operator.apply(x), expected @ x)
    assert np.array_equal(operator.diagonal(), np.zeros(n))
    assert np.allclose(operator.abs_row_sums(), np.abs(expected).sum(axis=1))
    assert operator.dtype == np.result_type(C, np.complex64)
    index = np.arange(n)[::-3]
    assert np.array_equal(operator.restrict(index).to_dense(), expected[np.ix_(index, index)])
    if operator.narrow is not None:
        assert np.allclose(operator.narrow_product()(x), expected @ x, atol=1e-3 * n)
        assert np.allclose(
            operator.rotated_product(x, narrow=True)(x.real),
            ((x.conj()[:, None] * expected * x).real) @ x.real,
            atol=1e-2 * n,
        )


@pytest.mark.parametrize("n", [20, 100, 300, 450])
@pytest.mark.parametrize("hermitian_", ["full", "upper", "lower"])
def test_a_diagonal_that_is_not_real_is_refused_in_one_triangle_too(n, hermitian_):
    C = hermitian(n)
    C[7, 7] += 1j
    with pytest.raises(NotHermitianError, match=r"C\[7,7\]"):
        ang.as_operator(C, hermitian_)
    C[7, 7] = complex(C[7, 7].real, np.nan)
    with pytest.raises(NotFiniteError, match=r"C\[7,7\]"):
        ang.as_operator(C, hermitian_)
    C[7, 7] = complex(C[7, 7].real, 1e-14)  # rounding
    assert ang.as_operator(C, hermitian_).diagonal()[7] == C[7, 7].real


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n", [20, 100, 450])
def test_real_data_are_known_to_be_real(kind, n):
    C = hermitian(n).real.astype(kind)
    np.fill_diagonal(C, 10 * n)
    known = ang.as_operator(C)
    assert known.is_real()
    assert known.without_diagonal().is_real()
    assert not ang.as_operator(hermitian(n)).is_real()


def test_entries_that_are_tiny_beside_the_diagonal_are_looked_at_without_it():
    C = hermitian(100) * 1e-20
    np.fill_diagonal(C, 1)
    bare = ang.as_operator(C).without_diagonal()
    assert np.allclose(bare.abs_row_sums(), np.abs(C - np.eye(100)).sum(axis=1), rtol=1e-13, atol=0)
