"""The inertia of sparse factorisations: the error that is stated is never smaller than the true one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse

from angsync.certificate.bounds.inertia import inertia, inertia_of
from angsync.kernels.superlu import factorise

WIDE = np.clongdouble


def hermitian(n, density, seed, *, complex_=True, spread=0.0):
    """A random Hermitian matrix of both signs; ``spread`` decades between its entries."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if complex_ else 0)
    dense = np.where(np.triu(rng.random((n, n)) < density), dense * 10.0 ** rng.uniform(-spread, spread, (n, n)), 0)
    dense = np.triu(dense, 1)
    return scipy.sparse.csc_array(dense + dense.conj().T + np.diag(3 * rng.standard_normal(n)))


def error_of(matrix, factor):
    """|| A - L D L^H || with the factors as computed, in extended precision."""
    lower, pivots = factor.lower.toarray().astype(WIDE), factor.pivots.astype(WIDE)
    permuted = np.empty(matrix.shape, dtype=WIDE)
    permuted[np.ix_(factor.places, factor.places)] = matrix.toarray()
    return permuted - (lower * pivots) @ lower.conj().T


@pytest.mark.parametrize("complex_", [True, False])
@pytest.mark.parametrize("spread", [0.0, 4.0])
def test_the_error_stated_covers_the_true_one(complex_, spread):
    close = 0
    for seed in range(40):
        matrix = hermitian(25, 0.15, seed, complex_=complex_, spread=spread)
        factor = factorise(matrix)
        stated = inertia_of(factor)
        true = np.linalg.norm(error_of(matrix, factor).astype(complex), 2)
        assert true <= stated.error
        close += stated.error < 1e-10 * abs(matrix).max()
    assert close > 10  # and it is not just infinite


def test_the_error_of_blocks_covers_the_true_one():
    for seed in range(40):
        matrix = hermitian(25, 0.15, seed)
        factor = factorise(matrix)
        stated = inertia_of(factor, first=10)
        error = np.empty((25, 25), dtype=complex)
        error[:] = error_of(matrix, factor)[np.ix_(factor.places, factor.places)]
        assert np.linalg.norm(error[:10, :10], 2) <= stated.error
        assert np.linalg.norm(error[:10, 10:], 2) <= stated.error_across
        assert np.linalg.norm(error[10:, 10:], 2) <= stated.error_rest
        assert stated.error <= inertia_of(factor).error


@pytest.mark.parametrize("complex_", [True, False])
def test_the_inertia_is_that_of_the_eigenvalues(complex_):
    for seed in range(40):
        matrix = hermitian(25, 0.15, seed, complex_=complex_)
        found = inertia(matrix)
        eigenvalues = np.linalg.eigvalsh(matrix.toarray())
        if np.abs(eigenvalues).min() > 2 * found.error:
            assert found.negative == (eigenvalues < 0).sum()
        # what is proved, whatever the size of the error
        if found.negative is not None:
            assert eigenvalues[found.negative] >= -found.error - 1e-13


def test_growth_without_pivoting_is_in_the_error():
    # a tiny pivot makes the factors grow by 1e10: the error says so
    matrix = scipy.sparse.csc_array(np.array([[1e-10, 1.0], [1.0, 1e-10]]))
    found = inertia(matrix)
    assert found.negative == 1
    assert found.error > 1e-7
    assert inertia(scipy.sparse.csc_array(np.array([[2.0, 1.0], [1.0, 2.0]]))).error < 1e-13


def test_what_cannot_be_factorised_proves_nothing():
    # no pivot on the diagonal at all: SuperLU leaves it, or gives up
    swap = scipy.sparse.csc_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert inertia(swap).negative is None
    assert inertia(swap).error == math.inf
    singular = scipy.sparse.csc_array(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert factorise(singular) is None
    assert inertia(singular).error == math.inf
