"""Phases along trees: of the strongest edges, and of the shortest paths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.solvers.starts.tree import breadth_first_forest, breadth_first_tree, spanning_tree


@pytest.mark.parametrize("dense", [True, False])
def test_a_spanning_tree_is_exact_on_consistent_data(dense):
    problem = ang.simulate.grid(7, 9, 0.0, rng=3)
    C = problem.C.toarray() if dense else problem.C
    assert ang.distance(spanning_tree(ang.as_operator(C)), problem.z, np.inf) < 1e-13


def test_the_spanning_tree_follows_the_strong_edges():
    # triangle whose weak edge is wrong: the tree must leave it out
    m = ang.Measurements([0, 1, 0], [1, 2, 2], [0.5, 0.25, 3.0], weight=[1.0, 1.0, 0.1])
    z = spanning_tree(ang.as_operator(m))
    assert np.angle(z[0] * np.conj(z[2])) == pytest.approx(0.75)


def test_a_spanning_tree_needs_entries():
    with pytest.raises(ang.errors.InputError, match="only its products are known"):
        spanning_tree(ang.as_operator(aslinearoperator(np.eye(3))))


def test_the_spanning_tree_orders_strengths_that_differ_by_more_than_rounding_can_hold():
    m = ang.Measurements([0, 1, 0], [1, 2, 2], [0.5, 0.25, 3.0], weight=[1.0, 1e-18, 1e-19])
    z = spanning_tree(ang.as_operator(m))
    assert np.angle(z[0] * np.conj(z[2])) == pytest.approx(0.75)


@pytest.mark.parametrize("shape", ["path", "star", "random", "one node"])
def test_pointer_doubling_reaches_the_end_of_any_tree(shape):
    n = 1 if shape == "one node" else 1000
    k = np.arange(1, n)
    rng = np.random.default_rng(0)
    parents = {"path": k - 1, "star": 0 * k, "random": rng.integers(0, np.maximum(k, 1)), "one node": k}[shape]
    truth = np.exp(2j * np.pi * rng.random(n))
    C = scipy.sparse.coo_array((truth[k] * truth[parents].conj(), (k, parents)), shape=(n, n)).tocsr()
    z = spanning_tree(ang.as_operator(C + C.conj().T))
    assert ang.distance(z, truth, np.inf) < 1e-12
    assert np.abs(np.abs(z) - 1).max() < 1e-15 * 4


def test_the_breadth_first_tree_is_exact_on_consistent_data_and_needs_a_sparse_matrix():
    problem = ang.simulate.grid(14, 14, 0.0, rng=0)
    assert ang.distance(breadth_first_tree(ang.as_operator(problem.C)), problem.z, np.inf) < 1e-12
    with pytest.raises(ang.errors.InputError, match="entries of C"):
        breadth_first_tree(ang.as_operator(np.ones((3, 3))))


def test_a_forest_meets_one_measurement_for_each_node_but_the_roots():
    parts = [ang.simulate.grid(a, b, 0.0, rng=a).C for a, b in ((3, 4), (2, 2), (5, 1))]
    matrix = scipy.sparse.csr_array(scipy.sparse.block_diag(parts, format="csr"))
    z = breadth_first_forest(matrix, np.array([0, 12, 16]))
    # exact measurements are met by every tree
    assert np.vdot(z, matrix @ z).real == pytest.approx(abs(matrix).sum())
    assert z[[0, 12, 16]].tolist() == [1, 1, 1]
    assert (breadth_first_forest(scipy.sparse.csr_array((2, 2), dtype=complex), np.arange(2)) == 1).all()
