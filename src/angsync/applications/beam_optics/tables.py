"""Tables of phase advances between beam position monitors, in turns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, UnitWarning, names_keywords, warn_user
from angsync.io.table import Table, table_of
from angsync.io.tfs_file import read_tfs
from angsync.problem.units import FULL_TURN, check_unit

TUNES = {"X": "Q1", "Y": "Q2"}
"""The header that holds the tune of each plane."""
_FEW_ROWS = 20  # of fewer phases that all are small nobody can say whether they are degrees
_MOST_ERROR = 1e30  # turns, and one over it the least: squares of such numbers say nothing any more
_SAME_MODEL = 1e-3  # turns between the model of a row and that of its monitors


@dataclass(frozen=True, eq=False)
class PhaseTable:
    """Rows ``phase = phase of first - phase of second``, whichever way round the file has them."""

    plane: str
    """X or Y."""
    first: tuple[str, ...]
    second: tuple[str, ...]
    phase: NDArray[np.float64]
    """Turns."""
    error: NDArray[np.float64]
    """Standard error, turns; NaN where there is none."""
    place: Mapping[str, float] = field(repr=False)
    """s of the monitors, meters."""
    model: Mapping[str, float] = field(repr=False)
    """Phase of the model at the monitors, turns; empty where the table has none."""
    tune: float | None
    """Fractional tune from the headers."""
    source: str
    left_out: int = 0
    """Rows without a phase, and those of a monitor against itself."""
    headers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    assumed: str = ""
    """The direction that rows were taken to have, in a sentence, where the model does not decide it."""

    def __len__(self) -> int:
        return len(self.first)


@names_keywords
def read(*sources: Any, plane: str | None = None, unit: str = "turn") -> tuple[PhaseTable, ...]:
    """Phase tables of omc3 (``phase_x.tfs``, ``total_phase_x.tfs``): paths of TFS files, or data frames of tfs-pandas.

    Parameters
    ----------
    plane
        ``"x"`` or ``"y"``; unless given, the plane whose columns are there.
    unit
        Of the phases and their errors: ``"turn"``, ``"rad"`` or ``"deg"``.

    Examples
    --------
    >>> from angsync.applications import beam_optics
    >>> paths = beam_optics.simulate(10, rng=0).save(".")
    >>> [table.plane for table in beam_optics.read(*paths)]
    ['X', 'X']
    """
    if not sources:
        raise InputError("no table was named: read(path, ...).")
    check_unit(unit)
    if plane is not None and plane not in ("x", "y", "X", "Y"):
        raise InputError(f"plane must be 'x' or 'y', but it is {plane!r}.")
    found = []
    for source in sources:
        if isinstance(source, PhaseTable):
            found.append(source)
        elif isinstance(source, (str, os.PathLike)):
            headers, table = read_tfs(source)
            found.append(_table(table, headers, plane, unit))
        else:
            found.append(_table(table_of(source), _headers(source), plane, unit))
    return tuple(found)


def _headers(frame: Any) -> Mapping[str, Any]:
    """Of a data frame of tfs-pandas; nothing of another one."""
    try:
        headers = frame.headers
    except AttributeError:
        return {}
    return headers if isinstance(headers, Mapping) else {}


def _table(table: Table, headers: Mapping[str, Any], plane: str | None, unit: str) -> PhaseTable:
    planes = [name for name in ("X", "Y") if f"PHASE{name}" in table]
    if plane is not None:
        planes = [plane.upper()]
    if len(planes) != 1:
        there = "a column PHASEX and a column PHASEY" if planes else "no column PHASEX or PHASEY"
        raise InputError(
            f"{table.source}: there is {there}; the columns are {', '.join(table.names)}. "
            "Name the plane: plane='x' or plane='y' (--plane)."
        )
    letter = planes[0]
    names = [table.choose(what, None, column) for what, column in (
        ("the first monitor", "NAME"), ("the second monitor", "NAME2"), ("the phase advance", f"PHASE{letter}"),
        ("its standard error", f"ERRPHASE{letter}"),
    )]  # fmt: skip
    first, second = table.texts(names[0]), table.texts(names[1])
    phase, error = (table.numbers(name, missing=True) * (1 / FULL_TURN[unit]) for name in names[2:])
    _check_error(table, names[3], error)
    _doubt_unit(table, phase, unit)
    place = _by_monitor(table, "S", first) | _by_monitor(table, "S2", second)
    model = _by_monitor(table, f"MU{letter}MDL", first)
    decided = _is_forward(table, letter, first, second, model)
    forward = _is_of_neighbors(table, first, second) if decided is None else decided
    if forward:
        phase = -phase
    if decided is not None:
        _complete(model, table, letter, first, second, -1 if forward else 1)
    kept = np.isfinite(phase) & np.array([a != b for a, b in zip(first, second, strict=True)])
    tune = headers.get(TUNES[letter])
    return PhaseTable(
        plane=letter,
        first=tuple(name for name, used in zip(first, kept, strict=True) if used),
        second=tuple(name for name, used in zip(second, kept, strict=True) if used),
        phase=phase[kept],
        error=np.where(error[kept] > 0, error[kept], np.nan),
        place=place,
        model=model,
        tune=float(tune) % 1 if isinstance(tune, (int, float)) and np.isfinite(tune) else None,
        source=table.source,
        left_out=int(np.sum(~np.isfinite(phase))),
        headers=dict(headers),
        assumed=_assumption(table, forward) if decided is None else "",
    )


def _by_monitor(table: Table, column: str, names: list[str]) -> dict[str, float]:
    if column not in table:
        return {}
    numbers = table.numbers(column, missing=True)
    return {name: float(x) for name, x in zip(names, numbers, strict=True) if np.isfinite(x)}


def _is_forward(
    table: Table, letter: str, first: list[str], second: list[str], model: Mapping[str, float]
) -> bool | None:
    """Whether rows are NAME2 less NAME (neighbors), not NAME less NAME2 (against one monitor): told by the model in
    the rows beside the model at the monitors. None where it does not decide."""
    column = f"PHASE{letter}MDL"
    if column not in table or not model:
        return None
    rows = table.numbers(column, missing=True)
    step = np.array([model.get(b, np.nan) - model.get(a, np.nan) for a, b in zip(first, second, strict=True)])
    ahead, back = (np.abs((rows - sign * step + 0.5) % 1 - 0.5) < _SAME_MODEL for sign in (1, -1))
    votes = int(np.sum(ahead & ~back)) - int(np.sum(back & ~ahead))
    return votes > 0 if votes else None


def _is_of_neighbors(table: Table, first: list[str], second: list[str]) -> bool:
    """Whether it looks like a table of neighbors. Total tables are called so, or have a monitor against itself, or
    few monitors that are second."""
    if "total" in os.path.basename(table.source).lower() or any(a == b for a, b in zip(first, second, strict=True)):
        return False
    return 2 * len(set(second)) >= len({*first, *second})


def _assumption(table: Table, forward: bool) -> str:
    kind, rule = ("neighbors", "NAME2 less NAME") if forward else ("total phases", "NAME less NAME2")
    return (
        f"The model does not tell the direction of the phases of {table.source}: rows are taken as {rule}, as in TFS "
        f"tables of {kind}. If that is wrong, all its phases have the wrong sign: give the model (MU*MDL of both "
        "monitors, PHASE*MDL)."
    )


def _complete(
    model: dict[str, float], table: Table, letter: str, first: list[str], second: list[str], sign: int
) -> None:
    """The model at monitors that are only second, from the model in the rows."""
    column = f"PHASE{letter}MDL"
    if column in table:
        for a, b, step in zip(first, second, table.numbers(column, missing=True).tolist(), strict=True):
            if a in model and b not in model and np.isfinite(step):
                model[b] = model[a] - sign * step


def _check_error(table: Table, column: str, error: NDArray[np.float64]) -> None:
    if (error < 0).any():
        row = int(np.argmax(error < 0))
        raise InputError(f"{table.where(row)}, column {column!r}: a standard error of {error[row]:g} cannot be.")
    absurd = (error > 0) & ((error > _MOST_ERROR) | (error < 1 / _MOST_ERROR))
    if absurd.any():
        row = int(np.argmax(absurd))
        raise InputError(
            f"{table.where(row)}, column {column!r}: a standard error of {error[row]:g} turns cannot be. Mend it, or "
            "leave the row out."
        )
    if not (error > 0).any():
        raise InputError(
            f"{table.source}, column {column!r}: no row has a standard error above 0. Phases need weights."
        )


def _doubt_unit(table: Table, phase: NDArray[np.float64], unit: str) -> None:
    size = np.abs(phase[np.isfinite(phase)])
    given = size * FULL_TURN[unit]
    if unit == "deg" and size.size >= _FEW_ROWS and 0 < given.max() <= 2 * np.pi:
        other = "turn" if given.max() <= 1 else "rad"
        warn_user(
            f"{table.source}: all {size.size} phases are within {given.max():.3g} degrees of 0: are these {other}? "
            "They are treated as degrees.",
            UnitWarning,
            python=f"If so, pass unit={other!r}.",
            command=f"If so, add --unit {other}.",
        )
    if unit == "turn" and size.size and np.mean(size > 1) > 0.5:
        other = "deg" if size.max() > 2 * np.pi else "rad"
        warn_user(
            f"{table.source}: most phases exceed one turn, the largest is {size.max():.4g}: are these {other}? "
            "They are treated as turns.",
            UnitWarning,
            python=f"If so, pass unit={other!r}.",
            command=f"If so, add --unit {other}.",
        )
