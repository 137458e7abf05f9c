"""Data and errors that cannot be computed with are refused, and what is not known is said in words."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval import measure, recover
from angsync.errors import InputError


def given(count=6):
    rng = np.random.default_rng(3)
    masks = rng.standard_normal((count, 3)) + 1j * rng.standard_normal((count, 3))
    return measure(rng.standard_normal(20) + 1j * rng.standard_normal(20), masks), masks


def test_sigma_is_a_number():
    with pytest.raises(InputError, match="sigma must be one number"):
        recover(*given(), sigma="a")


def test_intensities_whose_squares_are_no_numbers_are_refused():
    intensities, masks = given()
    with pytest.raises(InputError, match="squares cannot be computed"):
        recover(intensities * 1e200, masks)


def test_a_polish_that_stops_short_is_told_and_is_in_the_error_bars():
    rng = np.random.default_rng(11)
    masks = rng.standard_normal((6, 3)) + 1j * rng.standard_normal((6, 3))
    for amplitude in (1e-3, 1e-6):
        said = []
        for seed in range(3):
            draw = np.random.default_rng(seed)
            x = draw.standard_normal(48) + 1j * draw.standard_normal(48)
            x[10:12] *= amplitude
            x[30:32] *= amplitude
            result = recover(measure(x, masks), masks)
            error = np.abs(np.angle(result.signal * np.exp(1j * np.angle(np.vdot(result.signal, x))) * x.conj()))
            large = np.abs(x) > 0.1
            assert np.all(error[large] < 3 * result.phase_error[large] + 1e-12)
            said.append("did not converge" in str(result))
        assert any(said) == (amplitude == 1e-6)
