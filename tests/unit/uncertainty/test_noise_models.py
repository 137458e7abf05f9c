"""The two noise models: angles with weights, and complex values whose modulus is partly noise."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import uncertainty
from angsync.errors import InputError
from angsync.uncertainty.noise_models import AngleNoise, ComplexNoise, large_noise_factor, model_of, wrapped_residuals


def test_the_gaussian_model_of_the_paper():
    # sigma = sigma_paper / sqrt 2, all weights 1: variance in the mean gauge is sigma^2 (n-1)/n^2
    n, sigma_paper = 200, 2.0
    problem = ang.simulate.gaussian(n, sigma_paper, rng=0)
    result = ang.synchronize(problem.C)
    expected = sigma_paper / np.sqrt(2) * np.sqrt(n - 1) / n
    given = result.standard_errors(sigma_paper / np.sqrt(2), gauge="mean")
    # information |C| a has mean 1 and, by the law of large numbers over 199 pairs a node, spread about 4 %
    assert given == pytest.approx(np.full(n, expected), rel=0.15)
    assert given.mean() == pytest.approx(expected, rel=0.02)
    estimated = result.standard_errors(gauge="mean")
    # sigma^2 is estimated from 19900 residuals: relative error sqrt(2/19900) = 1 %, in sigma 0.5 %
    assert estimated.mean() == pytest.approx(expected, rel=0.03)


def test_weights_built_into_the_matrix_are_understood():
    # Weights 0.1 .. 10 in |C|: over 60 draws the ratio of stated to empirical errors (24 nodes each) has a relative
    # standard error of about 1 / sqrt(2 * 60) = 9 % for one node and less for the mean; 15 % is allowed.
    rng = np.random.default_rng(0)
    n = 25
    i, j = np.triu_indices(n, 1)
    weight = 10 ** rng.uniform(-1, 1, i.size)
    truth = np.exp(2j * np.pi * rng.random(n))
    errors, stated, spread = [], [], []
    for seed in range(60):
        drawn = ang.simulate.phase_noise(n, 0.1, graph=(i, j), weight=weight, truth=truth, rng=seed)
        result = ang.synchronize(drawn.measurements.to_sparse(), certify=False)
        errors.append(np.angle(result.z * np.conj(truth) * truth[0])[1:])
        stated.append(result.standard_errors()[1:])
        spread.append(np.nanstd(result.edge_residuals().standardized))
    assert np.mean(stated) / np.sqrt(np.mean(np.square(errors))) == pytest.approx(1, abs=0.15)
    assert np.mean(spread) == pytest.approx(1, abs=0.08)


def test_degrees_of_freedom_of_complex_values():
    # equal weights: all terms are equal, and the number is that of the pairs minus the phases or above; never more
    result = ang.synchronize(ang.simulate.gaussian(30, 0.2, rng=0).C)
    found = uncertainty.degrees_of_freedom(result.measurements, result.z, result.components)
    assert found <= 435 - 29
    assert found > 0.9 * (435 - 29)  # moduli spread by sigma / sqrt 2 = 14 %: (sum a)^2 / sum a^2 is 2 % less than 435


def test_angles_say_what_their_weights_say_and_complex_values_what_fits():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(6, 1)
    z = np.exp(1j * rng.uniform(-3, 3, 6))
    value = 2.0 * z[i] * np.conj(z[j]) * np.exp(0.1j * rng.standard_normal(i.size))
    weight = rng.uniform(0.5, 2, i.size)
    angles = ang.Measurements(i, j, np.angle(value), weight)
    values = ang.Measurements(i, j, weight=weight, value=value)
    residual = wrapped_residuals(angles, z)
    assert residual == pytest.approx(wrapped_residuals(values, z), abs=1e-12)
    by_angles, by_values = model_of(angles), model_of(values)
    assert isinstance(by_angles, AngleNoise)
    assert isinstance(by_values, ComplexNoise)
    assert by_angles.information(angles, z) is angles.weight
    strength = 2 * weight
    mean_cosine = np.sum(strength * np.cos(residual)) / np.sum(strength)
    assert by_values.information(values, z) == pytest.approx(strength * mean_cosine)
    assert by_angles.deviations(angles, residual, weight) is residual
    information = strength * mean_cosine
    assert by_values.deviations(values, residual, information) == pytest.approx(np.sin(residual) / mean_cosine)
    assert by_angles.scale_is_sigma
    assert not by_values.scale_is_sigma


def test_phases_that_fit_worse_than_chance_are_refused():
    values = ang.Measurements([0, 1], [1, 2], value=[1.0, 1.0])
    with pytest.raises(InputError, match="do not fit the measurements at all"):
        model_of(values).information(values, np.array([1, -1, 1], dtype=complex))


def test_the_factor_of_large_noise():
    # wrapped normal noise of 1.2 rad, nothing fitted: V = sinh(1.44) over the variance of the wrapped residuals
    rng = np.random.default_rng(0)
    residual = np.angle(np.exp(1.2j * rng.standard_normal(200_000)))
    wanted = np.sqrt(np.sinh(1.44) / np.mean(residual**2))
    # the mean cosine, exp(-0.72) = 0.49, is known to 0.6 / sqrt(2e5), hence s = -2 log to 0.0055 and sinh(s) to 0.6 %
    assert large_noise_factor(residual, np.ones(residual.size), residual.size) == pytest.approx(wanted, rel=0.02)
    # weights in other units, with the same noise, change nothing
    assert large_noise_factor(residual, np.full(residual.size, 1e4), residual.size) == pytest.approx(wanted, rel=0.02)
    assert large_noise_factor(0.3 * rng.standard_normal(50), np.ones(50), 50) == 1
