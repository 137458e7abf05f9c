"""The theorem behind the bounds by Lanczos: it holds for any vectors and any errors, those that conspire too."""

from __future__ import annotations

import math

import numpy as np
import pytest

from angsync import kernels
from angsync.certificate.bounds.overlap import Recurrence


def run(values, start, steps, error):
    """Three terms for Diag(values), ``error(w)`` taken from the next vector: coefficients, vectors and errors."""
    v, old, beta = start / np.linalg.norm(start), np.zeros_like(start), 0.0
    vectors, alphas, betas, errors = [v], [], [], []
    for _ in range(steps):
        w = values * v
        alpha = float(np.vdot(v, w).real)
        w = w - alpha * v - beta * old
        f = error(w)
        w = w - f
        beta = float(np.linalg.norm(w))
        v, old = w / beta, v
        vectors.append(v)
        alphas.append(alpha)
        betas.append(beta)
        errors.append(f)
    return np.array(alphas), np.array(betas), np.array(vectors), np.array(errors)


@pytest.mark.parametrize("kind", ["none", "random", "conspiring"])
@pytest.mark.parametrize("seed", range(6))
def test_the_overlap_is_no_larger_than_said(kind, seed):
    # Diag(values) has its smallest eigenvalue 0.2 at the first unit vector: x^H v is the first entry of v
    rng = np.random.default_rng(seed)
    values = np.concatenate([[0.2], rng.uniform(0.5, 1.0, 59)])

    def error(_):
        f = np.zeros(60, dtype=complex)
        if kind == "random":
            f = 1e-4 * rng.standard_normal(120).view(complex)
        elif kind == "conspiring":
            f[0] = 1e-4
        return f

    start = rng.standard_normal(120).view(complex)
    for steps in (1, 2, 4, 8):
        alpha, beta, vectors, errors = run(values, start, steps, error)
        F = np.abs(errors[:, 0]) + 1e-14
        recurrence = Recurrence(alpha, beta, np.linalg.norm(vectors, axis=1), F, np.zeros(steps))
        if recurrence.smallest <= 0.2001:
            continue
        bound = recurrence.largest_overlap(0.2, recurrence.smallest)
        assert abs(vectors[0, 0]) <= bound
        if kind == "none" and recurrence.smallest > 0.25:  # and it is no better than it should be
            growth = kernels.growth(alpha, beta, 0.2)
            assert bound == pytest.approx(math.sqrt((steps + 1) / growth), rel=1e-6)


def test_errors_that_conspire_with_the_start_hide_an_eigenvector():
    # Without e the inequality is wrong: errors that take away what each vector has of x, and no more than that, leave a
    # run that never sees it. With e nothing is proved.
    rng = np.random.default_rng(1)
    values = np.concatenate([[-1.0], rng.uniform(0.5, 1.0, 59)])
    start = rng.standard_normal(120).view(complex)
    start[0] = 1e-6 * np.linalg.norm(start)

    def hide(w):
        f = np.zeros(60, dtype=complex)
        f[0] = w[0]
        return f

    alpha, beta, vectors, errors = run(values, start, 12, hide)
    overlap = abs(vectors[0, 0])
    assert overlap > 1.5 * math.sqrt(13 / kernels.growth(alpha, beta, 0.0))  # "proved": no eigenvalue is below 0
    F = np.abs(errors[:, 0])
    assert F.max() < 3e-6
    recurrence = Recurrence(alpha, beta, np.linalg.norm(vectors, axis=1), F, np.zeros(12))
    assert overlap < recurrence.largest_overlap(0.0, recurrence.smallest)


def test_there_is_no_bound_above_the_ritz_values():
    recurrence = Recurrence(np.array([1.0]), np.array([0.5]), np.ones(2), np.zeros(1), np.zeros(1))
    assert recurrence.smallest == pytest.approx(1.0)
    assert recurrence.largest_overlap(1.1, recurrence.smallest) == math.inf
    assert recurrence.largest_overlap(-0.1, recurrence.smallest) == math.inf
    e = recurrence.error(0.5, recurrence.smallest)
    assert e < 1e-13
    noisy = Recurrence(np.array([1.0]), np.array([0.5]), np.ones(2), np.array([1e-3]), np.array([1e-2]))
    assert noisy.error(0.5, 1.0) == pytest.approx(1e-3 / 0.5 + 1e-2)
    assert noisy.error(0.9, 1.0) == pytest.approx(1e-3 / 0.1 + 9e-2)
