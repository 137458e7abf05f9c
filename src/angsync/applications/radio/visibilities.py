"""Visibilities as rows: when, between which stations, where in the plane of spatial frequencies, and how large.

Rows without a usable number (no amplitude, no phase, no error, a station with itself) are kept and flagged, never lost:
a time at which nothing is left is an empty slot.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.spelling import warn_of_spellings
from angsync.errors import ErrorBarWarning, InputError, MissingDependencyError, UnitWarning, names_keywords, warn_user
from angsync.io.failures import existing_file, listed, reading
from angsync.io.table import Table, table_of
from angsync.problem.units import FULL_TURN, check_unit

COLUMNS = {
    "time": ("time(UTC)", "#time(UTC)", "time", "utc", "mjd", "jd"),
    "station1": ("T1", "station1", "antenna1", "ant1"),
    "station2": ("T2", "station2", "antenna2", "ant2"),
    "u": ("U(lambda)", "u"),
    "v": ("V(lambda)", "v"),
    "amplitude": ("Iamp(Jy)", "amplitude", "amp"),
    "phase": ("Iphase(d)", "phase", "phase(d)"),
    "sigma": ("Isigma(Jy)", "sigma", "error"),
}
"""What is needed, and the usual names of its column: those of the Event Horizon Telescope first."""
UV_UNITS = {"lambda": 1.0, "klambda": 1e3, "Mlambda": 1e6, "Glambda": 1e9}
"""Units of u and v, in wavelengths."""
UV_SUFFIXES = (".uvfits", ".uvf", ".fits", ".uvh5")
"""Files that pyuvdata reads."""
_MOST = 1e50  # Jy; nothing in the sky is so bright, and squares of such numbers overflow
_MOST_TURNS = 10  # of a phase in a table
_FEW_ROWS = 20  # of fewer phases that all are small nobody can say whether they are radians
_PARALLEL_HANDS = ((1,), (-1, -2), (-5, -6))  # codes of AIPS memo 117: Stokes I, RR and LL, XX and YY
_CLOCK = re.compile(r"\d{1,3}:\d\d(:\d\d(\.\d*)?)?")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
_LIGHT_SPEED = 299_792_458.0  # meters a second


@dataclass(frozen=True, eq=False)
class Visibilities:
    """Rows of visibilities; ``V = g_first conj(g_second) M(u, v)`` with the gains g of the stations."""

    time: NDArray
    """Times of the slots, in order, as they were given; times of day (8:00) by the clock, other text by its words and
    numbers."""
    station: tuple[str, ...]
    """Names, in the order of the alphabet."""
    slot: NDArray[np.int64]
    """Place of the time of each row."""
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    """Places of the stations of each row."""
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    """Wavelengths."""
    value: NDArray[np.complex128]
    """Jy."""
    sigma: NDArray[np.float64]
    """Standard deviation of the real and of the imaginary part, Jy."""
    flagged: NDArray[np.bool_]
    """Rows that are not used: a number is missing or cannot be, a station is paired with itself, or the row repeats
    another."""
    repeated: int = 0
    """Flagged rows that repeat another: the same time, stations and value."""

    def __len__(self) -> int:
        return int(self.slot.size)


@names_keywords
def read(
    source: Any, *, unit: str = "deg", uv_unit: str = "lambda", columns: Mapping[str, str] | None = None
) -> Visibilities:
    """Visibilities of a table (csv, parquet, data frame, mapping) with the columns of the Event Horizon Telescope, or
    of a UVFITS or uvh5 file (by pyuvdata; weights are taken as 1/sigma^2, parallel hands and channels averaged).

    Parameters
    ----------
    unit
        Of the phases in a table: ``"deg"``, ``"rad"`` or ``"turn"``.
    uv_unit
        Of u and v in a table: ``"lambda"``, ``"klambda"``, ``"Mlambda"`` or ``"Glambda"``.
    columns
        Other names of columns: ``{"amplitude": "RRamp(Jy)"}``; the keys are time, station1, station2, u, v, amplitude,
        phase and sigma.

    Examples
    --------
    >>> from angsync.applications import radio
    >>> radio.simulate(stations=5, slots=4, rng=1).save("night.csv")
    >>> radio.read("night.csv").station
    ('S1', 'S2', 'S3', 'S4', 'S5')
    """
    if isinstance(source, Visibilities):
        return source
    check_unit(unit)
    if uv_unit not in UV_UNITS:
        raise InputError(f"uv_unit must be one of {', '.join(map(repr, UV_UNITS))}, but it is {uv_unit!r}.")
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(f"columns must be a mapping, such as {{'amplitude': 'RRamp(Jy)'}}, but it is {columns!r}.")
    names = dict(columns or {})
    unknown = sorted(set(names) - set(COLUMNS))
    if unknown:
        raise InputError(f"columns names {listed(unknown)}; what can be named is {listed(COLUMNS)}.")
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() in UV_SUFFIXES:
        return _of_uv_file(existing_file(source))
    wanted = [names.get(what, usual[0]) for what, usual in COLUMNS.items() if what in ("station1", "station2")]
    return _of_table(table_of(source, wanted), names, unit, uv_unit)


def _of_table(table: Table, names: Mapping[str, str], unit: str, uv_unit: str) -> Visibilities:
    found = {
        what: table.choose(what, names.get(what), *usual, option=f"columns={{{what!r}: ...}} (--column {what}=NAME)")
        for what, usual in COLUMNS.items()
    }
    number = {what: table.numbers(found[what], missing=True) for what in ("u", "v", "amplitude", "phase", "sigma")}
    negative = number["amplitude"] < 0
    if negative.any():
        k = int(np.argmax(negative))
        raise InputError(
            f"{table.where(k)}, column {found['amplitude']!r}: an amplitude of {number['amplitude'][k]:g} cannot be. "
            "Is this the column of amplitudes?"
        )
    for what in ("amplitude", "sigma"):
        absurd = (number[what] > _MOST) | ((number[what] > 0) & (number[what] < 1 / _MOST) & (what == "sigma"))
        if absurd.any():
            k = int(np.argmax(absurd))
            raise InputError(
                f"{table.where(k)}, column {found[what]!r}: {number[what][k]:g} Jy cannot be. Mend it, or leave the "
                "row out."
            )
    _doubt_unit(number["phase"], unit)
    turns = np.fmod(number["phase"], FULL_TURN[unit]) / FULL_TURN[unit]
    first, second = table.texts(found["station1"]), table.texts(found["station2"])
    warn_of_spellings(Counter([*first, *second]), table.source, "station", "They are taken as two stations.")
    time, labels = _times(table, found["time"])
    data = _gathered(
        time=time,
        first=first,
        second=second,
        u=number["u"] * UV_UNITS[uv_unit],
        v=number["v"] * UV_UNITS[uv_unit],
        value=number["amplitude"] * np.exp(2j * np.pi * turns),
        sigma=number["sigma"],
        labels=labels,
    )
    return data if labels is None else replace(data, time=labels[data.time])


def _times(table: Table, name: str) -> tuple[NDArray, NDArray | None]:
    """Numbers where the first entry is one, and dates where they are dates; of text, such as ISO dates and times of
    day, the places in time, and what stands at each place."""
    raw = table.columns[name]
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "M":
        return raw, None
    texts = table.texts(name)
    try:
        float(texts[0])
    except ValueError:
        key = _clock if all(_CLOCK.fullmatch(text) for text in set(texts)) else _by_numbers
        keys = {text: key(text) for text in dict.fromkeys(texts)}
        place = {value: k for k, value in enumerate(sorted(set(keys.values())))}
        labels = {place[value]: text for text, value in reversed(keys.items())}  # of one time the first text
        return np.array([place[keys[text]] for text in texts]), np.array([labels[k] for k in range(len(place))])
    return table.numbers(name), None


def _clock(text: str) -> tuple[Any, ...]:
    """Seconds of H:MM or H:MM:SS: 8:00 comes before 10:00."""
    parts = [float(part) for part in text.split(":")]
    return (sum(part * 60.0**-k for k, part in enumerate(parts)),)


def _by_numbers(text: str) -> tuple[Any, ...]:
    """Texts in the order of their words and numbers: scan 9 comes before scan 10."""
    parts = _NUMBER.split(text)
    return (*(float(part) if k % 2 else part for k, part in enumerate(parts)), text)


def _doubt_unit(phase: NDArray[np.float64], unit: str) -> None:
    """Warn where degrees look like radians or turns (no phase is larger than one turn of those), and where phases are
    of many turns, as nobody writes them."""
    known = np.abs(phase[np.isfinite(phase)])
    if known.size and known.max() > _MOST_TURNS * FULL_TURN[unit]:
        warn_user(
            f"phases of up to {known.max():.4g} {unit} are more than {_MOST_TURNS} turns: is this the column of "
            "phases, and their unit? Say it with unit (--unit rad, deg or turn) or columns (--column phase=NAME).",
            UnitWarning,
        )
    if unit == "deg" and known.size >= _FEW_ROWS and 0 < known.max() <= 2 * math.pi:
        other = "turn" if known.max() <= 1 else "rad"
        warn_user(
            f"all {known.size} phases are within {known.max():.3g} degrees of 0: are these {other}? They are "
            "treated as degrees.",
            UnitWarning,
            python=f"If so, pass unit={other!r}.",
            command=f"If so, add --unit {other}.",
        )


def _gathered(
    *,
    time: NDArray,
    first: list[str],
    second: list[str],
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    value: NDArray[np.complex128],
    sigma: NDArray[np.float64],
    labels: NDArray | None = None,
) -> Visibilities:
    """Slots and stations numbered, and what cannot be used flagged; ``labels``: the names of times that are places."""
    slots, slot = np.unique(time, return_inverse=True)
    names = sorted({*first, *second})
    place = {name: k for k, name in enumerate(names)}
    i, j = (np.array([place[name] for name in side], dtype=np.int64) for side in (first, second))
    usable = np.isfinite(value) & (np.abs(value) > 0) & np.isfinite(sigma) & (sigma > 0) & np.isfinite(u + v) & (i != j)
    if not usable.any():
        raise InputError(
            f"none of {usable.size} visibilities can be used: in every row a number is missing, the amplitude is 0, "
            "sigma is not positive, or a station is paired with itself."
        )
    slot = slot.astype(np.int64).ravel()
    again = _repeats(slot, i, j, value, usable)
    repeated = int(again.sum())
    if repeated:
        k = int(np.argmax(again))
        when = time[k] if labels is None else labels[time[k]]
        warn_user(
            f"{repeated:,} visibilities are there more than once, with the same time, stations and value, the first "
            f"between {first[k]} and {second[k]} at {when}: they count once, for error bars would shrink for "
            "nothing. Remove the copies.",
            ErrorBarWarning,
        )
    return Visibilities(slots, tuple(names), slot, i, j, u, v, value, sigma, ~usable | again, repeated)


def _repeats(
    slot: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    value: NDArray[np.complex128],
    usable: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Usable rows that an earlier one has already, the other way round or not."""
    rows = np.flatnonzero(usable)
    imaginary = np.where(first < second, value.imag, -value.imag)
    keys = [x[rows] for x in (imaginary, value.real, np.maximum(first, second), np.minimum(first, second), slot)]
    order = np.lexsort(keys)  # stable: of equal rows the first comes first
    same = np.ones(max(0, rows.size - 1), dtype=bool)
    for key in keys:
        same &= np.diff(key[order]) == 0
    again = np.zeros(usable.size, dtype=bool)
    again[rows[order[1:][same]]] = True
    return again


def _of_uv_file(path: Path) -> Visibilities:
    try:
        from pyuvdata import UVData
    except ImportError:
        raise MissingDependencyError("pyuvdata", "radio", f"reading {path}") from None
    with reading(path, "visibilities (UVFITS or uvh5)"):
        data = UVData.from_file(str(path), run_check_acceptability=False)
        codes = [int(code) for code in data.polarization_array]
        hands = next((hands for hands in _PARALLEL_HANDS if set(hands) & set(codes)), None)
        if hands is None:
            raise InputError(f"it holds the polarizations {codes}; Stokes I, RR and LL, or XX and YY are needed.")
        chosen = [codes.index(code) for code in hands if code in codes]
        weight = np.where(data.flag_array, 0.0, data.nsample_array)[:, :, chosen].astype(float)
        total = weight.sum(axis=(1, 2))
        some = total > 0
        summed = np.sum(np.where(weight > 0, data.data_array[:, :, chosen], 0) * weight, axis=(1, 2))
        frequency = np.broadcast_to(np.asarray(data.freq_array).ravel(), weight.shape[:2])
        mean = np.sum(frequency * weight.sum(axis=2), axis=1) / np.where(some, total, 1)
        waves = -data.uvw_array * (mean / _LIGHT_SPEED)[:, None]
        ids = {int(number): str(name) for number, name in _antennas(data)}
        return _gathered(
            time=np.asarray(data.time_array),
            first=[ids[int(k)] for k in data.ant_1_array],
            second=[ids[int(k)] for k in data.ant_2_array],
            u=waves[:, 0],
            v=waves[:, 1],
            # pyuvdata conjugates what it reads and turns u and v round; the stations keep their places. Undone here.
            value=np.where(some, np.conj(summed) / np.where(some, total, 1), np.nan),
            sigma=np.where(some, 1 / np.sqrt(np.where(some, total, 1)), np.nan),
        )


def _antennas(data: Any) -> Any:
    array = data.telescope
    return zip(array.antenna_numbers, array.antenna_names, strict=True)
