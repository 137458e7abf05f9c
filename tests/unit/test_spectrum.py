"""Proved bounds on the spectrum: never above the truth, and close to it where it matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

import angsync as ang
from angsync.rounding import gamma
from angsync.spectrum import (
    _backward_error,
    _extreme_values,
    cholesky_bound,
    half_diagonal_bound,
    lanczos,
    lanczos_bound,
    lanczos_shortfall,
)


def matrix_with_spectrum(values, seed=0):
    """A Hermitian matrix with these eigenvalues on the complement of z and u^H S u = 0."""
    rng = np.random.default_rng(seed)
    n = len(values) + 1
    z = np.exp(2j * np.pi * rng.random(n))
    basis = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    basis[:, 0] = z
    Q, _ = np.linalg.qr(basis)
    return (Q[:, 1:] * values) @ Q[:, 1:].conj().T, z


CASES = {
    "positive": np.linspace(1.0, 5.0, 40),
    "tiny": np.concatenate([[1e-7], np.linspace(1.0, 5.0, 39)]),
    "zero": np.concatenate([[0.0], np.linspace(1.0, 5.0, 39)]),
    "negative": np.concatenate([[-0.3], np.linspace(0.1, 5.0, 39)]),
    "all negative": np.linspace(-5.0, -1.0, 40),
    "equal": np.full(40, 2.0),
    "one": np.array([0.7]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**60])
def test_cholesky_bounds_from_below_and_closely(name, scale):
    S, z = matrix_with_spectrum(CASES[name] * scale)
    true = CASES[name].min() * scale
    bound = cholesky_bound(S.copy(), z)
    assert bound.confidence == 1.0
    # S itself carries rounding of about 1e-15 of its norm; the bound must stay below the truth beyond that
    assert bound.value <= true + 1e-13 * scale
    assert bound.value >= true - 0.02 * abs(true) - 1e-10 * scale
    assert bound.estimate == pytest.approx(true, rel=1e-6, abs=1e-12 * scale)


def test_cholesky_covers_its_own_rounding_error():
    # A singular compression: without the rounding term, some draws of a zero eigenvalue would "prove" a positive bound.
    for seed in range(60):
        values = np.concatenate([[0.0], np.random.default_rng(seed).uniform(1, 3, 20)])
        S, z = matrix_with_spectrum(values, seed)
        assert cholesky_bound(S, z).value <= 0


def test_cholesky_above_the_order_where_lapack_gives_the_estimate():
    for smallest in (1e-3, -0.2):
        values = np.concatenate([[smallest], np.linspace(0.5, 2.0, 449)])
        S, z = matrix_with_spectrum(values)
        bound = cholesky_bound(S, z)
        assert smallest - 0.02 * abs(smallest) - 1e-9 <= bound.value <= smallest


def test_gamma_is_highams():
    assert gamma(10) == pytest.approx(10 * 2.0**-53, rel=1e-12, abs=0)


def test_lanczos_finds_both_ends_off_the_deflated_vector():
    S, z = matrix_with_spectrum(np.linspace(1.0, 9.0, 30))
    u = z / np.linalg.norm(z)
    run = lanczos(lambda v: S @ v, u, np.random.default_rng(0), max_steps=30, enough=lambda *_: False)
    assert run.smallest == pytest.approx(1.0)
    assert run.largest == pytest.approx(9.0)
    v = run.smallest_vector()
    assert abs(np.vdot(u, v)) < 1e-12  # the zero eigenvalue of z is not seen
    assert np.linalg.norm(S @ v - v) < 1e-6


def test_lanczos_stops_at_an_invariant_space():
    S, z = matrix_with_spectrum(np.full(30, 2.0))
    run = lanczos(
        lambda v: S @ v, z / np.linalg.norm(z), np.random.default_rng(0), max_steps=30, enough=lambda *_: False
    )
    assert run.alpha.size == 1
    assert run.remainder < 1e-13
    bound = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), good_enough=lambda _: False, rounding=1e-15)
    assert 2 - 1e-9 < bound.value <= 2 + 1e-12


def test_the_failure_probability_formula():
    # written out: (N-1)(1-e)/(e T_{k-1}^2((1+e)/(1-e))) = failure at the epsilon returned
    for dimension, steps, failure in [(100, 20, 1e-10), (4000, 60, 1e-10), (10**6, 200, 1e-6)]:
        e = lanczos_shortfall(dimension, steps, failure)
        chebyshev = math.cosh((steps - 1) * math.acosh((1 + e) / (1 - e)))
        assert (dimension - 1) * (1 - e) / (e * chebyshev**2) <= failure * (1 + 1e-9)  # rounding of cosh
        smaller = 0.98 * e
        chebyshev = math.cosh((steps - 1) * math.acosh((1 + smaller) / (1 - smaller)))
        assert (dimension - 1) * (1 - smaller) / (smaller * chebyshev**2) > failure
    assert lanczos_shortfall(1000, 1, 1e-10) == 1.0
    assert lanczos_shortfall(1000, 3, 1e-10) > 0.49  # useless: lanczos_bound calls it minus infinity


def test_the_failure_probability_holds():
    # failure = 0.05 for each end: over 400 runs the count of failures of the lower end is at most
    # Binomial(400, 0.05), which exceeds 41 with probability below 1e-5 (mean 20, sd 4.4; 41 is 4.8 sd).
    S, z = matrix_with_spectrum(np.linspace(0.0, 1.0, 60))
    misses = 0
    for seed in range(400):
        bound = lanczos_bound(
            lambda v: S @ v,
            z,
            np.random.default_rng(seed),
            failure=0.1,
            max_steps=8,
            good_enough=lambda _: False,
            rounding=0.0,
        )
        misses += bound.value > 0
    assert misses <= 41


@pytest.mark.parametrize("name", ["positive", "negative", "zero", "tiny"])
def test_lanczos_bounds_from_below(name):
    S, z = matrix_with_spectrum(CASES[name])
    for seed in range(20):
        bound = lanczos_bound(
            lambda v: S @ v, z, np.random.default_rng(seed), good_enough=lambda nu: nu > 0, rounding=1e-14
        )
        assert bound.value <= CASES[name].min()
        assert bound.confidence == 1 - 1e-10


def test_the_backward_error_is_the_cited_bound():
    # sqrt(2) gamma_(2n+8) / (1 - ...) times the trace: never reached in a computation, so checked as a formula
    M = np.diag([1.0, 2.0, 3.0, 4.0]).astype(complex)
    g = math.sqrt(2) * gamma(16)
    assert _backward_error(M, 0.0) == pytest.approx(10 * g / (1 - g), rel=1e-9, abs=0)
    assert _backward_error(M, 1.0) == pytest.approx(6 * g / (1 - g), rel=1e-9, abs=0)


def test_each_end_of_the_spectrum_gets_half_of_the_failure_probability():
    S, z = matrix_with_spectrum(np.linspace(1.0, 2.0, 200))
    settings = {"max_steps": 25}
    bound = lanczos_bound(
        lambda v: S @ v,
        z,
        np.random.default_rng(0),
        failure=0.02,
        good_enough=lambda _: False,
        rounding=0.0,
        **settings,
    )
    # the same run, seen from outside
    u = z / np.linalg.norm(z)
    run = lanczos(lambda v: S @ v, u, np.random.default_rng(0), enough=lambda *_: False, **settings)
    epsilon = lanczos_shortfall(200, 25, 0.01)
    expected = run.smallest - epsilon * (run.largest - run.smallest) / (1 - 2 * epsilon)
    assert bound.value == pytest.approx(expected, rel=1e-9)
    rounded = lanczos_bound(
        lambda v: S @ v,
        z,
        np.random.default_rng(0),
        failure=0.02,
        good_enough=lambda _: False,
        rounding=0.01,
        **settings,
    )
    assert rounded.value == pytest.approx(expected - 0.01 * 5, rel=1e-9)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.25])
@pytest.mark.parametrize("exponent", [0, 7])
def test_half_of_the_diagonal_is_a_bound_or_nothing(share, exponent):
    n = 120
    C = ang.simulate.gaussian(n, share * n**0.5, rng=4).C
    z = ang.synchronize(C).z
    scale = 2.0**-exponent
    Cz = scale * (C @ z)
    s, gradient = np.real(np.conj(z) * Cz), float(np.linalg.norm(np.imag(np.conj(z) * Cz)))
    S = np.diag(s) - scale * C
    complement = scipy.linalg.null_space(z.conj()[None, :])
    smallest = float(np.linalg.eigvalsh(complement.conj().T @ S @ complement)[0])
    row_sum = scale * float(np.abs(C).sum(axis=1).max())
    bound = half_diagonal_bound(C, scale, s, z, gradient=gradient, row_sum=row_sum)
    half = 0.5 * float(S.diagonal().real.min())
    assert (bound is not None) == (half < smallest)
    if bound is not None:
        assert 0.99 * half < bound.value < half
        assert abs(np.vdot(bound.direction, z)) < 1e-12
        assert np.linalg.norm(bound.direction) == pytest.approx(1)
        assert bound.estimate == pytest.approx(np.vdot(bound.direction, S @ bound.direction).real)
        assert bound.estimate >= smallest
    # at a point that is no maximum nothing is claimed
    turned = z * np.exp(1j * np.linspace(0, 3, n))
    wrong = np.real(np.conj(turned) * (scale * (C @ turned)))
    lowest = float(np.linalg.eigvalsh(np.diag(wrong) - scale * C)[0])
    assert lowest < 0
    assert half_diagonal_bound(C, scale, wrong, turned, gradient=1.0, row_sum=row_sum) is None


@pytest.mark.parametrize("steps", [1, 2, 3, 24, 25, 40])
def test_the_extreme_ritz_values_of_few_and_of_many_steps(steps):
    rng = np.random.default_rng(steps)
    alpha, beta = rng.standard_normal(steps).tolist(), rng.random(steps - 1).tolist()
    expected = np.linalg.eigvalsh(np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1))
    assert _extreme_values(alpha, beta) == pytest.approx((expected[0], expected[-1]), rel=1e-12)
