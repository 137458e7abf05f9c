"""The Hessian in the gauge of z, and the edge Laplacian near it."""

from __future__ import annotations

import numpy as np
import pytest
from problems import hessian_at
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.problem.operators import CountingOperator, ScaledOperator
from angsync.solvers import tangent
from angsync.solvers.tangent import TangentHessian, edge_laplacian, edge_sums, reversed_share


def dense_hessian(C, z):
    C = C.toarray()
    s = (z.conj() * (C @ z)).real
    return np.diag(s) - (z.conj()[:, None] * C * z).real


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("exponent", [0, 5])
def test_products_with_the_hessian(monkeypatch, single, exponent):
    if single:
        monkeypatch.setattr(tangent, "_SINGLE_FROM_ENTRIES", 0)
    grid = ang.simulate.grid(6, 7, 0.5, rng=0)
    z = grid.z * np.exp(0.3j * np.arange(42))
    hessian = hessian_at(grid.C, z, lambda operator: ScaledOperator(operator, exponent))
    t = np.random.default_rng(0).standard_normal(42)
    expected = dense_hessian(grid.C, z) @ t * 2.0**-exponent
    assert hessian.rotated.dtype == (np.float32 if single else np.float64)
    assert np.abs(hessian.product(t) - expected).max() < (1e-6 if single else 1e-14)


def test_products_without_entries_are_the_same():
    grid = ang.simulate.grid(6, 7, 0.5, rng=0)
    z = grid.z * np.exp(0.3j * np.arange(42))
    t = np.random.default_rng(0).standard_normal(42)
    by_products = hessian_at(aslinearoperator(grid.C), z)
    assert by_products.rotated is None
    assert np.abs(by_products.product(t) - dense_hessian(grid.C, z) @ t).max() < 1e-14


def test_a_product_with_the_hessian_counts_as_one():
    operator = CountingOperator(ang.as_operator(ang.simulate.grid(4, 4, 0.1, rng=0).C))
    hessian = hessian_at(operator, np.ones(16, dtype=complex))
    before = operator.products
    hessian.product(np.ones(16))
    assert operator.products == before + 1


def test_the_scale_may_be_at_the_end_of_the_range():
    C = ang.simulate.grid(3, 4, 0.2, rng=0).C
    hessian = hessian_at(C * 1e-315, np.ones(12, dtype=complex), lambda operator: ScaledOperator(operator, -1044))
    expected = (C.toarray() * 1e-315).real * 2.0**1000 * 2.0**44
    assert np.abs(hessian.rotated.toarray() - expected).max() < 1e-6


def test_the_edge_laplacian_is_the_hessian_where_all_residuals_are_below_a_right_angle():
    grid = ang.simulate.grid(6, 7, 0.2, rng=0)
    edges = hessian_at(grid.C, grid.z).edge_weights()
    assert reversed_share(ang.as_operator(grid.C), grid.z) == 0
    assert np.abs(edge_laplacian(edges).toarray() - dense_hessian(grid.C, grid.z)).max() < 1e-14
    assert np.abs(edge_sums(edges) - edge_laplacian(edges).diagonal()).max() < 1e-14


def test_reversed_edges_get_a_small_positive_weight():
    ring = ang.simulate.ring(5, 0.0, rng=0)
    z = ring.z * np.exp(1j * np.array([0, 0, np.pi, 0, 0]))
    operator = ang.as_operator(ring.C)
    assert reversed_share(operator, z) == 0.4
    weights = hessian_at(ring.C, z).edge_weights().value
    assert sorted(np.round(weights, 12)) == [0.05, 0.05, 1, 1, 1]
    assert reversed_share(ang.as_operator(aslinearoperator(ring.C)), z) == 0  # nothing is known


@pytest.mark.parametrize("weak", [1.0, 1e-13, 1e-30])
def test_the_grounded_laplacian_is_definite_also_where_rounding_would_cut_it(weak):
    weight = np.array([1.0, 1.0, weak, 1.0, 1.0])
    m = ang.Measurements(np.arange(5), np.arange(1, 6), np.zeros(5), weight=weight)
    edges = hessian_at(m, np.ones(6, dtype=complex)).edge_weights()
    grounded = edge_laplacian(edges, ground=1.0)
    np.linalg.cholesky(grounded.toarray())
    assert (grounded - edge_laplacian(edges)).diagonal().max() == pytest.approx(edge_sums(edges).max(), rel=1e-12)


def test_edges_are_read_once():
    operator = ang.as_operator(ang.simulate.grid(4, 4, 0.1, rng=0).C)
    assert operator.edges is operator.edges


def test_the_weights_of_a_laplacian_follow_the_scale_of_the_operator():
    C = ang.simulate.grid(6, 6, 0.5, rng=0).C
    z = np.exp(2j * np.pi * np.random.default_rng(1).random(36))  # many measurements are reversed, at the least weight
    base = ang.as_operator(C)
    weights = [
        TangentHessian(ScaledOperator(base, exponent), z, 2.0**-exponent * (C @ z)).laplacian_weights()[0].data
        for exponent in (0, 5)
    ]
    assert np.array_equal(weights[0], 32 * weights[1])
