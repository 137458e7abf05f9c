"""Stations of another amplitude: error bars that count it, and a sentence that names them."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import radio
from angsync.applications.radio.amplitudes import station_amplitudes
from angsync.applications.radio.error_bars import standard_errors
from angsync.batch import synchronize_stack

RING = radio.ring(42, 0.5, 10, position_angle=170)


def night_of(amplitude, seed, slots=60, noise=0.02):
    """A night whose stations have these amplitudes, 1 unless named, and the true phases in degrees."""
    night = radio.simulate(slots=slots, model=RING, noise=noise, rng=seed)
    table, rng = dict(night.table), np.random.default_rng(seed + 77)
    place = {name: k for k, name in enumerate(night.station)}
    first, second = ([place[name] for name in table[side]] for side in ("T1", "T2"))
    slot = np.unique(table["time(UTC)"], return_inverse=True)[1]
    size = np.array([amplitude.get(name, 1.0) for name in night.station])
    gain = size * np.exp(1j * np.deg2rad(night.phase))
    value = gain[slot, first] * np.conj(gain[slot, second]) * RING(table["U(lambda)"], table["V(lambda)"])
    drawn = rng.standard_normal((2, slot.size))
    value = value + table["Isigma(Jy)"] * (drawn[0] + 1j * drawn[1])
    table["Iamp(Jy)"], table["Iphase(d)"] = np.abs(value), np.rad2deg(np.angle(value))
    return table, night.phase


@pytest.mark.parametrize("amplitude", [{"S3": 0.3}, {"S3": 0.15}, {"S3": 0.3, "S5": 0.3}, {"S3": 3.0}])
def test_error_bars_hold_for_stations_of_another_amplitude(amplitude):
    """10 nights of 60 slots: some 400 phases a station, each of a slot of its own. Three standard deviations of the
    share that 95 % intervals hold are 3 sqrt(.95 * .05 / 400) = 3.3 %."""
    inside = {}
    for seed in range(20, 30):
        table, phase = night_of(amplitude, seed)
        gains = radio.selfcal(table, RING, reference="S1")
        off = (gains.phase - phase + phase[:, :1] + 180) % 360 - 180
        for k, name in enumerate(gains.station):
            told = (gains.standard_error[:, k] > 0) & (gains.reference[:, k] == "S1")
            inside.setdefault(name, []).extend(np.abs(off[told, k]) < 1.96 * gains.standard_error[told, k])
    for name in {"S2", "S4", *amplitude}:
        assert len(inside[name]) > 200
        assert 0.917 < np.mean(inside[name]) < 0.983, name


def test_stations_of_another_amplitude_are_named():
    gains = radio.selfcal(night_of({"S3": 0.3}, 1)[0], RING)
    assert gains.amplitude[gains.station.index("S3")] == pytest.approx(0.3, rel=0.2)
    assert "for S3 (0.3" in str(gains)
    assert "amplitude" not in str(radio.selfcal(night_of({}, 1)[0], RING))


def test_noise_alone_gives_the_chi_square_that_is_told_where_a_station_is_faint():
    gains = radio.selfcal(night_of({"S3": 0.15}, 3, slots=200)[0], RING)
    # some 2000 degrees of freedom: a standard deviation of sqrt(2 / 2000) = 3 %, more for weak ones
    assert gains.chi_square_per_dof == pytest.approx(gains.chi_square_expected, rel=0.1)


def test_amplitudes_without_noise_are_those_of_the_stations():
    truth = np.array([1.0, 0.2, 3.0, 1.0, 1.0, 1.0, 1.0])
    i, j = np.triu_indices(7, 1)
    ratio, weight = 7 * truth[i] * truth[j], np.ones(21)
    assert station_amplitudes(ratio, weight, i, j, 7, 7.0) == pytest.approx(truth, rel=5e-3)
    ratio[-1], weight[-1] = 30.0, 1e6  # one short baseline of great weight sees more than the model has
    assert station_amplitudes(ratio, weight, i, j, 7, 7.0) == pytest.approx(truth, rel=5e-3)


def test_few_rows_tell_no_amplitudes():
    i, j = np.triu_indices(3, 1)
    assert station_amplitudes(np.array([1.0, 2.0, 9.0]), np.ones(3), i, j, 3, 2.0).tolist() == [1, 1, 1]


@pytest.mark.parametrize("gauge", ["mean", 2])
def test_equal_amplitudes_give_the_errors_of_the_stack(gauge):
    rng = np.random.default_rng(5)
    half = np.triu(np.exp(0.3j * rng.standard_normal((4, 6, 6))) * 10 ** rng.uniform(-6, 6, (4, 6, 6)), 1)
    half[1, :3, 3:] = 0  # two pieces
    half[2, 2] = half[2, :, 2] = 0  # without the reference
    stack = half + half.conj().swapaxes(1, 2)
    absent = (stack == 0).all(axis=2)
    found = synchronize_stack(stack, mask=absent, gauge=gauge, on_failure="ignore")
    errors = standard_errors(stack, found.z, gauge, np.ones(6))
    assert np.allclose(errors, found.standard_errors(1.0), rtol=1e-6, atol=0, equal_nan=True)
    assert np.isnan(errors[2, 2])
