"""Sparse factorizations: what they solve, and how large they are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import angsync as ang
from angsync.kernels import superlu
from angsync.kernels.superlu import Factor, estimated_entries, factorize
from angsync.kernels.time_limit import OutOfTime, until
from angsync.solvers.stopping import Clock


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


def test_what_cannot_be_factorized_gives_no_factor():
    assert factorize(scipy.sparse.csc_array(np.array([[1.0, 1.0], [1.0, 1.0]]))) is None


def test_the_factors_are_those_of_the_matrix():
    grid = ang.simulate.grid(4, 5, 0.3, rng=0)
    matrix = scipy.sparse.csc_array(scipy.sparse.diags_array(np.full(20, 4.5)) - grid.C)
    factor = Factor(matrix)
    assert factor.symmetric
    assert np.abs(factor.solve(np.eye(20)) @ matrix.toarray() - np.eye(20)).max() < 1e-13
    assert np.prod(factor.pivots) == pytest.approx(np.linalg.det(matrix.toarray()).real, rel=1e-12)


def hubs(leaves, shift=0.5):
    """Two hubs that share a few nodes, each with leaves of its own: S - shift, say."""
    rng = np.random.default_rng(0)
    n = 2 * leaves + 12
    i = np.concatenate([np.zeros(leaves), np.ones(leaves), np.zeros(10), np.ones(10)]).astype(int)
    j = np.concatenate([np.arange(2, n - 10), np.tile(np.arange(n - 10, n), 2)])
    C = ang.Measurements(i, j, rng.uniform(-3, 3, i.size)).to_sparse()
    return scipy.sparse.csc_array(scipy.sparse.diags_array(np.asarray(abs(C).sum(axis=1)).ravel() - shift) - C)


def test_hubs_come_last_and_everything_is_about_the_matrix_given():
    matrix = hubs(1500)
    factor = Factor(matrix)
    assert factor.symmetric
    assert set(factor._order[-2:]) == {0, 1}
    for b in (np.arange(matrix.shape[0]) + 1j, np.ones((matrix.shape[0], 3))):
        assert np.abs(matrix @ factor.solve(b) - b).max() < 1e-7
    # beside its leaves each hub fills one row: linear, where a dense factor has millions of entries
    assert factor.entries < 4 * matrix.nnz


def test_pivots_of_a_matrix_with_hubs_have_the_signs_of_its_eigenvalues(monkeypatch):
    monkeypatch.setattr(superlu, "_HUB_NEIGHBORS", 100)
    matrix = hubs(150)
    factor = Factor(matrix)
    assert set(factor._order[-2:]) == {0, 1}
    negative = np.linalg.eigvalsh(matrix.toarray()) < 0
    assert int((factor.pivots < 0).sum()) == int(negative.sum())


def test_without_a_hub_the_order_is_left_to_superlu():
    assert Factor(hubs(900))._order is None


def test_a_large_factorization_is_not_waited_for_when_time_is_up(monkeypatch):
    monkeypatch.setattr(superlu, "_WAITED_FOR_ENTRIES", 10)
    with until(Clock(0.0)), pytest.raises(OutOfTime):
        factorize(hubs(20))
    assert factorize(hubs(20)) is not None
    monkeypatch.setattr(superlu, "_factorized", lambda matrix: (_ for _ in ()).throw(MemoryError()))
    assert factorize(hubs(20)) is None  # what goes wrong in the other thread goes wrong here


def test_no_solve_begins_when_time_is_up():
    factor = Factor(hubs(20))
    with until(Clock(0.0)), pytest.raises(OutOfTime):
        factor.solve(np.ones(52))
