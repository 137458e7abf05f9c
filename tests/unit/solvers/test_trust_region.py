"""Steihaug's conjugate gradients, on phases and on rows."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.solvers.trust_region import maximize_model, maximize_on_rows, to_boundary


class Exact:
    """A preconditioner that is the identity, so that lengths are plain lengths."""

    def solve(self, r):
        return r.copy()


@pytest.mark.parametrize("radius", [1e-3, 0.5, 1e6])
def test_the_inner_solution_maximizes_the_model_within_the_radius(radius):
    # against the exact solution of the trust-region problem on the complement of the constant vector
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 8))
    H = A @ A.T
    center = np.eye(12) - 1 / 12
    H = center @ (H + np.eye(12)) @ center
    b = rng.standard_normal(12)
    b -= b.mean()
    inner = maximize_model(lambda t: H @ t, b, Exact(), radius, 1e30, 500)
    t = inner.t
    assert inner.gain == pytest.approx(2 * b @ t - t @ H @ t, rel=1e-10)
    assert np.linalg.norm(t) == pytest.approx(inner.length, rel=1e-8)
    assert np.linalg.norm(t) <= radius * (1 + 1e-12)
    if radius == 1e6:
        assert not inner.at_boundary
        assert np.abs(H @ t - b).max() < 1e-4
    else:
        assert inner.at_boundary
        # Steihaug: at least the Cauchy point
        step = min(radius / np.linalg.norm(b), (b @ b) / (b @ H @ b))
        assert inner.gain >= 2 * step * (b @ b) - step**2 * (b @ H @ b) - 1e-12


def test_negative_curvature_goes_to_the_boundary():
    H = -np.diag([1.0, 2.0, 3.0])
    inner = maximize_model(lambda t: H @ t, np.array([1.0, -1.0, 0.0]), Exact(), 0.7, 1.0, 50)
    assert inner.at_boundary
    assert np.linalg.norm(inner.t) == pytest.approx(0.7)
    assert inner.gain > 2 * 0.7  # more than the linear part: b has length sqrt 2, and H bends upwards
    nothing = maximize_model(lambda t: H @ t, np.zeros(3), Exact(), 0.7, 1.0, 50)
    assert nothing.gain == nothing.length == 0.0


@pytest.mark.parametrize("radius", [1e-3, 0.5, 1e6])
def test_on_rows_the_model_is_maximized_within_the_radius_too(radius):
    # a block of two complex columns, weights that differ, and a positive definite Hessian
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6))
    H = A @ A.conj().T + np.eye(6)
    G = rng.standard_normal((6, 2)) + 1j * rng.standard_normal((6, 2))
    weights = rng.uniform(1, 3, (6, 1))
    inner = maximize_on_rows(lambda V: H @ V, G, weights, radius, 200)
    V = inner.t
    assert inner.gain == pytest.approx(float((2 * np.vdot(G, V) - np.vdot(V, H @ V)).real), rel=1e-10)
    assert inner.length == pytest.approx(float(np.sqrt(np.sum(weights * np.abs(V) ** 2))), rel=1e-12)
    assert inner.length <= radius * (1 + 1e-12)
    assert inner.at_boundary == (radius < 1e6)
    scaled = G / weights  # at least the Cauchy point
    own, bent = float(np.vdot(G, scaled).real), float(np.vdot(scaled, H @ scaled).real)
    step = min(radius / np.sqrt(own), own / bent)
    assert inner.gain >= 2 * step * own - step**2 * bent - 1e-12


def test_rows_at_negative_curvature_go_to_the_boundary_and_no_gradient_goes_nowhere():
    G = np.array([[1.0 + 0j], [2.0j]])
    inner = maximize_on_rows(lambda V: -V, G, np.ones((2, 1)), 0.7, 50)
    assert (inner.at_boundary, inner.iterations) == (True, 1)
    assert inner.length == pytest.approx(0.7)
    nothing = maximize_on_rows(lambda V: V, 0 * G, np.ones((2, 1)), 0.7, 50)
    assert nothing.gain == nothing.length == 0.0


@pytest.mark.parametrize("along", [-0.3, 0.0, 0.4])
def test_the_step_to_the_boundary_ends_on_it(along):
    squared, own, radius = 0.5, 2.0, 1.25
    tau = to_boundary(squared, along, own, radius)
    assert tau > 0
    assert squared + 2 * tau * along + tau**2 * own == pytest.approx(radius**2, rel=1e-14)
