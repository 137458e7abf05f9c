"""``as_operator``: what comes in, and the checks on the way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from problems import hermitian, sparse_hermitian
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import angsync as ang
from angsync.errors import InputError, NotFiniteError, NotHermitianError, ShapeError
from angsync.problem.operators import ScaledOperator


def test_real_and_integer_matrices_are_valid():
    assert ang.as_operator([[0, 1], [1, 0]]).dtype == np.complex128
    assert ang.as_operator(np.eye(3, dtype=np.float32)).dtype == np.complex64
    assert ang.as_operator(np.eye(3, dtype=bool)).dtype == np.complex128


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("part", ["upper", "lower"])
def test_one_triangle_is_enough(make, part):
    C = hermitian(12)
    triangle = np.triu(C) if part == "upper" else np.tril(C)
    rubbish = triangle + (np.tril(np.full(C.shape, 7j), -1) if part == "upper" else np.triu(np.full(C.shape, 7j), 1))
    assert np.allclose(ang.as_operator(make(rubbish), hermitian=part).to_dense(), C)


def test_not_hermitian_names_the_worst_entry():
    C = hermitian(600)
    C[517, 23] += 0.25
    C[3, 5] += 0.125
    with pytest.raises(
        NotHermitianError, match=r"\|C\[23,517\] - conj\(C\[517,23\]\)\| = 2\.50e-01.*hermitian='upper'"
    ):
        ang.as_operator(C)
    S = scipy.sparse.csr_array(C)
    with pytest.raises(NotHermitianError, match=r"C\[23,517\]"):
        ang.as_operator(S)


@pytest.mark.parametrize("n", [5, 60, 450])
def test_a_complex_symmetric_matrix_is_not_hermitian(n):
    C = hermitian(n)
    with pytest.raises(NotHermitianError):
        ang.as_operator(np.triu(C) + np.triu(C, 1).T)


@pytest.mark.parametrize("n", [5, 60, 450])
def test_a_matrix_of_angles_is_told_from_other_mistakes(n):
    angles = np.subtract.outer(np.arange(n), np.arange(n)) * 0.1
    with pytest.raises(NotHermitianError, match="angles"):
        ang.as_operator(angles)


@pytest.mark.parametrize("n", [5, 60, 450])
@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_an_entry_that_is_not_finite_is_named_at_every_order(n, entry):
    C = hermitian(n)
    C[1, 3] = C[3, 1] = entry
    with pytest.raises(NotFiniteError, match=r"C\[1,3\]"):
        ang.as_operator(C)


def test_an_imaginary_diagonal_is_not_hermitian():
    C = hermitian(4)
    C[2, 2] += 0.5j
    for given in (C, scipy.sparse.csr_array(C)):
        for part in ("full", "upper", "lower"):
            with pytest.raises(NotHermitianError, match=r"C\[2,2\]"):
                ang.as_operator(given, hermitian=part)


@pytest.mark.parametrize("n", [20, 50, 450])
def test_where_triangles_differ_by_rounding_the_upper_one_is_the_problem(n):
    C = hermitian(n)
    noisy = C * (1 + 1e-14 * np.random.default_rng(0).standard_normal(C.shape))
    upper = np.triu(noisy, 1)
    expected = upper + upper.conj().T + np.diag(noisy.diagonal().real)
    difference = np.abs(np.triu(noisy - noisy.conj().T, 1)).sum()
    for given in (noisy, np.asfortranarray(noisy), scipy.sparse.csr_array(noisy)):
        operator = ang.as_operator(given)
        assert np.array_equal(operator.to_dense(), expected)
        assert difference * (1 - 1e-9) <= operator.asymmetry() <= 1.5 * difference
        assert ScaledOperator(operator, 3).asymmetry() == operator.asymmetry() / 8


def test_what_a_certificate_allows_for_covers_the_other_triangle():
    C = ang.simulate.gaussian(60, 1.0, rng=0).C
    noisy = C * (1 + 1e-9 * np.random.default_rng(0).standard_normal(C.shape))
    apart = np.abs(np.triu(noisy - noisy.conj().T, 1)).sum()
    for given in (noisy, scipy.sparse.csr_array(noisy)):
        result = ang.synchronize(given)
        assert result.certificate.gap_bound >= 2 * apart
        assert abs(np.vdot(result.z, noisy @ result.z).real - result.objective) <= apart
    assert ang.synchronize(C).certificate.gap_bound < 1e-3 * apart


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("n", [4, 60, 450])
def test_asymmetry_is_measured_by_the_entries_compared(make, n):
    C = hermitian(n)
    C[0, 1], C[1, 0] = 1e9, 1e9
    C[1, 2], C[2, 1] = 1, -1
    with pytest.raises(NotHermitianError, match=r"\|C\[1,2\] - conj\(C\[2,1\]\)\| = 2\.00e\+00"):
        ang.as_operator(make(C))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("n", [40, 150, 450])
def test_a_computed_gram_matrix_has_the_rounding_of_its_terms(n, dtype):
    # row j of Y has norm about 7; the entries (0, 1) and (2, n - 1) are nearly 0 and carry the rounding of 50 terms
    rng = np.random.default_rng(n)
    Y = rng.standard_normal((n, 50)) + 1j * rng.standard_normal((n, 50))
    for j, k in ((0, 1), (2, n - 1)):
        Y[k] -= Y[j] * (Y[k] @ Y[j].conj()) / (Y[j] @ Y[j].conj())
    C = (Y @ Y.conj().T).astype(dtype)
    unit = 100 * np.finfo(dtype).eps
    C[0, 1], C[1, 0], C[2, n - 1], C[n - 1, 2] = 3 * unit, -2 * unit, 1j * unit, 2j * unit
    assert ang.as_operator(C).asymmetry() > 0
    assert ang.as_operator(scipy.sparse.csr_array(C)).asymmetry() > 0
    C[0, 1] = 1e6 * unit
    for given in (C, scipy.sparse.csr_array(C)):
        with pytest.raises(NotHermitianError, match=r"C\[0,1\]"):
            ang.as_operator(given)


@pytest.mark.parametrize("n", [5, 60, 450])
@pytest.mark.parametrize("part", ["full", "upper", "lower"])
def test_what_is_masked_is_absent(n, part):
    C = hermitian(n)
    mask = np.zeros((n, n), dtype=bool)
    mask[0, 3], mask[4, 2] = True, True  # one above the diagonal, one below
    expected = C.copy()
    if part != "lower":
        expected[0, 3] = expected[3, 0] = 0
    if part != "upper":
        expected[4, 2] = expected[2, 4] = 0
    hidden = np.where(mask, np.nan, C)
    assert np.array_equal(ang.as_operator(np.ma.array(hidden, mask=mask), hermitian=part).to_dense(), expected)
    assert np.array_equal(ang.as_operator(np.ma.array(C)).to_dense(), C)


def test_a_masked_pair_changes_nothing():
    C = np.ones((4, 4), complex)
    C[0, 3] = C[3, 0] = -1e6
    mask = np.zeros((4, 4), bool)
    mask[0, 3] = True
    assert np.abs(ang.synchronize(np.ma.masked_array(C, mask=mask)).angles).max() < 1e-8


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1j * np.nan])
def test_not_finite_says_where(bad):
    C = hermitian(700)
    C[601, 4] = C[4, 601] = bad
    for part in ("full", "upper"):
        with pytest.raises(NotFiniteError, match=r"C\[4,601\]"):
            ang.as_operator(C, hermitian=part)
    with pytest.raises(NotFiniteError, match=r"C\[4,601\]"):
        ang.as_operator(scipy.sparse.csr_array(C))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 3)])
def test_not_square(shape):
    with pytest.raises(ShapeError, match=r"square.*Measurements"):
        ang.as_operator(np.zeros(shape))


def test_a_stack_is_refused_with_a_way_out():
    with pytest.raises(ShapeError, match="one problem at a time"):
        ang.as_operator(np.zeros((2, 3, 3)))


def test_empty_text_and_objects():
    with pytest.raises(InputError, match="empty"):
        ang.as_operator(np.zeros((0, 0)))
    with pytest.raises(InputError, match="empty"):
        ang.as_operator(scipy.sparse.csr_array((0, 0)))
    with pytest.raises(InputError, match="numeric"):
        ang.as_operator(np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(InputError, match="cannot synchronize a dict"):
        ang.as_operator({"C": 1})
    with pytest.raises(InputError, match="read as a matrix"):
        ang.as_operator([[1, 2], [3]])
    with pytest.raises(InputError, match="'full', 'upper' or 'lower'"):
        ang.as_operator(np.eye(2), hermitian="both")
    with pytest.raises(InputError, match="overflow"):
        ang.as_operator(np.full((100, 100), 1e308))


def test_linear_operators_are_checked_too():
    C = hermitian(20)
    C[0, 1] += 1
    with pytest.raises(NotHermitianError, match="matvec"):
        ang.as_operator(aslinearoperator(C))
    broken = LinearOperator((5, 5), matvec=lambda v: v * np.nan, dtype=complex)
    with pytest.raises(NotFiniteError, match="matvec"):
        ang.as_operator(broken)
    with pytest.raises(ShapeError, match="square"):
        ang.as_operator(aslinearoperator(np.zeros((2, 3))))


def test_the_callers_data_are_never_changed():
    C = hermitian(10)
    C[0, 3] = C[3, 0] = 0
    sparse = scipy.sparse.csr_array(C)
    sparse.data[5] = sparse.data[5]
    explicit_zero = sparse.copy()
    explicit_zero.data[1] = 0
    explicit_zero.data[np.flatnonzero(explicit_zero.indices == 0)[1]] = 0
    stored = explicit_zero.nnz
    C.flags.writeable = False
    before = C.copy()
    ang.synchronize(C)
    ang.as_operator(explicit_zero)
    assert np.array_equal(C, before)
    assert explicit_zero.nnz == stored


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sparse_entries_whose_squares_are_not_floats(scale):
    C = sparse_hermitian(20) * scale
    assert ang.as_operator(C).matrix.nnz == C.nnz
    rounded = C.copy()
    rounded.data[::2] *= 1 + 4e-16
    matrix = ang.as_operator(rounded).matrix  # asymmetry of rounding size is no mistake at any scale
    assert abs(matrix - matrix.conj().T).max() == 0
    wrong = C.copy()
    wrong.data[np.argmax(np.abs(wrong.data))] *= 2
    with pytest.raises(ang.errors.NotHermitianError):
        ang.as_operator(wrong)


def test_sparse_input_in_any_layout_comes_in():
    C = sparse_hermitian(20)
    wide = C.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    operator = ang.as_operator(wide)
    assert operator.matrix.indices.dtype == np.int32
    assert abs(operator.matrix - C).max() == 0
    backwards = C.copy()
    for row in range(20):
        part = slice(backwards.indptr[row], backwards.indptr[row + 1])
        backwards.indices[part], backwards.data[part] = (
            backwards.indices[part][::-1].copy(),
            backwards.data[part][::-1].copy(),
        )
    backwards.has_sorted_indices = backwards.has_canonical_format = False
    assert abs(ang.as_operator(backwards).matrix - C).max() == 0
    halves = (np.repeat(C.data / 2, 2), np.repeat(C.indices, 2), 2 * C.indptr)
    doubled = ang.as_operator(scipy.sparse.csr_array(halves, shape=C.shape)).matrix  # every entry in two parts
    assert doubled.nnz == C.nnz
    assert abs(doubled - C).max() == 0
