"""Proved bounds on the spectrum: never above the truth, and close to it where it matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

import angsync as ang
from angsync.certificate.bounds.krylov import extreme_values, lanczos
from angsync.certificate.bounds.spectrum import _backward_error, cholesky_bound, half_diagonal_bound, lanczos_bound
from angsync.kernels.lanczos import reference as lanczos_reference
from angsync.kernels.rounding import gamma


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


def test_the_bound_holds_exactly_where_the_start_overlaps_enough():
    # No probability: x^H b is known here, and the bound is told just that much. It holds for every start and any number
    # of steps, and it is no better than it should be: with the whole space it is the eigenvalue itself.
    values = np.concatenate([[0.3], np.linspace(0.5, 2.0, 39)])
    S, z = matrix_with_spectrum(values)
    u = z / np.linalg.norm(z)
    x = scipy.linalg.eigh(S + 9 * np.outer(u, u.conj()))[1][:, 0]
    for seed in range(40):
        for steps in (1, 2, 3, 5, 8, 13, 39):
            run = lanczos(lambda v: S @ v, u, np.random.default_rng(seed), max_steps=steps, enough=lambda *_: False)
            overlap = abs(np.vdot(x, run.basis[:, 0])) ** 2
            beta = np.append(run.beta, run.remainder)
            if run.smallest > 0.3 + 1e-9:  # once it is found, rounding decides on which side of it 0.3 lies
                assert overlap * lanczos_reference.growth(run.alpha, beta, 0.3) <= 1 + 1e-6
            bound = lanczos_bound(
                lambda v: S @ v,
                z,
                np.random.default_rng(seed),
                failure=39 * overlap * (1 - 1e-9),
                max_steps=steps,
                good_enough=lambda _: False,
                rounding=0.0,
            )
            assert bound.value <= 0.3 + 1e-9
            if steps == 39:  # one step before the end nothing of x is left but its part along the last vector
                assert bound.value > 0.3 - 1e-6


def test_the_failure_probability_holds():
    # failure = 0.1: over 400 runs the count of failures is at most Binomial(400, 0.1), which exceeds 70 with a
    # probability below 1e-5 (mean 40, standard deviation 6; 70 is 5 of them).
    S, z = matrix_with_spectrum(np.linspace(0.0, 1.0, 60))
    misses = 0
    for seed in range(400):
        bound = lanczos_bound(
            lambda v: S @ v,
            z,
            np.random.default_rng(seed),
            failure=0.1,
            max_steps=12,
            good_enough=lambda _: False,
            rounding=0.0,
        )
        misses += bound.value > 0
    assert misses <= 70


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


def test_what_is_proved_is_where_the_growth_is_the_reciprocal_of_the_overlap():
    S, z = matrix_with_spectrum(np.linspace(1.0, 2.0, 200))
    settings = {"failure": 0.02, "max_steps": 25, "good_enough": lambda _: False}
    bound = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), rounding=0.0, **settings)
    # the same run, seen from outside: polynomials by their recurrence
    u = z / np.linalg.norm(z)
    run = lanczos(lambda v: S @ v, u, np.random.default_rng(0), max_steps=25, enough=lambda *_: False)
    beta = np.append(run.beta, run.remainder)

    def growth(shift):
        q = [0.0, 1.0]
        for k in range(25):
            q.append(((shift - run.alpha[k]) * q[-1] - (beta[k - 1] if k else 0.0) * q[-2]) / beta[k])
        return sum(x * x for x in q)

    assert growth(bound.value) == pytest.approx(199 / 0.02, rel=1e-4)
    assert bound.value < run.smallest
    assert bound.estimate == pytest.approx(run.smallest, rel=1e-13)
    rounded = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), rounding=0.01, **settings)
    assert rounded.value == pytest.approx(bound.value - 0.01 * 5, rel=1e-9)


def test_a_run_ends_once_the_goal_is_proved_or_out_of_reach_or_there_is_no_time():
    S, z = matrix_with_spectrum(np.linspace(1.0, 4.0, 300))
    calls = []

    def product(v):
        calls.append(1)
        return S @ v

    def steps(good_enough, **settings):
        calls.clear()
        found = lanczos_bound(
            product, z, np.random.default_rng(0), good_enough=good_enough, rounding=1e-14, max_steps=120, **settings
        )
        return len(calls), found.value

    taken, value = steps(lambda nu: nu > 0.5)
    assert 5 < taken < 40
    assert 0.5 < value < 1.0
    more, value = steps(lambda nu: nu > 0.9)
    assert taken < more < 80
    assert 0.9 < value < 1.0
    assert steps(lambda nu: nu > 1.2)[0] == 120
    assert steps(lambda nu: nu > 1.2, give_up=True)[0] < more
    assert steps(lambda nu: nu > 5.0)[0] == 120  # above the mean of the spectrum: no goal
    assert steps(lambda nu: nu > 5.0, give_up=True)[0] == 1
    looks = []

    def late(nu):
        looks.append(nu)
        return len(looks) > 10 or nu > 5.0

    assert steps(late)[0] <= 12  # there is a look between any two products
    assert looks[-1] == -np.inf


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
    alpha, beta = rng.standard_normal(steps), rng.random(steps - 1)
    expected = np.linalg.eigvalsh(np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1))
    assert extreme_values(alpha, beta) == pytest.approx((expected[0], expected[-1]), rel=1e-12)
