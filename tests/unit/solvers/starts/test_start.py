"""Starting points: the eigenvector estimator of the paper (row A2), spanning trees, leaving the real line."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.solvers.starts import start
from angsync.solvers.starts.start import (
    AUTOMATIC_STARTS,
    START_WORDS,
    STARTS,
    breadth_first_tree,
    connection_laplacian,
    eigenvector_estimator,
    informed_power,
    leave_the_real_line,
    multilevel,
    normalised_eigenvector,
    spanning_tree,
)


@pytest.mark.parametrize("n", [5, 60, 400])  # LAPACK up to 60, ARPACK above
def test_v_c_is_the_phase_of_the_leading_eigenvector(n):
    C = ang.simulate.gaussian(n, 0.2 * n**0.5, rng=0).C
    u = np.linalg.eigh(C)[1][:, -1]
    assert ang.distance(eigenvector_estimator(C), u / np.abs(u), np.inf) < 1e-7


def test_the_largest_algebraic_eigenvalue_is_meant_not_the_largest_in_modulus():
    # eigenvalues of -(ones - I) are 1, 1 and -2: the eigenvector of -2 is constant, those of 1 sum to zero
    v = np.linalg.eigh(-(np.ones((3, 3)) - np.eye(3)))[0]
    assert v.tolist() == pytest.approx([-2, 1, 1])
    C = np.diag([-5.0, 1.0, 1.0]) + 0.1 * np.ones((3, 3))
    u = np.linalg.eigh(C)[1][:, -1]
    assert ang.distance(eigenvector_estimator(C), u / np.abs(u)) < 1e-10


def test_zero_entries_take_the_phase_of_the_strongest_entry():
    # two blocks that do not touch: the leading eigenvector vanishes on the weaker block
    C = np.zeros((5, 5), dtype=complex)
    C[0, 1], C[1, 2], C[0, 2] = 1j, 2j, -2
    C[3, 4] = 0.1
    C += C.conj().T
    u = np.linalg.eigh(C)[1][:, -1]
    assert np.abs(u[3:]).max() < 1e-14
    v = eigenvector_estimator(C)
    strongest = int(np.argmax(np.abs(u[:3])))
    assert np.allclose(v[3:], v[strongest])
    assert np.allclose(np.abs(v), 1)


def test_the_estimator_does_not_depend_on_the_seed_of_arpack():
    C = ang.simulate.gaussian(400, 2.0, rng=0).C
    a, b = eigenvector_estimator(C, rng=0), eigenvector_estimator(C, rng=1)
    assert ang.distance(a, b) < 1e-7
    assert np.array_equal(eigenvector_estimator(C, rng=0), a)


def test_products_alone_are_enough():
    C = ang.simulate.gaussian(50, 1.0, rng=0).C
    assert ang.distance(eigenvector_estimator(aslinearoperator(C)), eigenvector_estimator(C)) < 1e-7


def test_a_slowly_mixing_graph_gives_phases_all_the_same():
    ring = ang.simulate.ring(2000, 0.0, rng=0)
    v = eigenvector_estimator(ring.C, tolerance=1e-2)
    assert np.allclose(np.abs(v), 1)


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


def test_real_problems_leave_the_real_line_and_complex_ones_do_not_move():
    rng = np.random.default_rng(0)
    real = ang.as_operator(np.ones((4, 4)))
    turned = leave_the_real_line(real, np.ones(4, dtype=complex), rng)
    assert np.abs(turned.imag).max() > 1e-3
    assert np.allclose(np.abs(turned), 1)
    z = np.ones(4, dtype=complex)
    complex_one = ang.as_operator(ang.simulate.gaussian(4, 1.0, rng=0).C)
    assert leave_the_real_line(complex_one, z, rng) is z


@pytest.mark.parametrize("name", sorted(STARTS))
def test_every_named_start_leads_to_the_optimum(name):
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    reference = ang.synchronize(problem.C)
    result = ang.synchronize(problem.C, start=name)
    assert result.objective == pytest.approx(reference.objective, rel=1e-12)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


def test_starting_from_an_earlier_result_and_from_phases():
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    first = ang.synchronize(problem.C)
    again = ang.synchronize(problem.C, start=first)
    assert again.iterations == 0
    assert ang.distance(again.z, first.z) < 1e-9
    assert ang.synchronize(problem.C, start=2.5 * first.z).iterations == 0  # any modulus: phases count


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("best", "start must be"),
        (np.ones(3), "length 4"),
        (np.array([1, 1, 0, 1]), r"start\[2\] is 0"),
        (np.array([1, 1, np.nan, 1]), r"start\[2\]"),
        (np.array(["a"] * 4), "numeric"),
    ],
)
def test_bad_starts(start, message):
    with pytest.raises(ang.errors.InputError, match=message):
        ang.synchronize(np.ones((4, 4)), start=start)


def test_sparse_input_stays_sparse():
    assert scipy.sparse.issparse(ang.simulate.ring(5, 0.0, rng=0).C)


def test_arpack_too_takes_the_largest_algebraic_eigenvalue():
    # eigenvalue -300 of the constant vector is the largest in modulus; the largest is about 2 sqrt(100) = 20
    n = 100
    C = ang.simulate.gaussian(n, 1.0, truth=np.ones(n), rng=0).C - 4 * np.ones((n, n))
    u = np.linalg.eigh(C)[1][:, -1]
    assert ang.distance(eigenvector_estimator(C), u / np.abs(u), np.inf) < 1e-6


def test_the_spanning_tree_orders_strengths_that_differ_by_more_than_rounding_can_hold():
    m = ang.Measurements([0, 1, 0], [1, 2, 2], [0.5, 0.25, 3.0], weight=[1.0, 1e-18, 1e-19])
    z = spanning_tree(ang.as_operator(m))
    assert np.angle(z[0] * np.conj(z[2])) == pytest.approx(0.75)


def sparse_grid(noise, seed=0, side=14):
    problem = ang.simulate.grid(side, side, noise, rng=seed)
    return ang.as_operator(problem.C), problem


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


@pytest.mark.parametrize("normalised", [False, True])
def test_the_connection_laplacian_gives_its_lowest_eigenvector(normalised):
    # nodes of very different weight, so that both forms differ
    rng = np.random.default_rng(0)
    m = ang.simulate.erdos_renyi(80, 0.1, 0.6, rng=0).measurements
    C = ang.Measurements(m.i, m.j, m.angle, weight=10.0 ** rng.uniform(-1, 1, len(m))).to_sparse()
    degrees = np.asarray(abs(C).sum(axis=1)).ravel()
    phases = []
    for root in (np.ones(80), np.sqrt(degrees)):
        lowest = np.linalg.eigh((np.diag(degrees) - C.toarray()) / root[:, None] / root[None, :])[1][:, 0]
        phases.append(lowest / np.abs(lowest))
    z = connection_laplacian(ang.as_operator(C), normalised=normalised)
    own, other = (ang.distance(z, phases[k], 2) for k in ((1, 0) if normalised else (0, 1)))
    assert own < 0.2 * other


def test_where_the_eigenvector_vanishes_the_tree_decides(monkeypatch):
    class Localised:
        """An inverse whose eigenvector lives on the first half of the nodes."""

        def solve(self, b):
            return np.where(np.arange(196) < 98, 1j * problem.z, 0)

    operator, problem = sparse_grid(0.0)
    monkeypatch.setattr(start, "factorise", lambda matrix: Localised())
    assert np.abs(connection_laplacian(operator) - 1j * problem.z).max() < 1e-12
    monkeypatch.setattr(start, "factorise", lambda matrix: None)  # no factor at all
    assert ang.distance(connection_laplacian(operator), problem.z, np.inf) < 1e-12


def test_the_normalised_eigenvector_is_not_drawn_to_a_hub():
    problem = ang.simulate.erdos_renyi(150, 0.08, 0.3, rng=0)
    m = problem.measurements
    hub = np.arange(1, 150)
    rest = (m.i > 0) & (m.j > 0)
    i, j, angle = np.append(m.i[rest], 0 * hub), np.append(m.j[rest], hub), np.append(m.angle[rest], 0.3 * hub)
    C = ang.Measurements(i, j, angle).to_sparse()
    degrees = np.asarray(abs(C).sum(axis=1)).ravel()
    root = np.sqrt(degrees)
    v = np.linalg.eigh(C.toarray() / root[:, None] / root[None, :])[1][:, -1]
    found = normalised_eigenvector(ang.as_operator(C), np.random.default_rng(0))
    assert ang.distance(found, v / np.abs(v), np.inf) < 1e-6
    products = normalised_eigenvector(ang.as_operator(aslinearoperator(C)), np.random.default_rng(0))
    assert np.allclose(np.abs(products), 1)  # no row sums: the plain eigenvector


def test_informed_power_improves_on_the_tree_it_starts_from():
    problem = ang.simulate.erdos_renyi(800, 0.02, 0.8, rng=0)
    operator = ang.as_operator(problem.C)
    tree, powered = breadth_first_tree(operator), informed_power(operator)
    assert ang.distance(powered, problem.z, 2) < 0.5 * ang.distance(tree, problem.z, 2)
    assert ang.distance(breadth_first_tree(sparse_grid(0.0)[0]), sparse_grid(0.0)[1].z, np.inf) < 1e-12
    with pytest.raises(ang.errors.InputError, match="entries of C"):
        breadth_first_tree(ang.as_operator(np.ones((3, 3))))


@pytest.mark.parametrize("careful", [False, True])
def test_the_multilevel_start_leaves_its_aggregates_for_a_preconditioner(careful):
    operator, problem = sparse_grid(0.2)
    z = multilevel(operator, np.random.default_rng(0), careful=careful)
    assert ang.distance(z, problem.z, 2) / 14 < 0.5
    assert (operator.aggregations is not None) == (not careful)
    dense = multilevel(ang.as_operator(problem.C.toarray()), np.random.default_rng(0), careful=careful)
    assert ang.distance(z, dense, np.inf) < 1e-12


@pytest.mark.parametrize("name", sorted(AUTOMATIC_STARTS))
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_start_keeps_the_precision_of_a_sparse_problem(name, dtype):
    problem = ang.simulate.grid(9, 9, 0.2, rng=0)
    operator = ang.as_operator(problem.C.astype(dtype))
    z = AUTOMATIC_STARTS[name](operator, np.random.default_rng(0))
    assert z.dtype == dtype
    assert np.abs(np.abs(z) - 1).max() < 1e-6
    assert np.array_equal(z, AUTOMATIC_STARTS[name](operator, np.random.default_rng(0)))
    assert set(AUTOMATIC_STARTS) == set(START_WORDS)
