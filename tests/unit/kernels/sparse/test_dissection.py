"""Nested dissection in C and in NumPy: the same blocks and the same rows, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import kernels
from angsync.kernels.sparse import dissection_reference as reference
from angsync.kernels.sparse.dissection_reference import Cuts
from angsync.kernels.time_limit import OutOfTime, until
from angsync.solvers.stopping import Clock

needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


def graph_of(n, i, j):
    kept = i != j
    ends = np.concatenate([i[kept], j[kept]]), np.concatenate([j[kept], i[kept]])
    graph = scipy.sparse.coo_array((np.ones(ends[0].size), ends), shape=(n, n)).tocsr()
    graph.sum_duplicates()
    return graph


def graphs():
    rng = np.random.default_rng(0)
    grid = ang.simulate.grid(30, 41, 0.1, rng=0).measurements
    yield "grid", graph_of(30 * 41, grid.i, grid.j)
    yield "path", graph_of(500, np.arange(499), np.arange(1, 500))
    yield "star", graph_of(2001, np.zeros(2000, dtype=int), np.arange(1, 2001))
    for n, edges in ((1500, 1000), (1500, 2000), (300, 2000), (50, 10), (1, 0)):
        yield f"random {n} {edges}", graph_of(n, rng.integers(0, n, edges), rng.integers(0, n, edges))


@needs_compiled
@pytest.mark.parametrize("largest", [10_000, 60])
@pytest.mark.parametrize("leaf", [40, 7, 4])
def test_both_give_the_same_blocks_and_rows(leaf, largest):
    from angsync.kernels.sparse import dissection

    cuts = Cuts(leaf, 512, 0.3, 0.2, largest)
    none = 0
    for name, graph in graphs():
        blocks = dissection.dissection_blocks(graph, cuts)
        expected = reference.dissection_blocks(graph, cuts)
        assert (blocks is None) == (expected is None), name
        if blocks is None:
            none += 1
            continue
        assert all(map(np.array_equal, blocks, expected)), name
        rows = dissection.dissection_rows(graph, *blocks, largest)
        expected = reference.dissection_rows(graph, *blocks, largest)
        assert (rows is None) == (expected is None), name
        if rows is not None:
            assert np.array_equal(rows[1], expected[1]), name
            assert len(rows[0]) == len(expected[0]), name
            assert all(map(np.array_equal, rows[0], expected[0])), name
    assert none < 4


@needs_compiled
def test_wide_indices_are_narrowed_and_no_nodes_are_no_blocks():
    cuts = Cuts(40, 512, 0.3, 0.2, 100)
    graph = dict(graphs())["grid"]
    wide = graph.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert all(map(np.array_equal, kernels.dissection_blocks(wide, cuts), reference.dissection_blocks(graph, cuts)))
    empty = scipy.sparse.csr_array((0, 0))
    order, starts = kernels.dissection_blocks(empty, cuts)
    assert order.size == 0
    assert starts.tolist() == [0]
    assert kernels.dissection_rows(empty, order, starts, 100)[0] == []


@needs_compiled
def test_a_time_limit_ends_it(monkeypatch):
    from angsync.kernels.sparse import dissection

    graph, cuts = ang.simulate.grid(20, 20, 0.1, rng=0).C, Cuts(40, 512, 0.3, 0.2, 1000)
    expected = dissection.dissection_blocks(graph, cuts)
    monkeypatch.setattr(dissection, "_WAITED_FOR_ENTRIES", 0)
    with until(Clock(0.0)), pytest.raises(OutOfTime):
        dissection.dissection_blocks(graph, cuts)
    with until(Clock(60.0)):
        found = dissection.dissection_blocks(graph, cuts)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
