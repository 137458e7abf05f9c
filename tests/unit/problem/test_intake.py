"""The problem out of anything that the front door takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from problems import hermitian, phases
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.errors import InputError
from angsync.problem.intake import (
    component_indices,
    has_many_pairs,
    is_mostly_zero,
    normalized,
    taken_in,
    translated,
)
from angsync.problem.operators import DenseOperator, ScaledOperator, SparseOperator


def test_a_matrix_is_its_own_source():
    C = ang.simulate.gaussian(30, 0.5, rng=0).C
    operator, source, labels = taken_in(C)
    assert type(operator) is DenseOperator
    assert source is C
    assert labels is None


def test_measurements_keep_their_labels():
    edges = ang.Measurements(["a", "b"], ["b", "c"], [0.1, 0.2])
    found = taken_in(edges)
    assert type(found.operator) is SparseOperator
    assert found.source is edges
    assert found.labels == ("a", "b", "c")


def test_data_frames_and_graphs_become_measurements():
    pandas, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    frame = pandas.DataFrame({"i": ["x"], "j": ["y"], "angle": [0.5]})
    graph = networkx.DiGraph()
    graph.add_edge("x", "y", angle=0.5)
    for data in (frame, graph):
        found = taken_in(data)
        assert found.labels == ("x", "y")
        assert found.source.angle.tolist() == [0.5]
        assert isinstance(translated(data), ang.Measurements)


def test_a_graph_stored_as_a_full_array_is_sparse():
    C = ang.simulate.grid(8, 8, 0.1, rng=0).C
    operator, source, _ = taken_in(C.toarray())
    assert type(operator) is SparseOperator
    assert scipy.sparse.issparse(source)
    assert np.array_equal(source.toarray(), C.toarray())
    half = np.ones((20, 20))
    half[:, 1::2] = half[1::2] = 0  # a quarter of the entries
    assert type(taken_in(half).operator) is DenseOperator


def test_where_no_pairs_can_be_read_there_is_no_source():
    C = ang.simulate.gaussian(10, 0.5, rng=0).C
    assert taken_in(aslinearoperator(C)).source is None
    scaled = ScaledOperator(DenseOperator(np.diag(np.ones(20, complex))), 3)  # nor a matrix of another scale
    assert taken_in(scaled) == (scaled, None, None)


@pytest.mark.parametrize("path", ["edges.csv", b"edges.csv", Path("edges.csv")])
def test_a_path_is_to_be_read_first(path):
    with pytest.raises(InputError, match="is a path: read it first"):
        taken_in(path)


# Is it dense? One share of filled entries decides it, for arrays and for graphs.


@pytest.mark.parametrize(("n", "fewest"), [(10, 5), (100, 500), (1000, 50_000)])
def test_a_tenth_of_the_entries_is_dense(n, fewest):
    assert has_many_pairs(fewest, n)
    assert not has_many_pairs(fewest - 1, n)


def matrix_with(n, entries):
    matrix = np.zeros(n * n)
    matrix[np.random.default_rng(0).permutation(n * n)[:entries]] = 1
    return matrix.reshape(n, n)


@pytest.mark.parametrize("n", [10, 40, 200])
def test_arrays_and_graphs_agree_on_what_is_dense(n):
    fewest = n * n // 10
    assert not is_mostly_zero(matrix_with(n, fewest))
    assert has_many_pairs(fewest // 2, n)
    assert is_mostly_zero(matrix_with(n, fewest - 1))


def test_a_few_full_rows_do_not_make_a_matrix_dense():
    matrix = np.zeros((200, 200))
    matrix[0] = matrix[:, 0] = 1
    assert is_mostly_zero(matrix)


def test_a_full_matrix_is_known_by_a_few_of_its_rows():
    matrix = np.zeros((320, 320))
    matrix[::20] = 1  # one row in twenty is looked at
    assert not is_mostly_zero(matrix)


def test_one_node():
    assert not is_mostly_zero(np.ones((1, 1)))
    assert is_mostly_zero(np.zeros((1, 1)))


# Components as they are solved: their nodes, and their matrix without scale and dominant diagonal.


def test_the_nodes_of_each_component_in_the_order_of_the_labels():
    assert [index.tolist() for index in component_indices(np.array([0, 1, 0, 2, 1]))] == [[0, 2], [1, 4], [3]]
    assert [index.tolist() for index in component_indices(np.zeros(3, dtype=int))] == [[0, 1, 2]]


@pytest.mark.parametrize("scale", [1e-200, 1.0, 3.0, 1e200])
def test_the_largest_row_sum_is_between_one_half_and_one(scale):
    C = scale * hermitian(7)
    part = normalized(ang.as_operator(C))
    assert 0.5 <= part.abs_row_sums().max() <= 1
    z = phases(7)
    # a power of two: nothing is rounded
    np.testing.assert_array_equal(np.ldexp(part.to_dense().real, part.exponent), C.real)
    np.testing.assert_allclose(part.apply(z) * 2.0**part.exponent, C @ z, rtol=1e-12)


def test_a_dominant_diagonal_is_left_out():
    C = hermitian(7) + 1e6 * np.eye(7)
    assert (normalized(ang.as_operator(C)).diagonal() == 0).all()
    usual = hermitian(7)
    assert (normalized(ang.as_operator(usual)).diagonal() != 0).any()
