"""Data and errors that cannot be computed with are refused, and what is not known is said in words."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval import measure, recover, simulate
from angsync.applications.phase_retrieval.fit import Fit
from angsync.applications.phase_retrieval.masks import as_masks
from angsync.errors import InputError, ShapeError

_RNG = np.random.default_rng(11)
_MASKS = _RNG.standard_normal((6, 3)) + 1j * _RNG.standard_normal((6, 3))


def given(count=6):
    rng = np.random.default_rng(3)
    masks = rng.standard_normal((count, 3)) + 1j * rng.standard_normal((count, 3))
    return measure(rng.standard_normal(20) + 1j * rng.standard_normal(20), masks), masks


def test_sigma_is_a_number():
    with pytest.raises(InputError, match="sigma must be one number"):
        recover(*given(), sigma="a")


def test_transposed_intensities_are_said_to_be():
    intensities, masks = given()
    with pytest.raises(ShapeError, match="look transposed"):
        recover(intensities.T, masks)


def test_intensities_whose_squares_are_no_numbers_are_refused():
    intensities, masks = given()
    with pytest.raises(InputError, match="squares cannot be computed"):
        recover(intensities * 1e200, masks)


def weakly_tied(n, amplitude, seed):
    """Intensities of a signal whose parts are tied by a few weak entries."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal(n) + 1j * draw.standard_normal(n)
    x[10:12] *= amplitude
    x[30:32] *= amplitude
    return x, measure(x, _MASKS), _MASKS


def phase_errors(signal, x):
    return np.abs(np.angle(signal * np.exp(1j * np.angle(np.vdot(signal, x))) * x.conj()))[np.abs(x) > 0.1]


@pytest.mark.filterwarnings(
    "ignore::angsync.errors.ConvergenceWarning"
)  # of the phases before: weights over 24 decades
@pytest.mark.parametrize(("n", "seed"), [(48, 0), (48, 1), (400, 1), (400, 2)])
def test_a_polish_that_stops_short_goes_on_with_accurate_steps(n, seed):
    """Normal equations have the square of the condition, some 1e12: they alone end 1e-4 to 3e-3 rad from the truth."""
    x, intensities, masks = weakly_tied(n, 1e-6, seed)
    result = recover(intensities, masks)
    assert phase_errors(result.signal, x).max() < 1e-8
    assert "did not converge" not in str(result)


def test_a_polish_that_stays_short_is_told_and_is_in_the_error_bars(monkeypatch):
    x, intensities, masks = weakly_tied(48, 1e-6, 0)
    monkeypatch.setattr(Fit, "finished", lambda self, x: x)
    result = recover(intensities, masks)
    assert "did not converge" in str(result)
    error = phase_errors(result.signal, x)
    assert error.max() > 1e-4
    assert np.all(error < 3 * result.phase_error[np.abs(x) > 0.1])
    x, intensities, masks = weakly_tied(48, 1e-3, 0)
    assert "did not converge" not in str(recover(intensities, masks))


def test_accurate_steps_are_not_taken_where_they_do_not_help():
    """From a signal far from the data, whole steps do not become shorter: the signal stays as it is."""
    _, intensities, masks = weakly_tied(48, 1.0, 5)
    problem = Fit(as_masks(masks, (48,)).matrix, intensities.ravel(), np.ones(intensities.size))
    start = np.random.default_rng(0).standard_normal(48) + 1j
    np.testing.assert_array_equal(problem.finished(start), start)


@pytest.mark.parametrize("size", [1e-300, 1e-150])
def test_intensities_whose_squares_are_nothing_are_named(size):
    drawn = simulate(32, 5, 40, rng=1)
    with pytest.raises(InputError, match=r"intensities go up to .* only, .* Divide them by that"):
        recover(drawn.intensities * size, drawn.masks)


@pytest.mark.parametrize("size", [1e-130, 1e130])
def test_very_small_and_very_large_intensities_give_the_same_signal(size):
    drawn = simulate(32, 5, 40, rng=1)
    one, other = (recover(drawn.intensities * factor, drawn.masks) for factor in (1.0, size))
    assert np.allclose(other.signal / np.sqrt(size), one.signal, rtol=1e-9)


def test_recover_step_two_is_refused_with_its_memory():
    """40,000 shifts of 32 masks of 256 entries, three quarters of them not measured: terabytes."""
    masks = np.random.default_rng(1).standard_normal((32, 16, 16))
    intensities = np.full((32, 200, 200), np.nan)
    intensities[:, ::2, ::2] = 1.0
    with pytest.raises(InputError, match=r"would need about 4\.03e\+03 GB of memory.*shifts"):
        recover(intensities, masks)
