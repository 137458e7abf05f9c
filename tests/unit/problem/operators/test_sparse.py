"""Sparse operators: searches through the graph, edges, moduli."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from problems import sparse_hermitian

import angsync as ang
from angsync.problem.operators import (
    CountingOperator,
    ScaledOperator,
)


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


def test_products_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="mismatch"):
        ang.as_operator(sparse_hermitian(20)).apply(np.ones(3, dtype=complex))


def test_a_sparse_matrix_is_behind_all_of_its_wrappers():
    C = sparse_hermitian(20)
    operator = ang.as_operator(C)
    assert operator.sparse() == (operator, 0)
    around = ScaledOperator(CountingOperator(ScaledOperator(operator, 3)), 4)
    assert around.sparse().operator is operator
    assert around.sparse().exponent == 7
    assert around.entries() is operator.matrix
    assert not around.is_dense_matrix


def test_edges_are_the_upper_triangle_and_are_read_once():
    C = sparse_hermitian(20)
    operator = ang.as_operator(C)
    edges = operator.edges
    assert edges is operator.edges
    assert (edges.i < edges.j).all()
    assert np.array_equal(edges.to_csr().toarray(), C.toarray() - np.diag(C.diagonal()))
    assert np.array_equal(operator.matrix.data[operator.is_above_diagonal], edges.value)


def test_moduli_belong_to_a_scale():
    operator = ang.as_operator(sparse_hermitian(20))
    plain, scaled = operator.moduli(0), operator.moduli(4)
    assert np.array_equal(plain, 16 * scaled)
    assert operator.moduli(0) is plain
    rows = np.repeat(np.arange(20), np.diff(operator.matrix.indptr))
    diagonal = rows == operator.matrix.indices
    assert not plain[diagonal].any()
    assert plain[~diagonal] == pytest.approx(np.abs(operator.matrix.data[~diagonal]), rel=1e-7)


@pytest.mark.parametrize("count", [3, 30])
def test_parts_are_what_restrict_cuts_out(count):
    blocks = [sparse_hermitian(3 + k % 4) for k in range(count)]
    whole = scipy.sparse.csr_array(scipy.sparse.block_diag(blocks, format="csr"))
    shuffled = np.random.default_rng(0).permutation(whole.shape[0])
    operator = ang.as_operator(whole[shuffled][:, shuffled])
    labels = operator.component_labels()
    indices = [np.flatnonzero(labels == k) for k in range(int(labels.max()) + 1)][1:]  # not all of them
    for index, part in zip(indices, operator.parts(indices), strict=True):
        expected = operator.restrict(index).matrix
        assert np.array_equal(part.matrix.indptr, expected.indptr)
        assert np.array_equal(part.matrix.indices, expected.indices)
        assert np.array_equal(part.matrix.data, expected.data)
        assert part.matrix.indices.dtype == np.int32


@pytest.mark.parametrize("shape", ["path", "comb", "tree"])
def test_many_levels_are_found_at_once_as_they_are_one_by_one(shape, monkeypatch):
    # a path of a million nodes has a million levels: one by one they took as long as the whole solve
    n, rng = 400, np.random.default_rng(0)
    k = np.arange(1, n)
    parents = {"path": k - 1, "comb": np.where(k % 2, k - 1, k - 2), "tree": (rng.random(n - 1) * k).astype(int)}[shape]
    operator = ang.as_operator(ang.Measurements(k, parents, rng.normal(0, 1, n - 1)))
    one_by_one = operator.breadth_first
    monkeypatch.setattr("angsync.problem.operators.sparse._MANY_LEVELS", 3)
    at_once = ang.as_operator(ang.Measurements(k, parents, rng.normal(0, 1, n - 1))).breadth_first
    assert np.array_equal(at_once.starts, one_by_one.starts)
    assert at_once.depth == one_by_one.depth > 3
