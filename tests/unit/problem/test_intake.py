"""The problem out of anything that the front door takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.errors import InputError
from angsync.problem.intake import taken_in, translated
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
