"""Rounding errors of what a certificate is made of: covered, and stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse
from problems import ring
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.certificate.rounding import Rounding, norm_estimate
from angsync.kernels.rounding import gamma
from angsync.problem.objective import objective
from angsync.problem.operators import ScaledOperator, SchurOperator
from angsync.problem.residual import along_and_across


def test_rounding_covers_the_error_of_the_objective_and_of_its_parts():
    # against extended precision, for a hub: one row is 400 times as long as the others
    rng = np.random.default_rng(0)
    for _ in range(5):
        i, j = np.zeros(400, dtype=int), np.arange(1, 401)
        m = ang.Measurements(i, j, rng.uniform(-3, 3, 400), weight=10.0 ** rng.uniform(-6, 6, 400))
        operator = ang.as_operator(m)
        z = np.exp(2j * np.pi * rng.random(401))
        s, b = along_and_across(z, operator.apply(z))
        rounding = Rounding.of(operator, z, operator.abs_row_sums(), None)
        wide = z.astype(np.clongdouble)
        wide /= np.abs(wide)
        exact = np.conj(wide) * (operator.matrix.toarray().astype(np.clongdouble) @ wide)
        assert (np.abs(exact - (s + 1j * b)) <= rounding.rows).all()
        assert abs(float(exact.real.sum()) - float(s.sum())) <= rounding.objective
        assert rounding.eigenvalue == rounding.rows.max()


def test_rounding_scales_with_the_problem_and_with_the_weights():
    operator = ang.as_operator(ang.simulate.grid(4, 5, 0.1, rng=0).C)
    scaled = ScaledOperator(operator, 7)
    z = np.ones(20, dtype=complex)
    a, b = (Rounding.of(o, z, o.abs_row_sums(), None) for o in (operator, scaled))
    assert b.objective == a.objective / 128
    weights = np.full(20, 4.0)
    assert a.relative_eigenvalue(weights) == a.eigenvalue / 4
    assert a.relative_eigenvalue(None) == a.eigenvalue


def test_the_rounding_level_is_the_cited_bound_and_enters_the_gap():
    C = ring(12, 0.3)
    certificate = ang.certify(C, np.ones(12))
    g = math.sqrt(2) * gamma(2 * 12 + 8) + gamma(64)
    assert certificate.rounding == pytest.approx(24 * g, rel=1e-9, abs=0)
    # once for f itself, once for u^H S u, which rounding leaves open, and a little for the gradient
    assert 2 * certificate.rounding <= certificate.gap_bound < 2.1 * certificate.rounding


def test_a_linear_operator_in_single_precision_is_not_trusted_beyond_it():
    problem = ang.simulate.gaussian(60, 1.0, rng=0)
    single = problem.C.astype(np.complex64)
    z = ang.synchronize(problem.C).z
    certificate = ang.certify(aslinearoperator(single), z, method="lanczos")
    assert certificate.rounding > 1e-7 * objective(problem.C, z)  # single precision, stated


def test_where_only_products_are_known_no_diagonal_entry_is_below_what_is_stated():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        C = rng.standard_normal((n, n)) - 5 * np.diag(rng.random(n) ** 8)
        C = C + C.T
        operator = ang.as_operator(aslinearoperator(C))
        stated = Rounding.of(operator, np.ones(n), None, norm_estimate(operator, rng)).least_diagonal
        assert stated <= -np.linalg.norm(C, 2) <= C.diagonal().min()
        assert stated > -100 * np.linalg.norm(C, 2)


def test_no_diagonal_entry_of_a_schur_complement_is_below_what_is_stated():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 20)) + 1j * rng.standard_normal((60, 20))
    K = rows.conj().T @ rows
    C = K[:12, 12:] @ np.linalg.inv(K[12:, 12:]) @ K[12:, :12] - K[:12, :12]
    operator = SchurOperator(scipy.sparse.csr_array(K), 12)
    for part, factor in ((operator, 1.0), (ScaledOperator(operator, 3), 1 / 8)):
        stated = Rounding.of(part, np.ones(12, dtype=complex), None, None).least_diagonal
        assert stated <= factor * C.diagonal().real.min()
        assert stated > -10 * factor * np.abs(C.diagonal()).max()
