"""Signals and images from local intensities: exact without noise, honest with it, one message for bad input."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import phase_retrieval
from angsync.applications.phase_retrieval import local_masks, measure, recover, simulate
from angsync.applications.phase_retrieval.fit import UNKNOWN, Fit
from angsync.errors import DisconnectedWarning, InputError, NotFiniteError, ShapeError
from angsync.testing import check_application


def aligned_phase_errors(recovered, truth):
    turned = recovered * np.exp(1j * np.angle(np.vdot(recovered, truth)))
    return np.angle(turned * np.conj(truth))


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize(("shape", "band"), [(64, 3), (512, 8), ((12, 15), (2, 3)), ((4, 5, 6), 2)])
def test_without_noise_the_signal_is_exact_and_proved(shape, band, polish):
    problem = simulate(shape, band, rng=1)
    result = recover(problem.intensities, problem.masks, polish=polish)
    assert problem.error(result.signal) < 1e-12
    assert result.is_proved
    assert result.signal.shape == problem.signal.shape
    assert np.all(result.phase_error < 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "band"), [(1024, 8), ((64, 64), 3)])
def test_large_signals_and_images_are_exact(shape, band):
    problem = simulate(shape, band, rng=1)
    assert problem.error(recover(problem.intensities, problem.masks).signal) < 1e-12


@pytest.mark.parametrize("snr", [30, 60])
def test_noise_costs_what_it_must(snr):
    errors = {True: [], False: []}
    for seed in range(8):
        problem = simulate(64, 3, snr, rng=seed)
        for polish, found in errors.items():
            result = recover(problem.intensities, problem.masks, polish=polish)
            found.append(20 * np.log10(problem.error(result.signal)))
    # single errors scatter by 3 dB, so their mean by 1 dB, around 10 - snr - 0.6 (100 other seeds)
    assert np.mean(errors[False]) < 10 - snr + 2.4
    assert np.mean(errors[True]) < np.mean(errors[False]) - 1


@pytest.mark.parametrize("polish", [False, True])
def test_95_percent_of_the_phases_are_within_their_intervals(polish):
    inside = []
    for seed in range(300, 312):
        problem = simulate(64, 3, 40, rng=seed)
        result = recover(problem.intensities, problem.masks, polish=polish)
        error = aligned_phase_errors(result.signal, problem.signal)
        inside.append(np.mean(np.abs(error) < 1.96 * result.phase_error))
        assert result.noise == pytest.approx(problem.sigma, rel=0.2)  # 193 free: 5 % a standard deviation
    # neighbors err together: some 10 independent phases a seed, so 2 % a standard deviation of the mean
    assert 0.91 < np.mean(inside) < 0.99


def test_known_noise_of_each_intensity_is_used():
    rng = np.random.default_rng(3)
    problem = simulate(64, 3, rng=2)
    sigma = 10 ** rng.uniform(-4, -1, problem.intensities.shape)
    data = problem.intensities + sigma * rng.standard_normal(sigma.shape)
    weighted = recover(data, problem.masks, sigma=sigma)
    assert problem.error(weighted.signal) < 0.2 * problem.error(recover(data, problem.masks).signal)
    error = aligned_phase_errors(weighted.signal, problem.signal)
    assert np.sqrt(np.mean((error / weighted.phase_error) ** 2)) == pytest.approx(1, abs=0.6)
    assert weighted.noise == pytest.approx(np.sqrt(np.mean(sigma**2)))


def test_noise_that_is_not_as_stated_is_said():
    problem = simulate(64, 3, 40, rng=13)
    for factor, off in ((0.2, True), (1.0, False), (5.0, True)):
        result = recover(problem.intensities, problem.masks, sigma=factor * problem.sigma)
        assert ("the noise that was given" in str(result)) is off


def test_lost_intensities_are_left_out():
    problem = simulate(40, 3, rng=4)
    windows = np.concatenate([problem.masks.windows, np.conj(problem.masks.windows[:, ::-1])])
    masks = phase_retrieval.Masks(windows, (40,))
    data = measure(problem.signal, masks)
    hidden = np.random.default_rng(5).random(data.shape) < 0.1
    data[hidden] = np.nan
    result = recover(data, masks)
    assert problem.error(result.signal) < 1e-8
    wrong = np.where(hidden, 1e6, data)
    again = recover(np.ma.masked_array(wrong, hidden), masks)
    assert problem.error(again.signal) < 1e-8
    plain = recover(data, masks, polish=False)
    assert np.all(np.isnan(plain.phase_error))
    assert any("No error bars" in sentence for sentence in plain.describe().sentences)


def test_a_zero_entry_has_no_phase_and_spoils_nothing():
    x = simulate(32, 3, rng=6).signal
    x[7] = 0
    masks = local_masks(32, 3)
    result = recover(measure(x, masks), masks)
    assert np.linalg.norm(np.abs(result.signal) - np.abs(x)) < 1e-7
    assert result.pieces[7] == -1 or abs(result.signal[7]) < 1e-7
    assert np.max(np.abs(aligned_phase_errors(result.signal, x)[np.abs(x) > 0])) < 1e-7


def test_pieces_that_nothing_ties_are_said():
    x = simulate(32, 3, rng=7).signal
    x[[4, 5, 20, 21, 22]] = 0
    masks = local_masks(32, 3)
    with pytest.warns(DisconnectedWarning, match="2 pieces with only zeros between"):
        result = recover(measure(x, masks), masks)
    assert not result.is_proved
    assert result.is_determined is False
    assert set(result.pieces[6:20].tolist()) == {0}  # the longer one
    assert set(result.pieces[[*range(4), *range(23, 32)]].tolist()) == {1}
    assert np.all(result.phase_error[23:] == UNKNOWN)
    assert np.all(result.phase_error[6:20] < 1e-6)
    assert "falls into 2 pieces" in str(result)


def test_pieces_tied_by_noise_only_are_not_called_determined():
    x = simulate(48, 3, rng=8).signal
    x[[4, 5, 6, 28, 29, 30]] = 0
    masks = local_masks(48, 3)
    y = measure(x, masks)
    vague = []
    for seed in range(3):
        data = y + 1e-2 * np.sqrt(np.mean(y**2)) * np.random.default_rng(seed).standard_normal(y.shape)
        vague.append(recover(data, masks).is_determined)
    assert not any(vague)


def test_noise_alone_is_not_called_a_signal():
    masks = local_masks(64, 3)
    data = np.abs(np.random.default_rng(9).standard_normal(masks.data_shape))
    result = recover(data, masks)
    assert not result.is_proved
    assert "unexplained" in str(result)


def test_magnitudes_in_place_of_intensities_are_noticed():
    problem = simulate(64, 3, 60, rng=10)
    result = recover(np.sqrt(np.abs(problem.intensities)), problem.masks)
    assert "look like magnitudes" in str(result)
    right = recover(problem.intensities, problem.masks)
    assert "magnitudes" not in str(right)


def test_ctrl_c_in_the_polish_keeps_the_synchronized_signal(monkeypatch):
    def interrupted(self, x):
        raise KeyboardInterrupt

    problem = simulate(32, 3, 40, rng=11)
    monkeypatch.setattr(Fit, "polished", interrupted)
    result = recover(problem.intensities, problem.masks)
    assert result.is_interrupted
    assert problem.error(result.signal) < 0.1
    assert "Interrupted in the polish" in str(result)


def test_the_result_passes_the_check_of_applications():
    for shape in (24, (6, 7), (4, 4, 4)):
        problem = simulate(shape, 2, 50, rng=12)
        check_application(recover(problem.intensities, problem.masks))


def test_the_simulator_has_the_noise_that_was_asked_for():
    quiet, noisy = simulate(4000, 3, rng=0), simulate(4000, 3, 25, rng=0)
    assert np.array_equal(quiet.signal, noisy.signal)
    noise = noisy.intensities - quiet.intensities
    ratio = 10 * np.log10(np.mean(quiet.intensities**2) / np.mean(noise**2))
    assert ratio == pytest.approx(25, abs=0.2)  # 20,000 values: 0.04 dB a standard deviation
    with pytest.raises(InputError, match="number of decibels"):
        simulate(64, 3, np.nan)


good = simulate(16, 3, rng=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: recover(good.intensities.T, good.masks), ShapeError, "look transposed"),
        (lambda: recover(good.intensities[:, :9], good.masks), ShapeError, r"measure \(5, 16\)"),
        (lambda: recover(good.intensities[0], good.masks), ShapeError, r"\(masks, shifts\)"),
        (lambda: recover(good.intensities + 0j, good.masks), InputError, "square of their modulus"),
        (lambda: recover(good.intensities.astype(str), good.masks), InputError, "real numbers"),
        (
            lambda: recover(np.where(good.intensities > 5, np.inf, good.intensities), good.masks),
            NotFiniteError,
            "infin",
        ),
        (lambda: recover(np.zeros((5, 16)), good.masks), InputError, "nothing to recover"),
        (lambda: recover(np.full((5, 16), np.nan), good.masks), InputError, "nothing to recover"),
        (lambda: recover(good.intensities, good.masks, sigma=0), InputError, r"\(0, 0\) is 0"),
        (lambda: recover(good.intensities, good.masks, sigma=[1, 2]), ShapeError, "one an intensity"),
        (lambda: recover(good.intensities, np.ones((2, 3))), ShapeError, "one row a mask"),
        (lambda: recover(measure(np.eye(16)[0], good.masks), good.masks), InputError, "stands alone"),
        (lambda: recover(good.intensities, good.masks, noise=1.0), TypeError, "did you mean sigma"),
    ],
)
def test_bad_input_gets_one_message(call, error, words):
    with pytest.raises(error, match=words):
        call()
