"""Bounds on the spectrum by Cholesky: never above the truth, and close to it where it matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

import angsync as ang
from angsync.certificate.bounds.cholesky import _backward_error, cholesky_bound, half_diagonal_bound
from angsync.kernels.rounding import gamma


@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**60])
def test_cholesky_bounds_from_below_and_closely(matrix_with_spectrum, spectrum, scale):
    S, z = matrix_with_spectrum(spectrum * scale)
    true = spectrum.min() * scale
    bound = cholesky_bound(S.copy(), z)
    assert bound.confidence == 1.0
    # S itself carries rounding of about 1e-15 of its norm; the bound must stay below the truth beyond that
    assert bound.value <= true + 1e-13 * scale
    assert bound.value >= true - 0.02 * abs(true) - 1e-10 * scale
    assert bound.estimate == pytest.approx(true, rel=1e-6, abs=1e-12 * scale)


def test_cholesky_covers_its_own_rounding_error(matrix_with_spectrum):
    # A singular compression: without the rounding term, some draws of a zero eigenvalue would "prove" a positive bound.
    for seed in range(60):
        values = np.concatenate([[0.0], np.random.default_rng(seed).uniform(1, 3, 20)])
        S, z = matrix_with_spectrum(values, seed)
        assert cholesky_bound(S, z).value <= 0


def test_cholesky_above_the_order_where_lapack_gives_the_estimate(matrix_with_spectrum):
    for smallest in (1e-3, -0.2):
        values = np.concatenate([[smallest], np.linspace(0.5, 2.0, 449)])
        S, z = matrix_with_spectrum(values)
        bound = cholesky_bound(S, z)
        assert smallest - 0.02 * abs(smallest) - 1e-9 <= bound.value <= smallest


def test_the_backward_error_is_the_cited_bound():
    # sqrt(2) gamma_(2n+8) / (1 - ...) times the trace: never reached in a computation, so checked as a formula
    M = np.diag([1.0, 2.0, 3.0, 4.0]).astype(complex)
    g = math.sqrt(2) * gamma(16)
    assert _backward_error(M, 0.0) == pytest.approx(10 * g / (1 - g), rel=1e-9, abs=0)
    assert _backward_error(M, 1.0) == pytest.approx(6 * g / (1 - g), rel=1e-9, abs=0)


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
