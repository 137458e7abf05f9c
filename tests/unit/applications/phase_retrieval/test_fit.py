"""The polish and the error bars of the best fit."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval.fit import UNKNOWN, Fit, turns
from angsync.applications.phase_retrieval.simulated import simulate


def fit_of(problem):
    return Fit(problem.masks.matrix, problem.intensities.ravel(), np.ones(problem.intensities.size))


def test_the_jacobian_is_the_derivative():
    problem = simulate(12, 3, 20, rng=0)
    fit, x = fit_of(problem), problem.signal
    step = 1e-6
    change = np.random.default_rng(1).standard_normal(24)
    moved = x + step * turns(x) * (change[:12] + 1j * change[12:])
    numeric = (fit.residuals(moved) - fit.residuals(x)) / step
    assert fit.jacobian(x) @ change == pytest.approx(numeric, abs=1e-3)


def test_the_polish_finds_the_stationary_point_and_never_a_worse_one():
    problem = simulate(40, 3, 30, rng=2)
    fit = fit_of(problem)
    start = problem.signal + 0.05 * np.random.default_rng(3).standard_normal(40)
    best = fit.polished(start)
    assert np.linalg.norm(fit.residuals(best)) < np.linalg.norm(fit.residuals(problem.signal))
    gradient = fit.jacobian(best).T @ fit.residuals(best)
    assert np.linalg.norm(gradient) < 1e-5 * np.linalg.norm(fit.jacobian(start).T @ fit.residuals(start))
    far = np.random.default_rng(4).standard_normal(40) + 0j
    assert np.linalg.norm(fit.residuals(fit.polished(far))) <= np.linalg.norm(fit.residuals(far))


def test_long_signals_are_polished_to_the_end():
    # the phases of distant parts are tied by small links only: an iterative solver stops long before
    problem = simulate(800, 3, 30, rng=5)
    fit = fit_of(problem)
    start = problem.signal * np.exp(0.3j * np.sin(2 * np.pi * np.arange(800) / 800))
    best, again = fit.polished(start), fit.polished(problem.signal)
    turn = np.vdot(best, again) / abs(np.vdot(best, again))
    assert np.linalg.norm(turn * best - again) < 1e-5 * np.linalg.norm(again)


def test_noise_is_estimated_at_the_fit_and_near_it():
    problem = simulate(200, 3, 30, rng=6)
    fit = fit_of(problem)
    # 1000 intensities, 399 unknowns: 601 free, so 2.9 % a standard deviation
    assert fit.noise(fit.polished(problem.signal)) == pytest.approx(problem.sigma, rel=0.09)
    assert fit.noise(problem.signal) == pytest.approx(problem.sigma, rel=0.09)


def test_error_bars_exact_and_from_probes_agree(monkeypatch):
    problem = simulate(60, 3, 40, rng=7)
    fit = fit_of(problem)
    exact = fit.errors(problem.signal, problem.sigma)
    monkeypatch.setattr("angsync.applications.phase_retrieval.fit._EXACT_UP_TO_ENTRIES", 10)
    probed = fit.errors(problem.signal, problem.sigma)
    for one, other in zip(exact, probed, strict=True):
        # 200 probes: 5 % a standard deviation each, common to many entries; four of them for the largest of 60
        assert other == pytest.approx(one, rel=0.2)


def test_error_bars_are_those_of_many_repetitions():
    truth = simulate(16, 3, rng=8)
    sigma = 1e-3
    rng = np.random.default_rng(9)
    errors = []
    for _ in range(100):
        noisy = truth.intensities.ravel() + sigma * rng.standard_normal(truth.intensities.size)
        x = Fit(truth.masks.matrix, noisy, np.ones(noisy.size)).polished(truth.signal)
        x = x * np.vdot(x, truth.signal) / abs(np.vdot(x, truth.signal))
        errors.append(x - truth.signal)
    phase, size = fit_of(truth).errors(truth.signal, sigma)
    found = np.sqrt(np.mean(np.imag(np.array(errors) / truth.signal) ** 2, axis=0))
    # 100 repetitions: 7 % a standard deviation
    assert found == pytest.approx(phase, rel=0.28)
    along = np.real(np.array(errors) / turns(truth.signal))
    assert np.sqrt(np.mean(along**2, axis=0)) == pytest.approx(size, rel=0.28)


def test_a_zero_has_no_phase():
    problem = simulate(24, 3, 40, rng=10)
    x = problem.signal.copy()
    x[5] = 0
    assert fit_of(problem).errors(x, problem.sigma)[0][5] == UNKNOWN
