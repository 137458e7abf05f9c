"""Least squares and the quadratic form are one problem on T^n, with the constant written out."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from angsync.errors import InputError, ShapeError
from angsync.problem.objective import least_squares, least_squares_constant, objective


@st.composite
def problems(draw):
    """A Hermitian matrix with real diagonal, some pairs absent, and a point of T^n."""
    n = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = 10.0 ** draw(st.integers(-3, 3))
    C = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    C = scale * np.triu(C * (rng.random((n, n)) < draw(st.sampled_from([0.0, 0.3, 1.0]))), 1)
    C = C + C.conj().T + np.diag(scale * rng.normal(size=n))
    return C, np.exp(1j * rng.uniform(-np.pi, np.pi, n))


def rounding(C):
    """Sums of at most n^2 <= 144 terms, each rounded a few times: 200 eps of the sum of their moduli."""
    return 200 * np.finfo(float).eps * (np.sum(np.abs(C) ** 2) + np.sum(np.abs(C)) + C.shape[0] ** 2)


@settings(max_examples=300, deadline=None)
@given(problems(), st.booleans(), st.booleans())
def test_least_squares_is_the_constant_minus_f(problem, sparse, present_only):
    C, z = problem
    given_matrix = scipy.sparse.csr_array(C) if sparse else C
    constant = least_squares_constant(given_matrix, present_only=present_only)
    misfit = least_squares(given_matrix, z, present_only=present_only)
    assert abs(misfit - (constant - objective(given_matrix, z))) <= rounding(C)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_against_the_definitions_written_as_loops(problem):
    C, z = problem
    n = z.size
    pairs = [(j, k) for j in range(n) for k in range(j + 1, n)]
    misfit = sum(abs(C[j, k] - z[j] * z[k].conjugate()) ** 2 for j, k in pairs)
    present = sum(abs(C[j, k] - z[j] * z[k].conjugate()) ** 2 for j, k in pairs if C[j, k] != 0)
    f = sum((z[j].conjugate() * C[j, k] * z[k]).real for j in range(n) for k in range(n))
    assert abs(least_squares(C, z) - misfit) <= rounding(C)
    assert abs(least_squares(C, z, present_only=True) - present) <= rounding(C)
    assert abs(objective(C, z) - f) <= rounding(C)


@settings(max_examples=100, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_both_objectives_order_points_alike(problem, seed):
    C, z = problem
    other = np.exp(1j * np.random.default_rng(seed).uniform(-np.pi, np.pi, z.size))
    gain = objective(C, other) - objective(C, z)
    drop = least_squares(C, z) - least_squares(C, other)
    assert abs(gain - drop) <= 2 * rounding(C)


@settings(max_examples=100, deadline=None)
@given(problems(), st.floats(-np.pi, np.pi))
def test_a_global_phase_changes_neither(problem, turn):
    C, z = problem
    assert abs(objective(C, z * np.exp(1j * turn)) - objective(C, z)) <= rounding(C)
    assert abs(least_squares(C, z * np.exp(1j * turn)) - least_squares(C, z)) <= rounding(C)


def test_exact_measurements_have_no_misfit_without_cancellation():
    z = np.exp(1j * np.linspace(0, 5, 50))
    C = np.outer(z, z.conj())
    C[0, 1] *= np.exp(1e-9j)
    # |1 - exp(i 1e-9)|^2 = 1e-18, far below the rounding of constant - f (2450 eps = 5e-13); the entries of C and
    # z are rounded by 1e-16 each, a misfit of 1225 * 1e-32 and a cross term of 2e-25.
    assert least_squares(C, z) == pytest.approx(1e-18, rel=1e-6)


def test_absent_pairs_count_as_zero_unless_left_out():
    C = scipy.sparse.csr_array((4, 4), dtype=complex)
    assert least_squares(C, np.ones(4)) == 6
    assert least_squares(C, np.ones(4), present_only=True) == 0
    assert least_squares_constant(C) == 6
    assert least_squares_constant(C, present_only=True) == 0


def test_entries_stored_twice_are_summed():
    data, indices, indptr = np.array([1.0, 1.0, 2.0]), np.array([1, 1, 0]), np.array([0, 2, 3])
    C = scipy.sparse.csr_array((data, indices, indptr), shape=(2, 2))
    assert least_squares(C, [1, 1]) == pytest.approx(1)
    assert least_squares_constant(C) == pytest.approx(5)
    assert objective(C, [1, 1]) == pytest.approx(4)
    assert C.nnz == 3  # the caller's matrix is as it was


def test_messages():
    with pytest.raises(ShapeError, match=r"C must be a square matrix, but its shape is \(2, 3\)"):
        objective(np.zeros((2, 3)), [1, 1])
    with pytest.raises(ShapeError, match=r"z must have one entry for each of the 2 nodes, .* \(3,\)"):
        least_squares(np.eye(2), [1, 1, 1])
    with pytest.raises(InputError, match=r"\|z\[1\]\| is 2: least squares compares C with phases"):
        least_squares(np.eye(2), [1, 2])
