"""Visibilities so weak that phases are not told: no error bar rather than one that is too small."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import radio


def weak_table(signal_to_noise, stations=6, slots=150, seed=7):
    """A point source between all pairs, and the phases of the stations in degrees."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(stations, 1)
    phase = rng.uniform(-180, 180, (slots, stations))
    slot, first, second = np.repeat(np.arange(slots), low.size), np.tile(low, slots), np.tile(high, slots)
    noise = rng.standard_normal((2, slot.size))
    value = signal_to_noise * np.exp(1j * np.deg2rad(phase[slot, first] - phase[slot, second])) + noise[0]
    value = value + 1j * noise[1]
    table = {
        "time": slot, "T1": [f"A{k:02d}" for k in first], "T2": [f"A{k:02d}" for k in second],
        "u": rng.uniform(-4e9, 4e9, slot.size), "v": rng.uniform(-4e9, 4e9, slot.size), "amplitude": np.abs(value),
        "phase": np.rad2deg(np.angle(value)), "sigma": np.ones(slot.size),
    }  # fmt: skip
    return table, phase


@pytest.mark.parametrize(
    ("signal_to_noise", "stations", "told"), [(3, 6, 1.0), (1.5, 6, None), (1, 6, 0.0), (0.5, 6, 0.0), (0.1, 40, 0.0)]
)
def test_error_bars_are_given_only_where_they_hold(signal_to_noise, stations, told):
    table, phase = weak_table(signal_to_noise, stations, 150 if stations == 6 else 60)
    gains = radio.selfcal(table, radio.point(), "A00")
    off = ((gains.phase - phase + phase[:, :1] + 180) % 360 - 180)[:, 1:]
    error = gains.standard_error[:, 1:]
    given = np.isfinite(error)
    if told is not None:
        assert abs(given.mean() - told) < 0.02
    if given.mean() > 0.1:  # 150 times of dependent phases: three standard deviations of sqrt(.05 * .95 / 150)
        assert np.mean(np.abs(off[given]) < 1.96 * error[given]) > 0.95 - 3 * 0.018
    assert (gains.standard_error[:, 0] == 0).all()
    untold = int(np.sum(~given))
    assert gains.untold.sum() == untold
    assert (f"{untold:,} phases are not told" in str(gains)) == (untold > 0)
    assert np.isfinite(gains.phase).all()


def test_data_that_are_noise_are_said_to_be():
    gains = radio.selfcal(weak_table(0, 40, 30)[0], radio.point(), "A00")
    assert gains.is_noise
    assert np.isnan(gains.standard_error[:, 1:]).all()
    assert "no more than noise" in str(gains)
    strong = radio.selfcal(weak_table(1)[0], radio.point(), "A00")
    assert not strong.is_noise
    assert "no more than noise" not in str(strong)
