"""From a bound on the spectrum to a bound on the gap: formulas, rounding, weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync.certificate.bounds.spectrum import SpectralBound
from angsync.certificate.gap import Gap, Rounding, unweighted
from angsync.problem.measure import split
from angsync.problem.operators import ScaledOperator

NOTHING = Rounding(0.0, np.zeros(1))


def second(value, weights=None):
    return SpectralBound(value, 1.0, "test", np.ones(1), value, about="second", weights=weights)


def random_s(seed, n=6, scale=1.0, noise=0.3, distance=0.05):
    """S at a random point near the optimum of a random graph, with its point and gradient."""
    rng = np.random.default_rng(seed)
    weights = scale * 10.0 ** rng.uniform(-2, 2, (n, n))
    C = np.triu(weights * np.exp(1j * rng.normal(0, noise, (n, n))), 1)
    C = C + C.conj().T
    z = np.exp(1j * distance * rng.standard_normal(n))
    s, b = split(z, C @ z)
    return np.diag(s) - C, z, b, np.abs(C).sum(axis=1)


def test_a_bound_on_the_second_eigenvalue_bounds_the_smallest():
    checked = 0
    for seed in range(200):
        S, _, b, _ = random_s(seed)
        eigenvalues = np.linalg.eigvalsh(S)
        if eigenvalues[1] <= 0:
            continue
        bound = Gap(b, math.inf, NOTHING).smallest_eigenvalue(second(eigenvalues[1]))
        assert bound <= eigenvalues[0] + 1e-13 * np.abs(eigenvalues).max()
        checked += 1
    assert checked > 150


def test_the_example_of_the_docstring():
    # n = 2: a bound on the second eigenvalue alone must not be put into the formula for the complement of z
    C = np.array([[0, np.exp(1j)], [np.exp(-1j), 0]])
    s, b = split(np.ones(2, dtype=complex), C @ np.ones(2))
    mu = float(np.linalg.eigvalsh(np.diag(s) - C)[1])
    e = float(np.linalg.norm(b)) / math.sqrt(2)
    gap = 2 - 2 * math.cos(1)
    assert gap == pytest.approx(0.919, abs=1e-3)
    assert math.sqrt(mu**2 + 4 * e**2) - mu == pytest.approx(0.741, abs=1e-3)
    # n = 2 is where n e^2 / mu is an equality
    assert Gap(b, math.inf, NOTHING)(second(mu)) == pytest.approx(gap, rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 2.0**-20])  # weights above and below 1
def test_the_degree_weighted_form_bounds_the_same_gap(scale):
    for seed in range(200):
        S, _, b, sums = random_s(seed, scale=scale)
        weights = 4.0 ** np.round(np.log2(sums) / 2)
        root = np.sqrt(weights)
        relative = S / root[:, None] / root[None, :]
        mu = float(np.linalg.eigvalsh(relative)[1])
        if mu <= 0:
            continue
        gap = Gap(b, math.inf, NOTHING)
        smallest = float(np.linalg.eigvalsh(relative)[0])
        assert gap.smallest_eigenvalue(second(mu, weights)) <= smallest + 1e-13
        # every w in T^n has -w^H S w <= tr(D) times the negative part
        w = np.exp(2j * np.pi * np.random.default_rng(seed).random((6, 50)))
        gains = -np.einsum("jk,jl,lk->k", w.conj(), S, w).real
        assert gains.max() <= gap(second(mu, weights)) + 1e-12


def test_an_objective_that_is_not_quite_zero_at_z_only_makes_the_bound_worse():
    # the matrix is moved by less than ``objective / n``, as rounding would do it; the bound has to hold for every move
    for seed in range(100):
        # exact data at their optimum, where the move is all there is, and points further off
        S, z, b, _ = random_s(seed) if seed % 2 else random_s(seed, noise=0.0, distance=0.0)
        n = z.size
        offset = 1e-3
        rounding = Rounding(offset * n, np.zeros(n))
        for move in (-offset, 0.0, offset):
            moved = S + move * np.eye(n)
            eigenvalues = np.linalg.eigvalsh(moved)
            if eigenvalues[1] <= offset:
                continue
            bound = Gap(b, math.inf, rounding).smallest_eigenvalue(second(float(eigenvalues[1])))
            assert bound <= eigenvalues[0] + 1e-13 * np.abs(eigenvalues).max()
    assert Gap(b, math.inf, rounding).smallest_eigenvalue(second(offset / 2)) == -math.inf


def test_the_misfit_is_a_bound_where_the_spectrum_proves_nothing():
    gap = Gap(np.ones(3), 0.25, Rounding(0.125, np.zeros(3)))
    assert gap(second(-math.inf)) == 0.375


@pytest.mark.parametrize("value", [0.5, -0.5])
def test_ostrowski_takes_the_careful_end_of_the_weights(value):
    weights = np.array([0.25, 4.0, 1.0])
    S = np.diag(np.sqrt(weights)) @ (value * np.eye(3)) @ np.diag(np.sqrt(weights))
    assert unweighted(value, weights) == np.linalg.eigvalsh(S)[0]
    assert unweighted(value, None) == value
    assert unweighted(-math.inf, weights) == -math.inf
    rng = np.random.default_rng(0)
    for _ in range(100):
        relative = rng.standard_normal((5, 5))
        relative = relative + relative.T
        root = 2.0 ** rng.integers(-3, 4, 5)
        inner, outer = np.linalg.eigvalsh(relative), np.linalg.eigvalsh(relative * np.outer(root, root))
        assert all(unweighted(a, root**2) <= b + 1e-12 * abs(outer).max() for a, b in zip(inner, outer, strict=True))


def test_rounding_covers_the_error_of_the_objective_and_of_its_parts():
    # against extended precision, for a hub: one row is 400 times as long as the others
    rng = np.random.default_rng(0)
    for seed in range(5):
        i, j = np.zeros(400, dtype=int), np.arange(1, 401)
        m = ang.Measurements(i, j, rng.uniform(-3, 3, 400), weight=10.0 ** rng.uniform(-6, 6, 400))
        operator = ang.as_operator(m)
        z = np.exp(2j * np.pi * rng.random(401))
        s, b = split(z, operator.apply(z))
        rounding = Rounding.of(operator, z, operator.abs_row_sums(), np.random.default_rng(seed))
        wide = z.astype(np.clongdouble)
        wide /= np.abs(wide)
        exact = np.conj(wide) * (operator.matrix.toarray().astype(np.clongdouble) @ wide)
        assert (np.abs(exact - (s + 1j * b)) <= rounding.rows).all()
        assert abs(float(exact.real.sum()) - float(s.sum())) <= rounding.objective
        assert rounding.eigenvalue == rounding.rows.max()


def test_rounding_scales_with_the_problem_and_with_the_weights():
    operator = ang.as_operator(ang.simulate.grid(4, 5, 0.1, rng=0).C)
    scaled = ScaledOperator(operator, 7)
    rng = np.random.default_rng(0)
    z = np.ones(20, dtype=complex)
    a, b = (Rounding.of(o, z, o.abs_row_sums(), rng) for o in (operator, scaled))
    assert b.objective == a.objective / 128
    weights = np.full(20, 4.0)
    assert a.relative_eigenvalue(weights) == a.eigenvalue / 4
    assert a.relative_eigenvalue(None) == a.eigenvalue
