"""Operators: the protocol, the checks on the way in, precision and scale."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import angsync as ang
from angsync.errors import InputError, NotFiniteError, NotHermitianError, ShapeError
from angsync.problem.operators import (
    CountingOperator,
    DenseOperator,
    LinearOperatorAdapter,
    ScaledOperator,
    SparseOperator,
    normalising_exponent,
)
from angsync.testing import check_operator


def hermitian(n: int, seed: int = 0, dtype: type = np.complex128) -> np.ndarray:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return (A + A.conj().T).astype(dtype)


def sparse_hermitian(n: int, dtype: type = np.complex128) -> scipy.sparse.csr_array:
    C = hermitian(n, dtype=dtype)
    keep = np.triu(np.random.default_rng(1).random((n, n)) < 0.2, 1)
    return scipy.sparse.csr_array(C * (keep | keep.T | np.eye(n, dtype=bool)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_operator_passes_the_shipped_check(dtype):
    C = hermitian(30, dtype=dtype)
    operators = [
        ang.as_operator(C),
        ang.as_operator(sparse_hermitian(30, dtype)),
        ang.as_operator(aslinearoperator(C)),
        ScaledOperator(ang.as_operator(C), 7),
        CountingOperator(ang.as_operator(C)),
    ]
    kinds = [DenseOperator, SparseOperator, LinearOperatorAdapter, ScaledOperator, CountingOperator]
    for operator, kind in zip(operators, kinds, strict=True):
        assert type(operator) is kind
        assert operator.dtype == dtype
        check_operator(operator)


class Wrong(DenseOperator):
    def diagonal(self):
        return super().diagonal() + 1


class NotSymmetric(DenseOperator):
    def apply(self, z):
        out = super().apply(z)
        out[0] = out[0] * 2
        return out


class DropsPrecision(DenseOperator):
    def apply(self, z):
        return super().apply(z).astype(np.complex64)


@pytest.mark.parametrize(
    ("broken", "message"), [(Wrong, "diagonal"), (NotSymmetric, "Hermitian"), (DropsPrecision, "dtype")]
)
def test_the_shipped_check_can_fail(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_operator(broken(hermitian(10)))


def test_the_shipped_check_wants_the_whole_protocol():
    with pytest.raises(AssertionError, match="protocol"):
        check_operator(np.eye(3))


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


@pytest.mark.parametrize("exponent", [1000, -1000, 501, -3, 0])
def test_scaling_by_a_power_of_two_is_exact(exponent):
    C = hermitian(20)
    z = np.exp(1j * np.arange(20.0))
    huge = ang.as_operator(np.ldexp(C.real, exponent) + 1j * np.ldexp(C.imag, exponent))
    assert np.array_equal(ScaledOperator(huge, exponent).apply(z), ang.as_operator(C).apply(z))
    assert np.array_equal(ScaledOperator(huge, exponent).diagonal(), C.diagonal().real)


def test_normalising_exponent_brings_the_largest_row_sum_below_one():
    for scale in (1e-150, 1.0, 1e150):
        operator = ang.as_operator(hermitian(10) * scale)
        largest = ScaledOperator(operator, normalising_exponent(operator)).abs_row_sums().max()
        assert 0.5 <= largest < 1
    assert normalising_exponent(ang.as_operator(np.zeros((3, 3)))) == 0
    assert abs(normalising_exponent(ang.as_operator(aslinearoperator(np.eye(4) * 2.0**40))) - 41) <= 1


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


def test_an_imaginary_diagonal_is_not_hermitian():
    C = hermitian(4)
    C[2, 2] += 0.5j
    for given in (C, scipy.sparse.csr_array(C)):
        for part in ("full", "upper", "lower"):
            with pytest.raises(NotHermitianError, match=r"C\[2,2\]"):
                ang.as_operator(given, hermitian=part)


def test_rounding_asymmetry_is_averaged_away():
    C = hermitian(50)
    noisy = C * (1 + 1e-14 * np.random.default_rng(0).standard_normal(C.shape))
    matrix = ang.as_operator(noisy).to_dense()
    assert np.array_equal(matrix, matrix.conj().T)
    sparse = ang.as_operator(scipy.sparse.csr_array(noisy)).to_dense()
    assert np.array_equal(sparse, sparse.conj().T)


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


def test_levels_of_a_breadth_first_search():
    grid = ang.simulate.grid(5, 9, 0.1, rng=0)
    search = ang.as_operator(grid.C).breadth_first
    assert np.array_equal(np.sort(search.order), np.arange(45))
    assert search.depth == 12  # from corner to corner
    assert search.width == 5
    assert search.starts[0] == 0
    assert search.starts[-1] == 45
    distance = np.empty(45, dtype=int)
    for level, (a, b) in enumerate(zip(search.starts, search.starts[1:], strict=False)):
        distance[search.order[a:b]] = level
    rows, columns = grid.C.tocoo().coords
    assert np.abs(distance[rows] - distance[columns]).max() == 1  # a level separates the graph
    assert (distance[search.order[1:]] == distance[search.parent[1:]] + 1).all()
    assert grid.C[search.order[1:], search.parent[1:]].all()


@pytest.mark.parametrize(
    ("shape", "depth", "width"), [("one node", 0, 1), ("path", 29, 1), ("star", 2, 28), ("pieces", 1, 1)]
)
def test_depth_and_width_of_small_graphs(shape, depth, width):
    k = np.arange(1, 30)
    if shape == "one node":
        operator = ang.as_operator(scipy.sparse.csr_array((1, 1)))
    elif shape == "pieces":
        operator = ang.as_operator(ang.Measurements([0, 2, 3], [1, 3, 4], [0.0, 0.0, 0.0]))
    else:
        operator = ang.as_operator(ang.Measurements(k, k - 1 if shape == "path" else 0 * k, np.zeros(29)))
    search = operator.breadth_first
    assert (search.depth, search.width) == (depth, width)
    assert operator.component_labels().max() == (1 if shape == "pieces" else 0)


def test_edges_are_counted_without_the_diagonal():
    C = sparse_hermitian(20)
    dense = C.toarray()
    expected = np.count_nonzero(np.triu(dense, 1))
    assert ang.as_operator(C).edge_count == expected
    assert ang.as_operator(C + scipy.sparse.eye_array(20)).edge_count == expected


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_row_sums_of_single_precision_data_bound_the_objective_in_double_precision(make):
    # |C_jl| rounded to single precision is half of the time too small, by up to 6e-8: no bound on f
    C = hermitian(40, dtype=np.complex64)
    sums = ang.as_operator(make(C)).abs_row_sums()
    assert sums.dtype == np.float64
    assert sums == pytest.approx(np.abs(C.astype(np.complex128)).sum(axis=1), rel=1e-14, abs=0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_sparse_entries_whose_squares_are_not_floats(scale):
    C = sparse_hermitian(20) * scale
    assert ang.as_operator(C).matrix.nnz == C.nnz
    rounded = C.copy()
    rounded.data[::2] *= 1 + 4e-16
    matrix = ang.as_operator(rounded).matrix  # asymmetry of rounding size is averaged away at any scale
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


def test_products_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="mismatch"):
        ang.as_operator(sparse_hermitian(20)).apply(np.ones(3, dtype=complex))
