"""The second eigenvalue by sparse factorisation: proved, close to the truth, with or without weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from problems import path

import angsync as ang
from angsync import Verdict
from angsync.certificate.bounds.bound import Question
from angsync.certificate.bounds.factorisation import _Shifted, by_factorisation, can_factorise
from angsync.problem.operators import as_operator
from angsync.problem.residual import along_and_across
from angsync.solvers.stopping import Clock

NEVER = lambda bound: False  # noqa: E731
ALWAYS = lambda bound: True  # noqa: E731


def factorisation_bound(operator, z, s, is_proof):
    return by_factorisation(
        Question(operator, z, s, np.zeros(z.size), 0.0, np.random.default_rng(0), is_proof, Clock())
    )


def s_of(C, z):
    return along_and_across(z, C @ z)[0]


@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_the_path_has_its_known_second_eigenvalue(n):
    C = path(np.ones(n - 1))
    bound = factorisation_bound(as_operator(C), np.ones(n, dtype=complex), s_of(C, np.ones(n)), ALWAYS)
    true = 2 - 2 * math.cos(math.pi / n)
    assert 0.97 * true <= bound.value <= true
    assert bound.estimate == pytest.approx(true, rel=1e-3)
    assert bound.about == "second_eigenvalue"
    assert bound.confidence == 1.0


def test_the_bound_is_below_eigvalsh_and_close_to_it():
    for seed in range(10):
        grid = ang.simulate.grid(7, 8, 0.3, rng=seed)
        z = ang.synchronize(grid.C, certify=False).z
        s = s_of(grid.C, z)
        bound = factorisation_bound(as_operator(grid.C), z, s, ALWAYS)
        true = np.linalg.eigvalsh(np.diag(s) - grid.C.toarray())[1]
        assert 0.9 * true <= bound.value <= true * (1 + 1e-12)


def test_a_twisted_ring_proves_nothing_and_gives_a_way_out():
    ring = ang.simulate.ring(12, 0.0, rng=0).C
    z = ang.simulate.ring(12, 0.0, rng=0).z * np.exp(2j * np.pi * np.arange(12) / 12)
    s = s_of(ring, z)
    bound = factorisation_bound(as_operator(ring), z, s, NEVER)
    assert bound.value == -math.inf
    assert bound.estimate < 0
    v = bound.direction
    assert np.vdot(v, s * v - ring @ v).real == pytest.approx(bound.estimate, rel=1e-9)
    assert abs(np.vdot(z, v)) < 1e-12


def test_off_the_optimum_a_positive_curvature_is_not_taken_for_a_negative_one():
    # z is moved along the softest mode, so that Su is far from 0: the inverse, deflated by u, has an eigenvalue of the
    # wrong sign there, but S has a second eigenvalue of 0.054 all the same and the gap stays second order.
    grid = ang.simulate.grid(12, 12, 0.3, rng=0)
    optimum = ang.synchronize(grid.C).z
    S = np.diag(s_of(grid.C, optimum)) - grid.C.toarray()
    soft = np.linalg.eigh((optimum.conj()[:, None] * S * optimum).real)[1][:, 1]
    for size in np.geomspace(1e-3, 1e-2, 12):
        z = optimum * np.exp(1j * size * soft)
        certificate = ang.certify(grid.C, z, method="factorisation", tolerance=1e-2)
        missing = float((np.vdot(optimum, grid.C @ optimum) - np.vdot(z, grid.C @ z)).real)
        assert missing <= certificate.gap_bound <= 10 * missing


def test_weights_over_many_orders_are_proved_by_the_degree_weighted_form():
    # The second eigenvalue of S is at most 1e-10 of the largest weight and each shift is buried in rounding; relative
    # to the degrees it is of order one.
    weights = 10.0 ** np.linspace(6, -12, 40)
    C = path(weights)
    z, s = np.ones(41, dtype=complex), s_of(C, np.ones(41))
    operator = as_operator(C)
    plain = factorisation_bound(operator, z, s, ALWAYS)
    bound = factorisation_bound(operator, z, s, lambda bound: bound.value > 0)
    assert plain.weights is None
    assert plain.value <= 0
    assert bound.weights is not None
    assert np.array_equal(np.log2(bound.weights) % 2, np.zeros(41))  # powers of four: their roots scale exactly
    root = np.sqrt(bound.weights)
    relative = (np.diag(s) - C.toarray()) / root[:, None] / root[None, :]
    true = np.linalg.eigvalsh(relative)[1]
    assert 0.9 * true < bound.value <= true * (1 + 1e-9)


def test_the_weights_are_powers_of_four_near_the_degrees():
    C = path(np.array([1.0, 5.0, 100.0, 3e-7]))
    bound = factorisation_bound(
        as_operator(C), np.ones(5, dtype=complex), s_of(C, np.ones(5)), lambda b: b.weights is not None
    )
    degrees = np.asarray(abs(C).sum(axis=1)).ravel()
    assert (bound.weights <= 2 * degrees).all()
    assert (bound.weights >= degrees / 2).all()


def test_below_rounding_nothing_is_claimed():
    # two halves of a path that hang together by 1e-18: the true second eigenvalue is positive, but not provable by S
    weights = np.ones(19)
    weights[9] = 1e-18
    C = path(weights)
    bound = factorisation_bound(as_operator(C), np.ones(20, dtype=complex), s_of(C, np.ones(20)), ALWAYS)
    assert bound.value == -math.inf
    certificate = ang.certify(C, np.ones(20), method="factorisation")
    assert certificate.verdict is Verdict.CERTIFIED  # zero misfit
    assert not certificate.unique


@pytest.mark.parametrize("scale", [1e-315, 1e-200, 1e200])
def test_the_bound_does_not_depend_on_the_scale(scale):
    C = ang.simulate.grid(5, 6, 0.3, rng=0).C
    z = ang.synchronize(C).z
    reference, certificate = (ang.certify(c, z, method="factorisation") for c in (C, C * scale))
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.lambda_2 == pytest.approx(reference.lambda_2 * scale, rel=1e-6)


def test_single_precision_data_are_taken_as_they_are():
    C = ang.simulate.grid(5, 6, 0.3, rng=0).C.astype(np.complex64)
    tiny = C * np.float32(1e-38)
    z = ang.synchronize(C.astype(complex)).z
    assert ang.certify(C, z, method="factorisation").verdict is Verdict.CERTIFIED
    small = ang.synchronize(tiny.astype(complex)).z
    assert ang.certify(tiny, small, method="factorisation").verdict is Verdict.CERTIFIED


def test_only_sparse_problems_can_be_factorised():
    dense = ang.simulate.gaussian(5, 0.1, rng=0).C
    assert not can_factorise(as_operator(dense))
    assert can_factorise(as_operator(scipy.sparse.csr_array(dense)))
    with pytest.raises(ang.errors.InputError, match="sparse matrices and edge lists"):
        ang.certify(dense, np.ones(5), method="factorisation")


def test_the_proof_survives_a_wrong_estimate():
    # the shift may be anything: what is proved at a shift that is far too large is nothing, never something false
    grid = ang.simulate.grid(6, 6, 0.3, rng=0)
    z = ang.synchronize(grid.C, certify=False).z
    s = s_of(grid.C, z)
    eigenvalues = np.linalg.eigvalsh(np.diag(s) - grid.C.toarray())
    shifted = _Shifted(as_operator(grid.C), s, None)
    for shift in np.linspace(-1, 3, 101) * eigenvalues[1]:
        assert shifted.proved_second(shift) <= eigenvalues[1] + 1e-14
    assert shifted.proved_second(2 * eigenvalues[1]) == -math.inf
