"""Observations with known gains: an array on a turning Earth looks at a model of the sky."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.radio.models import Model, Ring, ring
from angsync.applications.radio.visibilities import COLUMNS
from angsync.errors import InputError, names_keywords
from angsync.io.table import write_csv

_EARTH_METERS = 6.371e6
_SIDEREAL_HOURS = 23.934
_WAVELENGTH_METERS = 1.3e-3
_LOWEST_DEGREES = 10.0  # elevation below which no station looks


@dataclass(frozen=True, eq=False)
class Simulated:
    """What :func:`simulate` gives."""

    table: dict[str, NDArray] = field(repr=False)
    """Columns as the Event Horizon Telescope names them; :func:`angsync.applications.radio.selfcal` takes it."""
    phase: NDArray[np.float64] = field(repr=False)
    """(slots, stations): the true phases, degrees, of the times and stations in the table; NaN where a station does not
    see the source."""
    station: tuple[str, ...]
    model: Model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as csv, with the columns of the files of the telescope."""
        write_csv(path, self.table)


@names_keywords
def simulate(
    stations: int = 7,
    slots: int = 100,
    *,
    model: Model | None = None,
    noise: float = 0.02,
    spread: float = 3.0,
    walk: float | None = None,
    hours: float = 8.0,
    declination: float = 12.4,
    rng: Any = None,
) -> Simulated:
    """An observation of ``hours`` in so many time slots, by stations strewn over one side of the Earth.

    Parameters
    ----------
    model
        The sky; unless given, a ring of 42 microarcseconds, dipole 0.5, width 10, bright in the south.
    noise
        Typical standard deviation of each part of a visibility, Jy; the model has a flux of about 1.
    spread
        Stations differ: the noise of a baseline is the typical one times the root of two factors between 1/spread and
        spread.
    walk
        Degrees that a phase moves from slot to slot; unless given, the phases of different slots are unrelated.
    declination
        Of the source, degrees.

    Examples
    --------
    >>> from angsync.applications import radio
    >>> night = radio.simulate(stations=5, slots=10, rng=1)
    >>> night.station, night.phase.shape
    (('S1', 'S2', 'S3', 'S4', 'S5'), (10, 5))
    """
    if stations < 2 or slots < 1:
        raise InputError(f"at least 2 stations and 1 slot are needed, but there are {stations} and {slots}.")
    if not (noise > 0 and spread >= 1):
        raise InputError(f"noise must be positive and spread at least 1, but they are {noise} and {spread}.")
    rng = np.random.default_rng(rng)
    sky: Model = ring(42.0, 0.5, 10.0, position_angle=180.0) if model is None else model
    if isinstance(sky, Ring) and not sky.is_turned:
        raise InputError("the ring to simulate needs a position_angle.")
    time = np.arange(slots) * (hours / max(slots, 2))
    turn = 2 * np.pi * (time - hours / 2) / _SIDEREAL_HOURS
    position = _positions(stations, rng)
    delta = np.deg2rad(declination)
    sine, cosine = np.sin(turn)[:, None], np.cos(turn)[:, None]
    x, y, z = position.T / _WAVELENGTH_METERS
    u = x * sine + y * cosine
    v = -np.sin(delta) * (x * cosine - y * sine) + np.cos(delta) * z
    towards = np.cos(delta) * (x * cosine - y * sine) + np.sin(delta) * z
    up = towards * _WAVELENGTH_METERS / _EARTH_METERS > np.sin(np.deg2rad(_LOWEST_DEGREES))
    phase = _phases(slots, stations, walk, rng)
    quality = spread ** rng.uniform(-1, 1, stations)
    first, second = np.triu_indices(stations, 1)
    slot, pair = np.nonzero(up[:, first] & up[:, second])
    if slot.size == 0:
        raise InputError("no two stations see the source at the same time: more stations, or another seed (rng).")
    i, j = first[pair], second[pair]
    du, dv = u[slot, i] - u[slot, j], v[slot, i] - v[slot, j]
    sigma = noise * np.sqrt(quality[i] * quality[j])
    value = np.exp(1j * (phase[slot, i] - phase[slot, j])) * sky(du, dv)
    value = value + sigma * (rng.standard_normal(slot.size) + 1j * rng.standard_normal(slot.size))
    digits = len(str(stations))
    names = tuple(f"S{k + 1:0{digits}d}" for k in range(stations))
    labels = np.array(names, dtype=object)
    columns = (time[slot], labels[i], labels[j], du, dv, np.abs(value), np.rad2deg(np.angle(value)), sigma)
    table = {usual[0]: column for usual, column in zip(COLUMNS.values(), columns, strict=True)}
    there = np.zeros((slots, stations), dtype=bool)
    there[slot, i] = there[slot, j] = True
    # times without a baseline, and idle stations, are in no row
    seen, looking = np.unique(slot), np.union1d(i, j)
    truth = np.where(there, np.rad2deg(phase), np.nan)[np.ix_(seen, looking)]
    return Simulated(table, truth, tuple(names[k] for k in looking), sky)


def _positions(stations: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Meters, on the half of the Earth that faces the source in the middle of the observation, not at its rim."""
    direction = rng.standard_normal((stations, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    direction += [1.0, 0.0, 0.2]
    return _EARTH_METERS * direction / np.linalg.norm(direction, axis=1)[:, None]


def _phases(slots: int, stations: int, walk: float | None, rng: np.random.Generator) -> NDArray[np.float64]:
    if walk is None:
        return rng.uniform(-np.pi, np.pi, (slots, stations))
    steps = np.deg2rad(walk) * rng.standard_normal((slots, stations))
    steps[0] = rng.uniform(-np.pi, np.pi, stations)
    return (np.cumsum(steps, axis=0) + np.pi) % (2 * np.pi) - np.pi
