"""Aggregates: pairs that belong together, their phases, and the coarse problem they make."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync.kernels.time_limit import OutOfTime, until
from angsync.problem.operators.sparse import EdgeList
from angsync.solvers import hierarchy
from angsync.solvers.hierarchy import Aggregation, contract, matching, pair_up, relaxed_vectors
from angsync.solvers.stopping import Clock


def edge_list(C):
    return EdgeList.of(scipy.sparse.csr_array(C))


def prolongation(aggregation):
    n = aggregation.label.size
    phase = np.ones(n) if aggregation.phase is None else aggregation.phase
    return scipy.sparse.csr_array((phase, (np.arange(n), aggregation.label)), shape=(n, aggregation.count))


def valid(aggregation, n):
    """Labels are 0 to count - 1, each of them used."""
    return aggregation.label.size == n and np.array_equal(np.unique(aggregation.label), np.arange(aggregation.count))


def chain(order, growth=4.0):
    """A path through the nodes in this order, its weights growing: a matching takes one edge a round, from the end."""
    i, j = np.array(order[:-1]), np.array(order[1:])
    ends = np.sort(np.stack([i, j]), axis=0).astype(np.int32)
    return EdgeList(len(order), ends[0], ends[1], growth ** np.arange(len(order) - 1) * np.exp(1j * np.arange(i.size)))


def test_an_edge_list_and_its_matrix_are_the_same():
    C = ang.simulate.erdos_renyi(30, 0.2, 0.3, rng=0).C
    diagonal = scipy.sparse.diags_array(np.arange(30.0))
    edges = edge_list(C + diagonal)
    assert (edges.i < edges.j).all()
    assert abs(edges.to_csr() - C).max() == 0  # the diagonal is left out


def test_a_matching_takes_no_node_twice_and_prefers_strong_edges():
    grid = edge_list(ang.simulate.grid(10, 10, 0.0, rng=0).C)
    partner = matching(100, grid.i, grid.j, np.abs(grid.value))
    assert np.array_equal(partner[partner], np.arange(100))
    # equal weights on a grid must not leave long chains of single nodes
    assert (partner == np.arange(100)).mean() < 0.25
    i, j, strength = np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1.0, 10.0, 1.0])
    assert matching(4, i, j, strength).tolist() == [0, 2, 1, 3]


def test_ties_are_broken_by_the_graph_and_not_by_the_order_of_the_edges():
    grid = edge_list(ang.simulate.grid(8, 8, 0.0, rng=0).C)
    shuffled = np.random.default_rng(0).permutation(grid.i.size)
    a = matching(64, grid.i, grid.j, np.abs(grid.value))
    b = matching(64, grid.i[shuffled], grid.j[shuffled], np.abs(grid.value[shuffled]))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("careful", [False, True])
def test_pairs_keep_the_measured_phase_and_exact_data_lose_nothing(careful):
    problem = ang.simulate.grid(9, 11, 0.0, rng=0)
    edges = edge_list(problem.C)
    vectors = problem.z[:, None].astype(np.complex64) if careful else None
    pairs = pair_up(edges, vectors)
    assert valid(pairs, 99)
    assert pairs.count <= 55
    coarse = contract(edges, pairs)
    # the truth is P w for some w: all of f is either inside aggregates or between them
    w = np.zeros(pairs.count, dtype=complex)
    np.add.at(w, pairs.label, np.conj(pairs.phase) * problem.z)
    w /= np.abs(w)
    assert np.abs(pairs.prolong(w) - problem.z).max() < (1e-5 if careful else 1e-12)
    inside = pairs.label[edges.i] == pairs.label[edges.j]
    between = 2 * float((np.conj(w[coarse.i]) * coarse.value * w[coarse.j]).real.sum())
    assert between + 2 * inside.sum() == pytest.approx(2 * edges.i.size, rel=1e-6 if careful else 1e-13)


def test_the_coarse_matrix_is_p_star_c_p_off_its_diagonal():
    for seed in range(5):
        C = ang.simulate.erdos_renyi(40, 0.1, 1.0, rng=seed).C
        edges = edge_list(C)
        pairs = pair_up(edges)
        P = prolongation(pairs)
        expected = (P.conj().T @ C @ P).toarray()
        np.fill_diagonal(expected, 0)
        assert np.abs(contract(edges, pairs).to_csr().toarray() - expected).max() < 1e-12


def test_two_steps_are_one():
    edges = edge_list(ang.simulate.grid(6, 6, 0.5, rng=0).C)
    first = pair_up(edges)
    second = pair_up(contract(edges, first))
    both = first.followed_by(second)
    w = np.exp(1j * np.arange(both.count))
    assert np.abs(both.prolong(w) - first.prolong(second.prolong(w))).max() < 1e-14
    assert first.unsigned().followed_by(second.unsigned()).phase is None
    assert np.array_equal(first.unsigned().prolong(np.arange(first.count)), first.label)


def test_a_star_becomes_one_node_at_once():
    star = ang.Measurements(np.zeros(50, dtype=int), np.arange(1, 51), np.linspace(0, 3, 50))
    pairs = pair_up(edge_list(star.to_sparse()))
    assert pairs.count == 1
    assert ang.distance(pairs.phase, ang.synchronize(star).z, np.inf) < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_long_chains_leave_neighbors_alone_and_every_node_has_a_home(seed):
    # The rounds end before the matching is maximal. A node left alone may then hang on another one that is: it must not
    # be put where that one is not a lead.
    order = [1, 0, *range(2, 18)] if seed == 0 else np.random.default_rng(seed).permutation(60).tolist()
    edges = chain(order)
    pairs = pair_up(edges)
    assert valid(pairs, edges.n)
    assert np.abs(np.abs(pairs.phase) - 1).max() < 1e-14
    # inside an aggregate the phases fit the edges, which form a tree
    inside = pairs.label[edges.i] == pairs.label[edges.j]
    fit = np.conj(pairs.phase[edges.i]) * edges.value * pairs.phase[edges.j] / np.abs(edges.value)
    assert inside.any()
    assert np.abs(fit[inside] - 1).max() < 1e-12


def test_measurements_that_cancel_or_are_not_there():
    nothing = EdgeList(3, *(np.empty(0, dtype=np.int32) for _ in range(2)), np.empty(0, dtype=complex))
    assert pair_up(nothing).count == 3
    zero = EdgeList(2, np.array([0], np.int32), np.array([1], np.int32), np.array([0j]))
    assert valid(pair_up(zero), 2)
    assert np.isfinite(pair_up(zero).phase).all()
    one = Aggregation(1, np.zeros(3, dtype=np.int32), np.ones(3, dtype=complex))
    assert contract(nothing, one).i.size == 0


def test_relaxed_vectors_point_along_the_truth():
    # on exact data D^-1 C has the truth as its fixed vector: relaxed rows become parallel to it
    problem = ang.simulate.grid(8, 8, 0.0, rng=0)
    edges = edge_list(problem.C)
    vectors = relaxed_vectors(edges, 4, 400, np.random.default_rng(0))
    turned = vectors * np.conj(problem.z)[:, None]
    assert np.abs(turned - turned[0]).max() < 0.05 * np.abs(turned[0]).max()
    assert np.isfinite(relaxed_vectors(EdgeList(2, *[np.empty(0, np.int32)] * 2, np.empty(0, complex)), 2, 3,
                                       np.random.default_rng(0))).all()  # fmt: skip


def test_relaxed_vectors_and_their_pairs_in_parts_are_those_at_once(monkeypatch):
    edges = edge_list(ang.simulate.grid(20, 20, 0.3, rng=0).C)
    found = []
    for size in (7, 10**6):
        monkeypatch.setattr(hierarchy, "_AT_ONCE", size)
        vectors = relaxed_vectors(edges, 4, 3, np.random.default_rng(0))
        found.append((vectors, pair_up(edges, vectors)))
    (first, pairs), (second, others) = found
    assert np.array_equal(first, second)
    assert np.array_equal(pairs.label, others.label)
    assert np.array_equal(pairs.phase, others.phase)


def test_a_time_limit_ends_the_products_along_edges():
    edges = edge_list(ang.simulate.grid(20, 20, 0.3, rng=0).C)
    vectors = relaxed_vectors(edges, 4, 3, np.random.default_rng(0))
    with until(Clock(0.0)), pytest.raises(OutOfTime):
        hierarchy._products_along(edges, vectors)
