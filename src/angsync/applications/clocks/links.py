"""Links between clocks: who was compared with whom, the offset that was read, how well, and when."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.spelling import warn_of_spellings
from angsync.errors import InputError, ShapeError, UnitWarning, warn_user
from angsync.io.failures import listed
from angsync.io.table import Table, table_of
from angsync.problem.measurements import Measurements

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "d": 86400.0}
"""Units of time, in seconds."""
_ABSURD = 3e11  # seconds, 9,500 years: above the Julian days of today, below Unix times in milliseconds since 1980
_MJD = 51544, 69807  # modified Julian days of 2000 to 2050
_JULIAN = 2400000.5  # the Julian day on which they begin
_TABLE_DAYS = 5  # between two rows of the tables of offsets that are published in these days
_PTP_IDENTITY = re.compile(r"[0-9a-f]{6}\.[0-9a-f]{4}\.[0-9a-f]{6}", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Links:
    """Measured offsets between clocks, one entry each: ``offset[k]`` is the time of clock i minus that of clock j."""

    clocks: tuple[Hashable, ...]
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    offset: NDArray[np.float64]
    sigma: NDArray[np.float64] | None = None
    """Standard deviations of the offsets, where they are known."""
    time: NDArray[np.float64] | None = None
    """When each was measured, in ``time_unit``; needed for skews."""
    delay: NDArray[np.float64] | None = None
    """Round trips, where the offsets come from exchanges of messages."""
    unit: str | None = None
    """Of offset, sigma and delay: ns, us, ms or s; None where nobody said."""
    time_unit: str = "s"
    notes: tuple[str, ...] = ()
    """What the reader found, for the result to say."""
    missing: NDArray[np.bool_] | None = None
    """One for each row that was given: masked, and so none of these links. None: every row is one."""

    def __len__(self) -> int:
        return int(self.offset.size)

    def __repr__(self) -> str:
        return f"Links({len(self)} offsets between {self.n} clocks, unit {self.unit})"

    @property
    def n(self) -> int:
        return len(self.clocks)

    def by_row(self, values: NDArray, nothing: Any) -> NDArray:
        """Values of the links for the rows that were given, ``nothing`` where those are masked."""
        if self.missing is None:
            return values
        found = np.full(self.missing.size, nothing, dtype=values.dtype)
        found[~self.missing] = values
        return found

    def by_link(self, values: NDArray) -> NDArray:
        """The other way round."""
        return values if self.missing is None else values[~self.missing]

    def to(self, unit: str) -> Links:
        """The same in another unit; where none is known, it is declared to be this one."""
        check_unit(unit)
        if self.unit is None or self.unit == unit:
            return replace(self, unit=unit)
        factor = UNITS[self.unit] / UNITS[unit]
        sigma, delay = (None if x is None else x * factor for x in (self.sigma, self.delay))
        return replace(self, offset=self.offset * factor, sigma=sigma, delay=delay, unit=unit)


def check_unit(unit: str | None, what: str = "unit") -> None:
    if unit is not None and unit not in UNITS:
        raise InputError(f"{what} must be one of {', '.join(UNITS)}, not {unit!r}.")


def check_times(time: NDArray[np.float64], unit: str) -> None:
    """Refuse times that cannot be in this unit, and warn of those that are likely to be in another."""
    largest = float(np.abs(time).max())
    if largest * UNITS[unit] > _ABSURD:
        finer = max((one for one in UNITS if largest * UNITS[one] < _ABSURD), key=UNITS.__getitem__, default="ns")
        raise InputError(
            f"times go up to {largest:.4g} {unit}, more than 9,500 years. If they count from 1970, pass "
            f"time_unit='{finer}' (--time-unit {finer}); otherwise the unit that they are in ({', '.join(UNITS)})."
        )
    first, last = (day - _JULIAN * (day > _JULIAN) for day in (time.min(), time.max()))
    close = np.median(np.diff(np.unique(time))) <= _TABLE_DAYS
    if unit == "s" and _MJD[0] <= first and last < _MJD[1] and close:
        warn_user(
            f"times are {time.min():.9g} to {time.max():.9g}: are these (modified) Julian days? Then pass "
            "time_unit='d' (--time-unit d). They are taken as seconds.",
            UnitWarning,
        )


def from_columns(
    i: Any,
    j: Any,
    offset: ArrayLike,
    sigma: ArrayLike | None,
    time: ArrayLike | None,
    unit: str | None,
    time_unit: str,
    n: int | None = None,
) -> Links:
    """Links from arrays; whole numbers are the places of the clocks, other names are kept as they are.

    Masked entries are missing: such rows are no links, but their clocks are there.
    """
    ends_given = {"i": i, "j": j}
    missing = _masked(ends_given | {"offset": offset, "sigma": sigma, "time": time})
    nowhere = _masked(ends_given)
    if missing is not None:
        named = np.ones(missing.size, dtype=bool) if nowhere is None else ~nowhere
        i, j = _some(i, named), _some(j, named)
        offset, sigma, time = _some(offset, ~missing), _some(sigma, ~missing), _some(time, ~missing)
    y = _numbers(offset, "offset")
    ends = y.size if missing is None else int(np.count_nonzero(named))
    if not len(i) == len(j) == ends:
        raise ShapeError(
            f"i, j and offset must have the same length, but they have {len(i)}, {len(j)} and {ends}. Give each link "
            "one offset."
        )
    graph = Measurements(i, j, np.zeros(ends), n=n)  # names, numbers, and clocks compared with themselves
    clocks: tuple[Hashable, ...] = tuple(range(graph.n)) if graph.labels is None else graph.labels
    first, second = graph.i, graph.j
    if missing is not None:
        first, second = first[~missing[named]], second[~missing[named]]
    times = None if time is None else _numbers(time, "time", y.size)
    return Links(
        clocks, first, second, y, _deviations(sigma, y.size), times, None, unit, time_unit, missing=missing,
        notes=() if missing is None else (f"{np.count_nonzero(missing):,} of {missing.size:,} rows are masked.",),
    )  # fmt: skip


def _some(values: Any, chosen: NDArray[np.bool_]) -> Any:
    """Those rows of a column; what is no column stays as it is."""
    return values if values is None or np.ndim(values) == 0 else np.ma.getdata(np.ma.asarray(values))[chosen]


def _masked(columns: dict[str, Any]) -> NDArray[np.bool_] | None:
    """Rows with a masked entry in any of the columns; None where there is none."""
    masks = {name: np.ma.getmaskarray(x) for name, x in columns.items() if np.ma.isMaskedArray(x)}
    sizes = {name: np.shape(x) for name, x in columns.items() if x is not None and np.ndim(x)}
    if not any(mask.any() for mask in masks.values()):
        return None
    if len(set(sizes.values())) > 1:
        raise InputError(f"the columns have different lengths: {', '.join(f'{k} {v}' for k, v in sizes.items())}.")
    return np.asarray(np.logical_or.reduce([mask for mask in masks.values() if mask.ndim]), dtype=bool)


def _numbers(values: Any, name: str, size: int | None = None) -> NDArray[np.float64]:
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one a link.") from None
    if numbers.ndim != 1 or (size is not None and numbers.size != size):
        wanted = "one-dimensional" if size is None else f"{size} numbers, one a link"
        raise InputError(f"{name} must be {wanted}, but its shape is {numbers.shape}.")
    if numbers.size == 0:
        raise InputError("there are no links.")
    if not np.isfinite(numbers).all():
        k = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"{name}[{k}] is {numbers[k]}: leave out what was not measured.")
    return numbers


def _deviations(sigma: ArrayLike | None, size: int) -> NDArray[np.float64] | None:
    if sigma is None:
        return None
    values = np.full(size, float(np.asarray(sigma))) if np.ndim(sigma) == 0 else _numbers(sigma, "sigma", size)
    if not (np.isfinite(values) & (values > 0)).all():
        k = int(np.argmin(np.isfinite(values) & (values > 0)))
        raise InputError(
            f"sigma[{k}] is {values[k]}: a standard deviation is positive and finite. Leave sigma out where it is not "
            "known: it is then estimated."
        )
    return values


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are called; None looks for the usual names."""

    i: str | None = None
    j: str | None = None
    offset: str | None = None
    sigma: str | None = None
    time: str | None = None


def from_table(source: Any, columns: Columns, unit: str | None, time_unit: str) -> Links:
    """Links from a table with the columns i, j and offset, and perhaps sigma and time.

    A column ``offset_us`` (or ``_ns``, ``_ms``, ``_s``) says its unit.
    """
    table = table_of(source, ("i", "j", "offset"))
    first, second = end_names(table, columns.i, columns.j)
    suffixes = tuple(f"offset_{one}" for one in UNITS)
    name = table.choose("the offset", columns.offset, "offset", *suffixes, option="--offset")
    said = name.casefold().rpartition("_")[2] if name.casefold() in suffixes else None
    y = table.numbers(name)
    sigma = _optional(table, columns.sigma, "sigma", *(f"sigma_{said}",) if said else ())
    if sigma is not None and not (sigma > 0).all():
        k = int(np.argmin(sigma > 0))
        raise InputError(f"{table.where(k)}: sigma is {sigma[k]:g}, but a standard deviation is positive.")
    time = _optional(table, columns.time, "time")
    clocks, i, j = numbered(table, first, second)
    unused = [one for one in table.names if one not in table.used]
    notes = (f"Columns that were not used: {listed(unused)}.",) if unused else ()
    links = Links(clocks, i, j, y, sigma, time, None, said or unit, time_unit, notes)
    return links if unit is None else links.to(unit)


def _optional(table: Table, given: str | None, *usual: str) -> NDArray[np.float64] | None:
    if given is None and not any(name.casefold() in usual for name in table.names):
        return None
    return table.numbers(table.choose(usual[0], given, *usual, option=f"--{usual[0]}"))


def end_names(table: Table, i: str | None, j: str | None) -> tuple[list[str], list[str]]:
    """The names of the two clocks of every row."""
    first = table.choose("the first clock", i, "i", "from", "clock_i", "client", option="--i")
    second = table.choose("the second clock", j, "j", "to", "clock_j", "server", option="--j")
    return table.texts(first), table.texts(second)


def numbered(
    table: Table, first: Sequence[str], second: Sequence[str]
) -> tuple[tuple[Hashable, ...], NDArray[np.int64], NDArray[np.int64]]:
    """Names, and the places of both ends among them; complains of a clock compared with itself."""
    for k, (one, other) in enumerate(zip(first, second, strict=True)):
        if one == other:
            raise InputError(f"{table.where(k)}: clock {one!r} is compared with itself. Mend a name, or leave it out.")
    return number_names(first, second, table.source)


def number_names(
    first: Sequence[str], second: Sequence[str], source: str
) -> tuple[tuple[Hashable, ...], NDArray[np.int64], NDArray[np.int64]]:
    """Names in their order (numbers by size), and places; warns of names that may be one clock in two spellings."""
    count = Counter([*first, *second])
    named = Counter({name: k for name, k in count.items() if not _is_address(name)})
    warn_of_spellings(named, source, "clock", "They are taken as two clocks.")
    names = list(dict.fromkeys(name for pair in zip(first, second, strict=True) for name in pair))
    if all(name.isdecimal() for name in names):
        names.sort(key=int)
    place = {name: k for k, name in enumerate(names)}
    i, j = (np.array([place[name] for name in ends], dtype=np.int64) for ends in (first, second))
    return tuple(names), i, j


def _is_address(name: str) -> bool:
    """Addresses that look alike are no typing mistakes."""
    if _PTP_IDENTITY.fullmatch(name):
        return True
    try:
        ipaddress.ip_address(name.partition(" ")[0])
    except ValueError:
        return False
    return True


def joined(parts: Sequence[Links], sources: Sequence[str] | None = None) -> Links:
    """Several lists as one: clocks of the same name are the same clock; ``sources`` are what they are called."""
    called = sources or [f"list {k + 1}" for k in range(len(parts))]
    _refuse_mixed(called, [part.unit is not None for part in parts], "does not say its unit", "does. "
                  "Say what unit those without one are in: unit (--unit).")  # fmt: skip
    _refuse_mixed(called, [part.sigma is not None for part in parts], "has no column sigma", "has. "
                  "Give every list its standard deviations, or leave them out everywhere.")  # fmt: skip
    names = tuple(dict.fromkeys(name for part in parts for name in part.clocks))
    place = {name: k for k, name in enumerate(names)}
    moved = [np.array([place[name] for name in part.clocks], dtype=np.int64) for part in parts]
    first = parts[0]
    parts = [part if first.unit is None else part.to(first.unit) for part in parts]

    def all_of(columns: list[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
        known = [column for column in columns if column is not None]
        return np.concatenate(known) if len(known) == len(columns) else None

    dropped = []
    for column, plural in (("time", "times"), ("delay", "round trips")):
        lacking = [name for name, part in zip(called, parts, strict=True) if vars(part)[column] is None]
        if 0 < len(lacking) < len(parts):
            dropped.append(f"{', '.join(lacking)}: no {plural}, so those of the other files were not used.")
    return Links(
        names,
        np.concatenate([at[part.i] for at, part in zip(moved, parts, strict=True)]),
        np.concatenate([at[part.j] for at, part in zip(moved, parts, strict=True)]),
        np.concatenate([part.offset for part in parts]),
        all_of([part.sigma for part in parts]),
        all_of([part.time for part in parts]),
        all_of([part.delay for part in parts]),
        first.unit,
        first.time_unit,
        (*dict.fromkeys(note for part in parts for note in part.notes), *dropped),
    )


def _refuse_mixed(called: Sequence[str], has: Sequence[bool], lacks: str, other: str) -> None:
    """What some lists say and others do not cannot be guessed."""
    if any(has) and not all(has):
        raise InputError(f"{called[has.index(False)]} {lacks}, but {called[has.index(True)]} {other}")
