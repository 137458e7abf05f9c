"""Eliminated unknowns: the operator against the dense Schur complement."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import synchronize, testing
from angsync.errors import InputError, NotFiniteError, NotHermitianError, ShapeError
from angsync.problem.operators import (
    HermitianOperator,
    SchurOperator,
)


def augmented_matrix(n, m, *, real_corner, seed=0, density=0.15):
    """A positive semidefinite K with a definite last block, and -Q dense."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((3 * (n + m), n + m)) * (rng.random((3 * (n + m), n + m)) < density)
    factor = rows * np.exp(2j * np.pi * rng.random(rows.shape))
    if real_corner:
        factor[:, n:] = rows[:, n:]
    K = factor.conj().T @ factor
    corner = np.linalg.inv(K[n:, n:])
    return K, -(K[:n, :n] - K[:n, n:] @ corner @ K[n:, :n])


@pytest.fixture(params=[True, False], ids=["real corner", "complex corner"])
def problem(request):
    K, C = augmented_matrix(12, 9, real_corner=request.param)
    return SchurOperator(scipy.sparse.csr_array(K), 12), C, K


def test_follows_the_protocol(problem):
    operator, _, _ = problem
    assert isinstance(operator, HermitianOperator)
    testing.check_operator(operator)
    assert operator.abs_row_sums() is None


def test_is_minus_the_schur_complement(problem):
    operator, C, _ = problem
    # entries of K are below 100 and K22 is well conditioned, so 1e-12 is far above rounding
    assert operator.to_dense() == pytest.approx(C, abs=1e-12)
    assert operator.diagonal() == pytest.approx(C.diagonal().real, abs=1e-12)
    assert not operator.is_real()


def test_the_diagonal_of_more_nodes_than_one_block_of_columns():
    K, C = augmented_matrix(150, 20, real_corner=True)
    assert SchurOperator(scipy.sparse.csc_array(K), 150).diagonal() == pytest.approx(C.diagonal().real, abs=1e-9)


def test_the_eliminated_unknowns_are_the_best_ones(problem):
    operator, C, K = problem
    rng = np.random.default_rng(1)
    z = np.exp(2j * np.pi * rng.random(12))
    p = operator.eliminated(z)
    whole = np.concatenate([z, p])
    assert (whole.conj() @ K @ whole).real == pytest.approx(-(z.conj() @ C @ z).real, rel=1e-12)
    # the gradient in p vanishes
    assert K[12:] @ whole == pytest.approx(np.zeros(9), abs=1e-12)


def test_augmented_gives_back_what_came_in(problem):
    operator, _, K = problem
    matrix, n = operator.augmented()
    assert isinstance(matrix, scipy.sparse.csc_array)
    assert n == 12
    assert np.array_equal(matrix.toarray(), (K + K.conj().T) / 2)


def test_nothing_is_above_the_upper_bound(problem):
    operator, C, _ = problem
    assert operator.upper_bound() == 0.0
    assert np.linalg.eigvalsh(C)[-1] < 1e-12


def test_rounding_sums_bound_the_row_sums_of_a_grounded_laplacian():
    rng = np.random.default_rng(2)
    n = 15
    incidence = np.zeros((40, n - 1))
    displaced = np.zeros((40, n), dtype=complex)
    for edge in range(40):
        i, j = rng.choice(n, 2, replace=False)
        if j > 0:
            incidence[edge, j - 1] = 1
        if i > 0:
            incidence[edge, i - 1] = -1
        displaced[edge, i] = complex(*rng.standard_normal(2))
    factor = np.hstack([-displaced, incidence])
    operator = SchurOperator(scipy.sparse.csc_array(factor.conj().T @ factor), n)
    assert (operator.rounding_sums() >= np.abs(operator.to_dense()).sum(axis=1) - 1e-12).all()
    K = np.abs(factor.conj().T @ factor)
    inverse = np.linalg.inv((factor.conj().T @ factor)[n:, n:])
    assert (inverse.real > -1e-12).all()  # which is why it is a bound
    terms = K[:n, :n].sum(axis=1) + K[:n, n:] @ inverse.real @ K[n:, :n].sum(axis=1)
    assert operator.rounding_sums() == pytest.approx(terms, rel=1e-10)


def test_components_and_restriction():
    first, C = augmented_matrix(5, 4, real_corner=True, seed=3, density=0.5)
    second, other = augmented_matrix(4, 3, real_corner=True, seed=4, density=0.5)
    K = scipy.sparse.block_diag([first, second]).tocsr()
    order = [0, 9, 1, 10, 2, 11, 3, 12, 4, *range(5, 9), *range(13, 16)]  # phases of both, mixed, come first
    operator = SchurOperator(K[order][:, order], 9)
    assert operator.component_labels().tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert operator.restrict(np.arange(0, 9, 2)).to_dense() == pytest.approx(C, abs=1e-12)
    part = operator.restrict(np.array([7, 1]))
    assert part.to_dense() == pytest.approx(other[np.ix_([3, 0], [3, 0])], abs=1e-12)
    assert part.augmented()[0].shape == (5, 5)  # the unknowns of the other component are gone


def test_row_length_counts_the_solves():
    # rows of 2 entries, columns of 1 on the way to the corner, and a full corner: triangles with rows of 6
    corner = 6 * np.eye(6) + np.ones((6, 6))
    K = np.block([[4 * np.eye(6), -np.eye(6)], [-np.eye(6), corner]])
    assert SchurOperator(scipy.sparse.csc_array(K), 6).row_length() == 2 + 1 + 6 + 6


def test_nothing_to_eliminate():
    K = np.array([[2.0, -1.0], [-1.0, 2.0]])
    operator = SchurOperator(K, 2)
    testing.check_operator(operator)
    assert operator.to_dense() == pytest.approx(-K)
    assert operator.eliminated(np.ones(2)).shape == (0,)
    assert operator.is_real()


def test_it_is_solved_and_certified(problem):
    operator, C, _ = problem
    result = synchronize(operator)
    assert result.certificate.verdict.name in ("CERTIFIED", "UNDECIDED")
    assert result.objective == pytest.approx(synchronize(C).objective, rel=1e-8)


@pytest.mark.parametrize(
    ("K", "n", "error", "message"),
    [
        (np.ones((2, 3)), 1, ShapeError, "square"),
        (np.eye(3), 0, ShapeError, "n must be between 1 and the order 3"),
        (np.eye(3), 4, ShapeError, "n must be between 1 and the order 3"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), 1, NotHermitianError, "differ by 2"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), 1, NotFiniteError, "NaN or infinite"),
        (np.diag([1.0, 1.0, -1.0]), 1, InputError, "positive definite, but its smallest pivot is -1"),
        (np.array([[2.0, 0, 0], [0, 1, -1], [0, -1, 1]]), 1, InputError, "positive definite"),
        (np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]]), 1, InputError, "positive definite"),
        (np.diag([1.0, 1.0, 0.0]), 1, InputError, "positive definite"),
    ],
)
def test_failures(K, n, error, message):
    with pytest.raises(error, match=message):
        SchurOperator(scipy.sparse.csc_array(K), n)


def test_the_gap_covers_the_error_of_the_eliminated_unknowns():
    """Two unknowns that are nearly one: the solve loses most digits, and so does f. Compared with exact fractions."""
    from fractions import Fraction

    rng = np.random.default_rng(3)
    n, m = 3, 2
    for trial in range(20):
        B = rng.integers(-8, 9, (8, n + m)).astype(float)
        B[:, n + 1] = B[:, n] + 2.0**-17 * rng.integers(-8, 9, 8)  # exact in binary: K has a condition of 1e9 and more
        K = B.T @ B
        try:
            operator = SchurOperator(scipy.sparse.csr_array(K.astype(complex)), n)
        except InputError:
            continue  # not definite in double precision
        E = [[Fraction(float(x)) for x in row] for row in K]
        for q in (n + 1, n):
            for i in range(q):
                for j in range(q):
                    E[i][j] -= E[i][q] * E[q][j] / E[q][q]
        signs = [np.array([1, a, b], dtype=complex) for a in (1, -1) for b in (1, -1)]
        values = [-sum(int(w[i].real) * E[i][j] * int(w[j].real) for i in range(n) for j in range(n)) for w in signs]
        best = max(values)
        for w, value in zip(signs, values, strict=True):
            certificate = ang.certify(operator, w, method="factorization")
            assert float(best - value) <= certificate.gap_bound, trial
