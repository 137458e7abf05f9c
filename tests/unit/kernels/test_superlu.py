"""Sparse factorisations: what they solve, and how large they are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync.kernels.superlu import Factor, estimated_entries, factorise


def test_solutions_and_counts():
    problem = ang.simulate.grid(8, 9, 0.3, rng=0)
    degrees = np.asarray(abs(problem.C).sum(axis=1)).ravel()
    matrix = scipy.sparse.csc_array(scipy.sparse.diags_array(degrees + 0.1) - problem.C)
    factor = Factor(matrix)
    b = np.exp(1j * np.arange(72))
    assert np.abs(matrix @ factor.solve(b) - b).max() < 1e-12
    assert factor.order == 72
    assert factor.symmetric
    assert factor.positive
    assert factor.entries >= matrix.nnz
    assert not Factor(scipy.sparse.csc_array(matrix - 1.0 * scipy.sparse.eye_array(72))).positive


@pytest.mark.parametrize("side", [40, 80])
def test_the_estimate_of_the_size_of_a_factor_is_of_its_order(side):
    grid = ang.simulate.grid(side, side, 0.1, rng=0)
    matrix = scipy.sparse.csc_array(scipy.sparse.diags_array(np.full(side**2, 4.5)) - grid.C)
    entries = Factor(matrix).entries / 2  # one triangle
    estimate = estimated_entries(side**2, ang.as_operator(grid.C).breadth_first.width)
    assert entries / 3 <= estimate <= 3 * entries
    assert estimated_entries(1000, 500) == 1000 * 1001 / 2  # never more than a dense triangle


def test_what_cannot_be_factorised_gives_no_factor():
    assert factorise(scipy.sparse.csc_array(np.array([[1.0, 1.0], [1.0, 1.0]]))) is None


def test_the_factors_are_those_of_the_matrix_in_its_new_order():
    grid = ang.simulate.grid(4, 5, 0.3, rng=0)
    matrix = scipy.sparse.csc_array(scipy.sparse.diags_array(np.full(20, 4.5)) - grid.C)
    factor = Factor(matrix)
    assert factor.symmetric
    product = (factor.lower @ factor.upper).toarray()
    assert np.abs(product[np.ix_(factor.places, factor.places)] - matrix.toarray()).max() < 1e-14
    assert np.array_equal(factor.pivots, factor.upper.diagonal().real)
