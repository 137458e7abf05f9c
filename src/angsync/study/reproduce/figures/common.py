"""What the figures of the page share: entries and numbers of a series, marks, captions.

Whoever cannot go by color goes by the shape of the marks, in the same order everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.report.numbers import pretty_number
from angsync.report.series import Curve
from angsync.report.svg import legend_places

Entry = Mapping[str, Any]
SHAPES = ("circle", "square", "triangle", "diamond", "circle", "square")
MOST_CURVES = len(SHAPES)
METHODS = {
    "eigenvector": "eigenvector",
    "gpm": "GPM",
    "sdr": "SDR",
    "sdr_low_rank": "SDR (low rank)",
    "sdr_first_order": "SDR (first order)",
}
SYMBOLS = {"n": "n", "sigma": "σ", "noise": "σ/√n", "alpha": "α", "seed": "seed"}
ROUNDING = 1e-9  # relative; a point is above a line only beyond this


@dataclass(frozen=True)
class PanelFigure:
    """One or several pictures under one caption; a table (its head first) may stand between them."""

    panels: Sequence[tuple[str, str]]
    """Heading and SVG of each."""
    caption: str
    table: Sequence[Sequence[str]] = field(default=())


def number(value: Any) -> float:
    """A float, also from JSON's ways of saying infinite or unknown; NaN where it is neither."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def numbers(values: Any) -> NDArray[np.float64]:
    """A list of numbers, some of them perhaps null."""
    return np.array([number(value) for value in values or ()], dtype=np.float64)


@dataclass(frozen=True)
class Iterates(Curve):
    """A curve over k = 0, 1, ... that remembers what could not be drawn, for comparisons."""

    all_values: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def from_start(values: Any) -> Iterates:
    given = numbers(values)
    shown = np.isfinite(given) & (given > 0)
    return Iterates(
        iteration=np.flatnonzero(shown).astype(float),
        value=given[shown],
        left_out=int((~shown).sum()),
        span=(0.0, float(max(0, given.size - 1))),
        all_values=given,
    )


def looks_of(entries: Sequence[Entry]) -> dict[str, int]:
    """A number for each method, which is its color and its mark: the same for the known ones in every figure."""
    found = dict.fromkeys(str(entry.get("method")) for entry in entries)
    others = [name for name in found if name not in METHODS]
    return {name: k % MOST_CURVES for k, name in enumerate([*METHODS, *others]) if name in found}


def ordered(entries: Sequence[Entry], key: str) -> list[Entry]:
    return sorted(entries, key=lambda entry: number(entry.get(key)))


def names_of(entries: Sequence[Entry], always: Iterable[str] = ()) -> list[str]:
    """What sets each run apart from the others, in few words."""
    keys = [key for key in ("n", "noise", "sigma", "alpha", "seed") if any(key in entry for entry in entries)]
    varying = [key for key in keys if len({str(entry.get(key)) for entry in entries}) > 1]
    if "noise" in keys and "sigma" in varying:  # two ways to say the same
        varying.remove("sigma")
    told = [key for key in keys if key in varying or key in always] or keys[:1]
    return [
        ", ".join(f"{SYMBOLS[key]} = {pretty_number(number(entry.get(key)), 3)}" for key in told) for entry in entries
    ]


def legend_rows(names: Sequence[str], width: float) -> int:
    return 1 + max(row for _, row in legend_places(names, width))


def values_of(entries: Sequence[Entry], key: str) -> list[float]:
    return sorted({value for entry in entries if math.isfinite(value := number(entry.get(key)))})


def setting(entries: Sequence[Entry]) -> str:
    """The parameters of all runs of a figure, each with its values or its range."""
    parts = []
    for key in ("n", "sigma", "noise"):
        values = values_of(entries, key)
        if values and len(values) <= 4:
            parts.append(f"{SYMBOLS[key]} = {', '.join(pretty_number(value, 3) for value in values)}")
        elif values:
            parts.append(f"{SYMBOLS[key]} from {pretty_number(values[0], 3)} to {pretty_number(values[-1], 3)}")
    runs = values_of(entries, "runs")
    if runs:
        span = f"{runs[0]:,.0f}" if len(runs) == 1 else f"{runs[0]:,.0f} to {runs[-1]:,.0f}"
        parts.append(f"{span} simulated problems a point")
    return f"Setting: C = z*z*ᴴ + σW; {'; '.join(parts)}." if parts else ""


def seeds(entries: Sequence[Entry], seed: str) -> str:
    """The seed of the run and, where a figure shows single problems with seeds of their own, those too."""
    own = ", ".join(f"{value:.0f}" for value in values_of(entries, "seed")[:4])
    derived = f", from which the problem's own, {own}" if own and own != seed else ""
    return f"Seed\N{NO-BREAK SPACE}{seed}{derived}."
