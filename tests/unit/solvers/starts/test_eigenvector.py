"""The eigenvector estimator of the paper (row A2), and the degree-normalized one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.solvers.starts.eigenvector import eigenvector_estimator, normalized_eigenvector


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


def test_arpack_too_takes_the_largest_algebraic_eigenvalue():
    # eigenvalue -300 of the constant vector is the largest in modulus; the largest is about 2 sqrt(100) = 20
    n = 100
    C = ang.simulate.gaussian(n, 1.0, truth=np.ones(n), rng=0).C - 4 * np.ones((n, n))
    u = np.linalg.eigh(C)[1][:, -1]
    assert ang.distance(eigenvector_estimator(C), u / np.abs(u), np.inf) < 1e-6


def test_the_normalized_eigenvector_is_not_drawn_to_a_hub():
    problem = ang.simulate.erdos_renyi(150, 0.08, 0.3, rng=0)
    m = problem.measurements
    hub = np.arange(1, 150)
    rest = (m.i > 0) & (m.j > 0)
    i, j, angle = np.append(m.i[rest], 0 * hub), np.append(m.j[rest], hub), np.append(m.angle[rest], 0.3 * hub)
    C = ang.Measurements(i, j, angle).to_sparse()
    degrees = np.asarray(abs(C).sum(axis=1)).ravel()
    root = np.sqrt(degrees)
    v = np.linalg.eigh(C.toarray() / root[:, None] / root[None, :])[1][:, -1]
    found = normalized_eigenvector(ang.as_operator(C), np.random.default_rng(0))
    assert ang.distance(found, v / np.abs(v), np.inf) < 1e-6
    products = normalized_eigenvector(ang.as_operator(aslinearoperator(C)), np.random.default_rng(0))
    assert np.allclose(np.abs(products), 1)  # no row sums: the plain eigenvector
