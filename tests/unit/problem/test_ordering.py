"""Reverse Cuthill-McKee: when it is used, and that nobody notices but the clock."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.problem import ordering
from angsync.problem.ordering import better_order


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(ordering, "_REORDER_FROM_NODES", 100)


def shuffled_grid(side, noise, seed):
    """A grid whose nodes come in random order, so that neighbors are far apart in memory."""
    grid = ang.simulate.grid(side, 4 * side, noise, rng=seed)
    order = np.random.default_rng(seed).permutation(grid.z.size)
    return grid.C[order][:, order].tocsr(), grid.z[order]


def spread(C):
    rows = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
    return float(np.median(np.abs(rows - C.indices)))


def test_a_shuffled_grid_is_put_in_order(small):
    C, _ = shuffled_grid(8, 0.3, 0)
    operator = ang.as_operator(C)
    order = better_order(operator)
    assert np.array_equal(np.sort(order), np.arange(256))
    assert spread(operator.restrict(order).matrix) < spread(C) / 5


def test_orders_that_gain_nothing_are_left_alone(small):
    grid = ang.simulate.grid(16, 16, 0.3, rng=0)
    assert better_order(ang.as_operator(grid.C)) is None  # in order
    assert better_order(ang.as_operator(ang.simulate.erdos_renyi(300, 0.05, 0.1, rng=0).C)) is None  # none helps
    assert better_order(ang.as_operator(aslinearoperator(grid.C))) is None
    assert better_order(ang.as_operator(grid.C.toarray())) is None


def test_small_graphs_are_left_alone():
    assert better_order(ang.as_operator(shuffled_grid(8, 0.3, 0)[0])) is None


@pytest.mark.parametrize("gauge", ["first", "mean", 17])
def test_the_answer_is_that_of_the_nodes_as_given(small, monkeypatch, gauge):
    C, _ = shuffled_grid(6, 0.3, 1)
    assert better_order(ang.as_operator(C)) is not None
    seen = []
    start = np.exp(0.1j * np.arange(144))
    ordered = ang.synchronize(C, gauge=gauge, start=start, callback=lambda progress: seen.append(progress.z))
    monkeypatch.setattr(ordering, "_REORDER_FROM_NODES", 10**9)
    plain = ang.synchronize(C, gauge=gauge, start=start)
    assert np.abs(ordered.z - plain.z).max() < 1e-8
    assert ordered.certificate.verdict is plain.certificate.verdict is ang.Verdict.CERTIFIED
    assert np.abs(seen[0] - start).max() < 1e-15  # a callback sees the nodes in their own order
    assert ang.distance(seen[-1], plain.z, np.inf) < 1e-7


def test_components_keep_their_nodes(small):
    C, _ = shuffled_grid(6, 0.2, 2)
    pair = scipy.sparse.csr_array(np.array([[0, 1], [1, 0]]))
    both = scipy.sparse.block_diag([C, pair, C], format="csr")
    with pytest.warns(ang.errors.DisconnectedWarning):
        result = ang.synchronize(both)
    alone = ang.synchronize(C)
    assert ang.distance(result.z[:144], alone.z, np.inf) < 1e-7
    assert ang.distance(result.z[146:], alone.z, np.inf) < 1e-7
    assert result.z[145] == pytest.approx(result.z[144])
