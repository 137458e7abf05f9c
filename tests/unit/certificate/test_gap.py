"""From a bound on the spectrum to a bound on the gap: formulas, rounding, weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate import stacked as proof
from angsync.certificate.bounds.bound import SpectralBound
from angsync.certificate.gap import Gap, bound_without_weights
from angsync.certificate.rounding import Rounding
from angsync.kernels.rounding import gamma
from angsync.problem.residual import along_and_across

NOTHING = Rounding(0.0, np.zeros(1))


def second(value, weights=None):
    return SpectralBound(value, 1.0, "test", np.ones(1), value, about="second_eigenvalue", weights=weights)


def random_s(seed, n=6, scale=1.0, noise=0.3, distance=0.05):
    """S at a random point near the optimum of a random graph, with its point and gradient."""
    rng = np.random.default_rng(seed)
    weights = scale * 10.0 ** rng.uniform(-2, 2, (n, n))
    C = np.triu(weights * np.exp(1j * rng.normal(0, noise, (n, n))), 1)
    C = C + C.conj().T
    z = np.exp(1j * distance * rng.standard_normal(n))
    s, b = along_and_across(z, C @ z)
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
    s, b = along_and_across(np.ones(2, dtype=complex), C @ np.ones(2))
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
    assert bound_without_weights(value, weights) == np.linalg.eigvalsh(S)[0]
    assert bound_without_weights(value, None) == value
    assert bound_without_weights(-math.inf, weights) == -math.inf
    rng = np.random.default_rng(0)
    for _ in range(100):
        relative = rng.standard_normal((5, 5))
        relative = relative + relative.T
        root = 2.0 ** rng.integers(-3, 4, 5)
        inner, outer = np.linalg.eigvalsh(relative), np.linalg.eigvalsh(relative * np.outer(root, root))
        assert all(
            bound_without_weights(a, root**2) <= b + 1e-12 * abs(outer).max() for a, b in zip(inner, outer, strict=True)
        )


def test_the_gap_of_one_problem_is_that_of_a_stack():
    # the same formulas stand in angsync.certificate.stacked, for arrays
    rng = np.random.default_rng(0)
    n, count = 9, 400
    b = rng.standard_normal((count, n)) * 10.0 ** rng.uniform(-9, 1, (count, 1))
    sums = rng.uniform(1, 10, (count, n))
    value = rng.standard_normal(count) * 10.0 ** rng.uniform(-12, 1, count)
    value[:3] = 0.0, -math.inf, 1e-300
    f = rng.uniform(-1, 1, count) * sums.sum(axis=1)
    moduli = sums.sum(axis=1) * rng.uniform(0.9, 1.1, count)
    claims = proof.certificates(
        {
            "bound": value,
            "bare_objective": f,
            "nodes": np.full(count, float(n)),
            "rows_total": sums.sum(axis=1),
            "rows_norm": np.linalg.norm(sums, axis=1),
            "rows_most": sums.max(axis=1),
            "moduli": moduli,
            "gradient": np.linalg.norm(b, axis=1),
            "status": np.zeros(count),
        },
        n,
    )
    g = math.sqrt(2) * gamma(2 * n + 8)
    for k in range(count):
        rounding = Rounding((g + gamma(64)) * float(sums[k].sum()), g * sums[k])
        misfit = max(0.0, moduli[k] - f[k]) + rounding.objective + gamma(n * n + 64) * moduli[k]
        bound = SpectralBound(float(value[k]), 1.0, "test", np.ones(1), 0.0)
        gap = Gap(b[k], misfit, rounding)(bound)
        scale = max(min(abs(f[k]), misfit), 4 * rounding.objective / GAP_TOLERANCE)
        assert claims["gap_bound"][k] == pytest.approx(gap, rel=1e-13, abs=0)
        assert claims["relative_gap"][k] == pytest.approx(gap / scale, rel=1e-13, abs=0)
        assert claims["lambda_2"][k] == pytest.approx(value[k] - rounding.eigenvalue, rel=1e-13, abs=0)
        assert claims["verdict"][k] == (0 if gap <= GAP_TOLERANCE * scale else 1)
    assert 0 < np.count_nonzero(claims["verdict"]) < count


def two_optima(n, rng):
    """A real C whose optimum is not real, and that optimum: its mirror image is as good."""
    while True:
        C = np.triu(rng.standard_normal((n, n)) - 0.5, 1)
        C = (C + C.T) * 10.0 ** rng.uniform(-2, 2)
        z = ang.synchronize(C, stopping=ang.Stopping(tolerance=1e-14), on_failure="ignore").z
        if abs((z * z).mean()) < 0.99:
            return C, z


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("about", ["complement", "second_eigenvalue"])
def test_uniqueness_is_not_proved_by_the_best_bound_where_there_are_two_optima(weighted, about):
    # the exact eigenvalues are given, no rounding and no margin: what is tested is the theorem
    rng = np.random.default_rng(7)
    positive = 0
    for _ in range(40):
        C, best = two_optima(int(rng.integers(3, 8)), rng)
        n = len(best)
        D = 4.0 ** rng.integers(-2, 3, n) if weighted else np.ones(n)
        for step in 10.0 ** np.arange(-8, 0.5, 0.5):
            z = best * np.exp(1j * step * rng.standard_normal(n))
            s, b = along_and_across(z, C @ z)
            S = (np.diag(s) - C) / np.sqrt(np.outer(D, D))
            if about == "complement":
                u = np.sqrt(D) * z
                basis = np.linalg.svd(u.conj()[None, :])[2][1:].conj().T
                value = np.linalg.eigvalsh(basis.conj().T @ S @ basis)[0]
            else:
                value = np.linalg.eigvalsh(S)[1]
            positive += value > 1e-9
            bound = SpectralBound(
                float(value), 1.0, "test", z, float(value), about=about, weights=D if weighted else None
            )
            assert not Gap(b, math.inf, NOTHING, s - C.diagonal()).proves_uniqueness(bound)
    assert positive > 100


@pytest.mark.parametrize("weighted", [False, True])
def test_uniqueness_is_proved_where_the_gradient_is_small_enough(weighted):
    # mu^3 > 2 max (S_jj + epsilon) |Sz|^2, and n epsilon = |Sz|^2 / mu
    n, mu = 6, 0.5
    curvature = np.linspace(1, 2, n)
    D = np.full(n, 4.0) if weighted else np.ones(n)
    bound = second(mu / D[0], D if weighted else None)  # the same S
    largest = math.sqrt(mu**3 / (2 * 2))
    for share, proved in ((0.5, True), (0.97, True), (1.03, False)):
        b = np.full(n, share * largest / math.sqrt(n))
        assert Gap(b, math.inf, NOTHING, curvature).proves_uniqueness(bound) is proved
    small = np.full(n, 1e-6)
    assert Gap(small, math.inf, NOTHING, curvature).proves_uniqueness(bound)
    assert not Gap(small, math.inf, NOTHING).proves_uniqueness(bound)  # nothing is known of the diagonal of S
    assert not Gap(small, math.inf, Rounding(mu * n, np.zeros(n)), curvature).proves_uniqueness(bound)
    assert not Gap(small, math.inf, Rounding(0.0, np.full(n, 0.2)), curvature).proves_uniqueness(bound)
    for hopeless in (0.0, -1.0, -math.inf):
        assert not Gap(small, math.inf, NOTHING, curvature).proves_uniqueness(second(hopeless))


@pytest.mark.parametrize("exponent", [-1000, -600, -520, 0, 300, 520, 1000])
def test_the_gap_of_a_problem_of_any_size(exponent):
    # squares of its numbers under- or overflow: a gap of 0.2 was once 0 at 2**-600
    value, b, n = 3.0, np.full(4, 0.4), 4
    rounding = Rounding(1e-12, np.zeros(n))
    expected = Gap(b, math.inf, rounding)(SpectralBound(value, 1.0, "test", b, value))
    scale = 2.0**exponent
    scaled = Gap(b * scale, math.inf, Rounding(1e-12 * scale, np.zeros(n)))
    found = scaled(SpectralBound(value * scale, 1.0, "test", b, value))
    assert found == pytest.approx(expected * scale, rel=1e-12, abs=0)


@pytest.mark.parametrize("method", ["cholesky", "factorization", "lanczos"])
def test_gap_of_denormal_matrix_is_rounded_up(method):
    # entries of a few times the smallest number: their moduli, which bound f, are rounded to multiples of it
    rng = np.random.default_rng(0)
    for _ in range(40):
        units = np.triu(rng.integers(-5, 6, (3, 3)) + 1j * rng.integers(-5, 6, (3, 3)), 1)
        units += units.conj().T
        C = scipy.sparse.csr_array(np.ldexp(units.view(float), -1074).view(complex))
        z = np.exp(2j * np.pi * rng.random(3))
        missing = ang.synchronize(units, on_failure="ignore").objective - np.vdot(z, units @ z).real
        assert math.ldexp(ang.certify(C, z, method=method).gap_bound, 1074) >= missing * (1 - 1e-9)
