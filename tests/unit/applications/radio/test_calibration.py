"""From visibilities and model values to phases, and what noise alone would give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from angsync.applications import radio
from angsync.applications.radio.calibration import expected_chi_square, model_values
from angsync.errors import InputError, NotFiniteError, ShapeError


@pytest.mark.parametrize("rho", [0.0, 0.7, 3.0, 30.0])
def test_expected_chi_square_is_the_mean_over_noise(rho):
    rng = np.random.default_rng(5)
    value = rho + rng.standard_normal(400_000) + 1j * rng.standard_normal(400_000)
    drawn = np.abs(value) ** 2 * 2 * (1 - np.cos(np.angle(value)))
    # four standard deviations of the mean of 400,000 draws
    assert expected_chi_square(np.array([rho]))[0] == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(4e5))


def test_expected_chi_square_at_its_ends():
    assert np.allclose(expected_chi_square(np.array([0.0, 1e4, 1e12])), [4, 1, 1], atol=1e-5)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (3.0, InputError, "the model must be radio.point"),
        (lambda u, v: 1.0, ShapeError, "one complex number for each u and v"),
        (lambda u, v: np.where(u > 0, np.nan, 1), NotFiniteError, "the model is not finite at u ="),
        (lambda u, v: 0 * u, InputError, "the model is 0 on every baseline"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused(model, error, words):
    data = radio.read(radio.simulate(slots=2, rng=0).table)
    with pytest.raises(error, match=words):
        model_values(model, data)


def test_an_error_inside_a_model_is_its_own():
    def wrong(u, v):
        return u + {}

    with pytest.raises(TypeError, match="dict"):
        radio.selfcal(radio.simulate(slots=2, rng=0).table, wrong)


def test_weights_over_many_decades_are_solved_or_said_to_be_silent():
    """A ring blurred to 80 microarcseconds is faint by twenty decades on long baselines: what it says is used, to the
    end, and of the others it is said that they tell nothing."""
    night = radio.simulate(slots=60, model=radio.ring(42, 0.5, 10, position_angle=180), spread=10, rng=1)
    for width in (40, 60, 80, 120):
        gains = radio.selfcal(night.table, radio.ring(42, 0.5, width, position_angle=180))
        whole = np.asarray(gains.sync.components) == 1
        assert gains.certified[whole].all(), width
        assert not gains.certified[~whole].any()
    assert not whole.all()
    assert "the model says nothing" in str(gains)
    assert np.isnan(gains.phase).any()
    assert not gains.is_proved


def test_the_flux_of_the_model_does_not_matter():
    night = radio.simulate(slots=10, rng=2)
    once = radio.selfcal(night.table, night.model)
    bright = radio.selfcal(night.table, lambda u, v: 1000 * night.model(u, v))
    assert np.allclose(bright.phase, once.phase, atol=1e-7, equal_nan=True)
    assert np.allclose(bright.standard_error, once.standard_error, equal_nan=True)
    assert bright.flux_scale == pytest.approx(once.flux_scale / 1000)
    assert once.flux_scale == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda u, v: 1 + 0j if u > 0 else 2 + 0j, "works for single numbers only.*arrays"),
        (lambda u, v: complex(math.cos(u * 1e-9)), "works for single numbers only.*arrays"),
        (lambda u, v: np.full(u.shape, "a"), "must give one complex number for each u and v"),
    ],
)
def test_a_model_for_single_numbers_is_told_that_it_gets_arrays(model, words):
    with pytest.raises(InputError, match=words):
        radio.selfcal(radio.simulate(slots=2, rng=0).table, model)
