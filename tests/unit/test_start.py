"""Starting points: the eigenvector estimator of the paper (row A2), spanning trees, leaving the real line."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.start import STARTS, eigenvector_estimator, leave_the_real_line, spanning_tree


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
