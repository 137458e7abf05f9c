"""First and second order conditions: row F4 of the conformance list."""

from __future__ import annotations

import numpy as np
import pytest
from problems import f

import angsync as ang
from angsync.problem.criticality import SOperator, criticality, riemannian_gradient, riemannian_hessian, tangent_hessian
from angsync.testing import check_operator


@pytest.fixture
def point():
    rng = np.random.default_rng(0)
    problem = ang.simulate.gaussian(15, 2.0, rng=1)
    return problem.C, np.exp(1j * rng.uniform(0, 6.28, 15)), rng.standard_normal(15)


def test_gradient_and_hessian_agree_with_finite_differences(point):
    C, z, t = point
    w = 1j * t * z
    h = 1e-4
    curve = [f(C, z * np.exp(1j * s * t)) for s in (-h, 0.0, h)]
    # f along z exp(ist): first derivative <grad, w>, second <w, Hess w> (t is a geodesic of the product of circles)
    slope = np.vdot(riemannian_gradient(C, z), w).real
    bend = np.vdot(w, riemannian_hessian(C, z, w)).real
    # central differences err by h^2 f''' and eps f / h^2: both below 1e-4 of these numbers
    assert slope == pytest.approx((curve[2] - curve[0]) / (2 * h), rel=1e-5)
    assert bend == pytest.approx((curve[2] - 2 * curve[1] + curve[0]) / h**2, rel=1e-4)


def test_gradient_is_tangent_and_hessian_maps_tangent_to_tangent(point):
    C, z, t = point
    assert np.abs((np.conj(z) * riemannian_gradient(C, z)).real).max() < 1e-12
    assert np.abs((np.conj(z) * riemannian_hessian(C, z, 1j * t * z)).real).max() < 1e-12


def test_s_is_an_operator_with_the_identities_of_its_definition(point):
    C, z, _ = point
    S = SOperator(C, z)
    check_operator(S)
    dense = np.diag(np.real(np.diag(np.outer(C @ z, z.conj())))) - C  # Re Diag(diag(C z z^H)) - C
    assert np.abs(S.to_dense() - dense).max() < 1e-12
    assert abs(np.vdot(z, S.apply(z))) < 1e-11
    assert np.abs(-2 * S.apply(z) - riemannian_gradient(C, z)).max() < 1e-11
    assert np.abs(tangent_hessian(S) - (np.diag(z.conj()) @ dense @ np.diag(z)).real).max() < 1e-12


@pytest.mark.parametrize("alpha", [2.0, 4.0, np.inf])
def test_identities_at_a_second_order_critical_point(alpha):
    n = 60
    problem = ang.simulate.gaussian(n, 0.2 * n**0.5, rng=3)
    z = ang.synchronize(problem.C, stopping=ang.Stopping(tolerance=1e-13)).z
    assert criticality(problem.C, z).second_order
    shifted = problem.C + (0 if np.isinf(alpha) else n / alpha) * np.eye(n)
    image = shifted @ z
    assert np.abs(image * z.conj() - np.abs(image)).max() < 1e-9
    assert f(shifted, z) == pytest.approx(np.abs(image).sum(), rel=1e-13)
    assert np.abs(np.abs(image) * z - image).max() < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_critical_points_are_near_the_truth_when_the_noise_is_small(seed):
    # Fact 4: op <= n/16 gives |z*^H z| >= n - 4 op and d_2 <= sqrt(8 op)
    n = 50
    problem = ang.simulate.gaussian(n, 0.03 * n**0.5, rng=seed)
    op = np.linalg.norm(problem.noise, 2)
    assert op <= n / 16  # 2 sigma sqrt n = 0.06 n on average, the condition is 0.0625 n
    z = ang.synchronize(problem.C).z
    assert criticality(problem.C, z).second_order
    assert abs(np.vdot(problem.z, z)) >= n - 4 * op
    assert ang.distance(z, problem.z) <= np.sqrt(8 * op)


def test_curvature_alone_is_not_enough():
    # n = 2, C_12 = e^i, z = (1, 1): H = [[cos 1, -cos 1], [-cos 1, cos 1]] is positive semidefinite
    C = np.array([[0, np.exp(1j)], [np.exp(-1j), 0]])
    found = criticality(C, [1, 1])
    assert found.smallest_curvature == pytest.approx(2 * np.cos(1))
    assert not found.first_order
    assert not found.second_order


def test_saddles_and_maxima_are_told_apart():
    triangle = -(np.ones((3, 3)) - np.eye(3))
    saddle = criticality(triangle, [1, 1, -1])
    assert saddle.first_order
    assert not saddle.second_order
    assert criticality(triangle, np.exp(2j * np.pi * np.arange(3) / 3)).second_order
    ring = ang.simulate.ring(30, 0.0, truth=np.ones(30), rng=0).C
    twisted = np.exp(2j * np.pi * np.arange(30) / 30)
    assert criticality(ring, twisted).second_order  # a strict local maximum, not the global one


def test_one_node_is_critical():
    assert criticality([[3.0]], [1j]).second_order
