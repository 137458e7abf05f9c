"""Sparse matrices times a few columns, and aggregates: the compiled ones against those in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from angsync.kernels.sparse import blocks_reference as reference

compiled = pytest.importorskip(
    "angsync.kernels.sparse.blocks_compiled", reason="the compiled kernels are not built", exc_type=ImportError
)


def matrix(n, m, density, rng, kind=float):
    found = scipy.sparse.random_array((n, m), density=density, rng=rng, format="csr")
    data = rng.standard_normal(found.nnz) + (1j * rng.standard_normal(found.nnz) if kind is complex else 0)
    indices, indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return scipy.sparse.csr_array((data, indices, indptr), shape=(n, m))


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6, 8])
def test_real_columns(columns):
    rng = np.random.default_rng(columns)
    A, x = matrix(70, 50, 0.1, rng), rng.standard_normal((50, columns))
    rows = rng.standard_normal((2, 70))
    blocks = rng.standard_normal((2, 70, columns))
    for options in (
        {},
        {"own": blocks[0]},
        {"own": blocks[0], "share": rows[0]},
        {"own": blocks[0], "share": rows[0], "factor": rows[1], "plus": blocks[1]},
    ):
        expected = reference.block_apply(A, x, **options)
        np.testing.assert_allclose(compiled.block_apply(A, x, **options), expected, rtol=1e-13, atol=1e-13)


def test_what_the_formula_of_real_columns_is():
    A, x, own, plus = (
        np.array([[1.0, 2.0], [0.0, 3.0]]),
        np.array([[1.0], [10.0]]),
        np.ones((2, 1)),
        np.full((2, 1), 4.0),
    )
    found = reference.block_apply(
        scipy.sparse.csr_array(A), x, own=own, share=np.array([5.0, 6.0]), factor=np.array([7.0, 8.0]), plus=plus
    )
    assert found.tolist() == [[5 + 7 * (21 + 4)], [6 + 8 * (30 + 4)]]


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_complex_columns(columns):
    rng = np.random.default_rng(columns)
    A, d = matrix(60, 60, 0.1, rng, complex), rng.standard_normal(60)
    x = rng.standard_normal((60, 2 * columns)).view(complex)
    expected = d[:, None] * x - A.toarray() @ x
    for module in (compiled, reference):
        np.testing.assert_allclose(module.block_shifted(A, d, x), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_aggregates(seed):
    rng = np.random.default_rng(seed)
    upper = scipy.sparse.triu(abs(matrix(80, 80, 0.03, rng)), 1)
    graph = scipy.sparse.csr_array(upper + upper.T)
    graph.data[graph.data < 0.3] = 0  # edges that do not count
    order = rng.permutation(80).astype(np.int32)
    label, count = compiled.aggregate(graph, order)
    same, as_many = reference.aggregate(graph, order)
    assert count == as_many
    assert label.tolist() == same.tolist()
    assert sorted(set(label.tolist())) == list(range(count))
