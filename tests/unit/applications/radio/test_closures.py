"""Closure phases, and the position angle that they give."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from angsync.applications import radio
from angsync.applications.radio.calibration import model_values
from angsync.applications.radio.closures import _lowest, _misfits, closures, triangles_of, with_position_angle
from angsync.errors import InputError

SKY = radio.ring(42, 0.6, 10, position_angle=123)


def closed(data):
    return closures(triangles_of(data), model_values(SKY, data))


def test_gains_of_stations_do_not_change_closure_phases():
    night = radio.simulate(slots=5, model=SKY, noise=1e-9, spread=1, rng=0)
    found = closed(radio.read(night.table))
    assert len(found) > 20
    assert np.abs(found.residual).max() < 1e-4
    assert np.abs(found.phase).max() > 10  # it is not that there is nothing to see
    assert (np.diff(found.stations, axis=1) > 0).all()


def test_errors_of_closure_phases_are_those_of_their_three_sides():
    night = radio.simulate(slots=40, model=SKY, noise=0.005, rng=1)
    found = closed(radio.read(night.table))
    strong = found.standard_error < 10
    # some 800 strongly dependent triangles (every baseline is in five): 3 % is about two standard deviations
    assert np.std(found.residual[strong] / found.standard_error[strong]) == pytest.approx(1, abs=0.08)


def test_rows_of_one_baseline_are_averaged_whichever_way_round():
    data = radio.read(radio.simulate(slots=3, model=SKY, rng=2).table)
    twice = dataclasses.replace(
        data,
        slot=np.tile(data.slot, 2), first=np.append(data.first, data.second), second=np.append(data.second, data.first),
        u=np.append(data.u, -data.u), v=np.append(data.v, -data.v), value=np.append(data.value, data.value.conj()),
        sigma=np.tile(data.sigma, 2), flagged=np.tile(data.flagged, 2),
    )  # fmt: skip
    once, doubled = closed(data), closed(twice)
    assert np.allclose(doubled.phase, once.phase)
    assert np.allclose(doubled.model, once.model)
    assert np.allclose(doubled.standard_error, once.standard_error / np.sqrt(2))


def test_with_many_stations_the_triangles_of_one_are_taken():
    data = radio.read(radio.simulate(stations=14, slots=2, hours=0.1, rng=0).table)
    found = triangles_of(data)
    assert len({*found.stations[:, 0], *found.stations[:, 1], *found.stations[:, 2]}) > 5
    assert any((found.stations == k).any(axis=1).all() for k in range(14))


def test_the_position_angle_is_found():
    data = radio.read(radio.simulate(slots=40, model=SKY, noise=0.02, rng=3).table)
    found = with_position_angle(radio.ring(42, 0.6, 10), data)
    assert found.position_angle == pytest.approx(123, abs=3)
    gains = radio.selfcal(data, radio.ring(42, 0.6, 10))
    assert gains.model == found
    assert gains.is_angle_found
    assert "found from the closure phases of the same visibilities" in str(gains)
    assert gains.chi_square_per_dof == pytest.approx(gains.chi_square_expected, rel=0.15)


def test_misfits_are_those_of_the_bispectra_of_model_and_data():
    """Also where rows are the wrong way round."""
    data = radio.read(radio.simulate(slots=6, model=SKY, rng=4).table)
    turn = np.arange(len(data)) % 3 == 0
    data = dataclasses.replace(
        data, first=np.where(turn, data.second, data.first), second=np.where(turn, data.first, data.second),
        u=np.where(turn, -data.u, data.u), v=np.where(turn, -data.v, data.v),
        value=np.where(turn, np.conj(data.value), data.value),
    )  # fmt: skip
    triangles = triangles_of(data)
    ring = radio.ring(40, 0.5, 8)
    misfits = _misfits(triangles, *ring.parts(data.u, data.v))
    for angle in (17.0, 200.0):
        for found, at in zip(misfits(angle), (angle, angle + 180), strict=True):
            seen = triangles.around(model_values(ring.turned(at), data))
            expected = -2 * np.sum((np.conj(triangles.bispectrum) * seen).real / triangles.variance)
            assert found == pytest.approx(expected, rel=1e-9)


def test_the_lowest_place_is_walked_to():
    def bumpy(degrees):
        return abs(degrees - 33.3) ** 1.5 + np.cos(degrees)

    fine = np.arange(20, 50, 1e-3)
    assert _lowest(bumpy, 20.0) == pytest.approx(fine[np.argmin([bumpy(x) for x in fine])], abs=0.02)


def test_without_triangles_there_is_no_position_angle():
    data = radio.read(radio.simulate(stations=2, slots=5, model=SKY, hours=0.5, rng=0).table)
    with pytest.raises(InputError, match="no slot has a triangle"):
        with_position_angle(radio.ring(42, 0.6, 10), data)
