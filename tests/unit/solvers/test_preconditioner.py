"""Approximate inverses of the tangent Hessian: what they solve, and which one suits which graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from problems import hessian_at, path
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.problem.operators import ScaledOperator
from angsync.problem.operators.schur import SchurOperator
from angsync.solvers import preconditioner
from angsync.solvers.newton import maximize_model
from angsync.solvers.preconditioner import (
    Direct,
    Jacobi,
    Multigrid,
    aggregations,
    build,
    kind_for,
    strongest_affordable,
)
from angsync.solvers.tangent import TangentHessian, edge_laplacian


def matrix_of(solve, n):
    return np.stack([solve(column - 1 / n).copy() for column in np.eye(n)], axis=1)


@pytest.fixture
def small_bottom(monkeypatch):
    """Several levels on graphs of a few hundred nodes."""
    monkeypatch.setattr(preconditioner, "_COARSEST_NODES", 10)


def test_direct_is_the_inverse_where_the_hessian_is_the_edge_laplacian():
    grid = ang.simulate.grid(9, 8, 0.2, rng=0)
    hessian = hessian_at(grid.C, grid.z)
    r = np.random.default_rng(0).standard_normal(72)
    r -= r.mean()
    t = build("direct", hessian).solve(r)
    assert abs(t.mean()) < 1e-12
    assert np.abs(hessian.product(t) - r).max() < 1e-9


@pytest.mark.parametrize("kind", ["jacobi", "direct", "multigrid"])
def test_every_kind_is_symmetric_and_positive_on_the_tangent_space(kind, small_bottom):
    # at a poor point, where H itself is not definite
    grid = ang.simulate.grid(9, 8, 0.9, rng=1)
    z = grid.z * np.exp(1.0j * np.random.default_rng(0).standard_normal(72))
    hessian = hessian_at(grid.C, z)
    made = build(kind, hessian)
    assert isinstance(made, {"jacobi": Jacobi, "direct": Direct, "multigrid": Multigrid}[kind])
    inverse = matrix_of(made.solve, 72)
    centerd = inverse - inverse.mean(axis=0)
    # the multigrid cycle works in single precision
    assert np.abs(centerd - centerd.T).max() < 1e-5 * np.abs(centerd).max()
    eigenvalues = np.linalg.eigvalsh((centerd + centerd.T) / 2)
    assert eigenvalues[1] > 1e-3 * eigenvalues[-1] / 72


def test_multigrid_has_a_condition_number_that_does_not_grow(small_bottom):
    conditions = []
    for side in (12, 24):
        grid = ang.simulate.grid(side, side, 0.2, rng=0)
        hessian = hessian_at(grid.C, grid.z)
        made = build("multigrid", hessian)
        assert len(made.levels) >= 1
        n = side**2
        inverse = matrix_of(made.solve, n)
        product = np.linalg.eigvals(inverse @ edge_laplacian(hessian.edge_weights()).toarray()).real
        spectrum = np.sort(product)[1:]  # the constant vector is the null vector of both
        conditions.append(spectrum[-1] / spectrum[0])
    # that of the Laplacian itself is about 8 / (pi / side)^2, 120 and 470
    assert conditions[1] < min(12, 2 * conditions[0])


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_multigrid_takes_residuals_of_any_size(size):
    grid = ang.simulate.grid(9, 8, 0.2, rng=0)
    made = build("multigrid", hessian_at(grid.C, grid.z))
    r = np.random.default_rng(0).standard_normal(72)
    r -= r.mean()
    assert np.allclose(made.solve(size * r).copy(), size * made.solve(r), rtol=1e-5)
    assert np.array_equal(made.solve(np.zeros(72)), np.zeros(72))


@pytest.mark.parametrize("kind", ["direct", "multigrid"])
def test_a_strong_preconditioner_needs_few_inner_iterations(kind, small_bottom):
    grid = ang.simulate.grid(30, 30, 0.2, rng=0)
    hessian = hessian_at(grid.C, grid.z)
    row, column = np.divmod(np.arange(900), 30)
    b = hessian.product(np.cos(np.pi * (row + 0.5) / 30) + np.cos(np.pi * (column + 0.5) / 15))
    counts = {}
    for name in ("jacobi", kind):
        inner = maximize_model(hessian.product, b, build(name, hessian), 1e9, 1e30, 500)
        assert not inner.at_boundary
        counts[name] = inner.iterations
        assert np.abs(hessian.product(inner.t) - b).max() < 1e-3 * np.abs(b).max()
    assert counts["jacobi"] > 40
    # conjugate gradients reduce the error to the share e in sqrt(kappa) / 2 * ln(2 / e) steps: kappa < 12, e^2 = 1e-11
    assert counts[kind] <= (2 if kind == "direct" else 23)


def test_jacobi_has_a_floor():
    made = Jacobi(np.array([4.0, -2.0, 0.0]))
    assert made.solve(np.ones(3)).tolist() == [0.25, 0.5, 1 / 0.002]
    assert Jacobi(np.zeros(2)).solve(np.ones(2)).tolist() == [1.0, 1.0]


def test_the_kind_follows_the_shape_of_the_graph(monkeypatch):
    assert kind_for(ang.as_operator(ang.simulate.gaussian(30, 0.1, rng=0).C)) == "jacobi"
    assert kind_for(ang.as_operator(aslinearoperator(path(np.ones(4))))) == "jacobi"
    assert kind_for(ang.as_operator(path(np.ones(1999)))) == "direct"
    grid = ang.as_operator(ang.simulate.grid(40, 40, 0.1, rng=0).C)
    assert kind_for(grid) == "direct"
    assert kind_for(ScaledOperator(grid, 3)) == "direct"
    expander = ang.as_operator(ang.simulate.erdos_renyi(2000, 0.01, 0.1, rng=0).C)
    assert kind_for(expander) == "jacobi"
    star = ang.Measurements(np.zeros(1999, dtype=int), np.arange(1, 2000), np.zeros(1999))
    assert kind_for(ang.as_operator(star)) == "direct"  # wide, but next to no cycles
    monkeypatch.setattr(preconditioner, "_DIRECT_ENTRIES", 1e4)
    assert kind_for(grid) == "multigrid"
    assert strongest_affordable(ang.as_operator(aslinearoperator(path(np.ones(4))))) == "jacobi"


def test_schur_complements_are_factorized_as_what_they_come_from():
    # K with a last block: C = -(K11 - K12 K22^-1 K21); H + ground solved through K equals the dense solution
    rng = np.random.default_rng(0)
    B = rng.standard_normal((12, 9)) + 1j * rng.standard_normal((12, 9))
    K = B.conj().T @ B
    operator = SchurOperator(scipy.sparse.csr_array(K), 5)
    assert kind_for(operator) == "direct"
    z = np.exp(2j * np.pi * rng.random(5))
    hessian = TangentHessian(operator, z, operator.apply(z))
    Q = K[:5, :5] - K[:5, 5:] @ np.linalg.solve(K[5:, 5:], K[5:, :5])
    s = (z.conj() * (-Q @ z)).real
    r = rng.standard_normal(5)
    r -= r.mean()
    made = build("direct", hessian)
    assert isinstance(made, Direct)
    rotated = (z.conj()[:, None] * Q * z).real
    ground = np.zeros(5)
    K11 = K[:5, :5].diagonal().real
    ground[np.argmax(K11)] = K11.max()
    candidates = []
    for diagonal in (s, np.maximum(s, 0)):
        t = np.linalg.solve(np.diag(diagonal + ground) + rotated, r)
        candidates.append(np.abs(made.solve(r) - (t - t.mean())).max() / np.abs(t).max())
    assert min(candidates) < 1e-9


def test_aggregates_are_made_once_and_shared(monkeypatch, small_bottom):
    grid = ang.simulate.grid(20, 20, 0.2, rng=0)
    hessian = hessian_at(grid.C, grid.z)
    first = aggregations(hessian.operator, hessian.edge_weights())
    assert aggregations(hessian.operator, hessian.edge_weights())[0] is first[0]
    assert first[0].label.size == 400
    assert all(step.phase is None for step in first)
    monkeypatch.setattr(preconditioner, "_COARSEST_NODES", 400)
    assert aggregations(hessian.operator, hessian.edge_weights()) == []


@pytest.mark.parametrize("weak", [1e-13, 1e-20, 1e-300])
@pytest.mark.parametrize("place", [4, 8])  # a bridge, and the only edge of the last node
@pytest.mark.parametrize("kind", ["direct", "multigrid"])
def test_parts_that_hang_together_by_less_than_rounding_do_not_spoil_the_rest(weak, kind, place):
    i, j = np.r_[np.arange(9), 0, 6], np.r_[np.arange(1, 10), 2, 8]
    weight = np.ones(11)
    weight[place] = weak
    m = ang.Measurements(i, j, np.random.default_rng(0).normal(0, 0.5, 11), weight=weight)
    # a node that hangs on by less than rounding is not placed, and the loop says that it has stalled
    reference = ang.synchronize(m, solver=ang.Newton(preconditioner="jacobi"), on_failure="ignore")
    result = ang.synchronize(m, solver=ang.Newton(preconditioner=kind), on_failure="ignore")
    assert result.objective == pytest.approx(reference.objective, rel=1e-12)
