"""Results as plain text: the answer first, then what is proved about it, then how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.units import in_unit
from angsync.report.sentences import judge_proof, verdict_line
from angsync.report.series import errors_and_doubts

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

_ENDS = 5  # rows that are shown from each end of a long table
_MOST_WITH_ERRORS = 500  # nodes up to which printing works out standard errors: 0.1 s at this size
_WIDEST_NAME = 30
_PLACES = {"rad": 6, "deg": 4, "turn": 7}


def text_table(columns: Mapping[str, Sequence[str]], left: int = 1) -> str:
    """Return columns of text below their names: the first ``left`` are flush left, the others flush right."""
    sides = [str.ljust if k < left else str.rjust for k in range(len(columns))]
    cells = [[name, *column] for name, column in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    rows = zip(*cells, strict=True)
    return "\n".join(
        "  " + "  ".join(side(text, width) for side, text, width in zip(sides, row, widths, strict=True)).rstrip()
        for row in rows
    )


def shortened(columns: Mapping[str, Any], write: Mapping[str, Any] | None = None) -> str:
    """Return a table of the first and the last rows of some columns; ``write`` makes text of an entry of a column."""
    write, count = write or {}, len(next(iter(columns.values())))
    left_out = count - 2 * _ENDS
    shown = range(count) if left_out <= 1 else [*range(_ENDS), *range(count - _ENDS, count)]
    rows = {name: [write.get(name, _entry)(column[k]) for k in shown] for name, column in columns.items()}
    lines = text_table(rows).splitlines()
    if left_out > 1:
        lines.insert(1 + _ENDS, f"  ... {left_out:,} more")
    return "\n".join(lines)


def phases_text(result: SyncResult, errors: NDArray[np.float64] | None, unit: str = "rad") -> str:
    """Return the phases, with standard errors (radians) if given; first and last ones of many nodes."""
    labels = range(result.n) if result.labels is None else result.labels
    columns: dict[str, Any] = {"node": labels, f"angle ({unit})": result.angles}
    if errors is not None:
        columns["standard error"] = errors
    if int(result.components.max(initial=0)) > 0:
        columns["part"] = result.components
    write = {
        "node": short_name,
        f"angle ({unit})": lambda angle: _angle(float(angle), unit),
        "standard error": lambda error: f"{in_unit(float(error), unit):.3g}" if math.isfinite(error) else "-",
    }
    return shortened(columns, write)


def facts_of(result: SyncResult) -> list[tuple[str, str]]:
    """Return the objective, the status and how the phases were found, by label."""
    rows = [
        ("objective", f"{result.objective:.12g}"),
        ("status", f"{result.status.name}: {result.message}"),
        ("method", result.method),
        ("work", f"{result.iterations} iterations, {result.matvecs} products with C, {result.seconds:.3g} s; "
         f"gradient {result.residual:.1e}"),
    ]  # fmt: skip
    more = {"starts": result.starts, "robust": result.robust}
    return rows + [(label, str(value)) for label, value in more.items() if value is not None]


def work_text(result: SyncResult) -> str:
    """Return the proof and :func:`facts_of`, one labeled line for each."""
    rows = [("proof", judge_proof(result).words), *facts_of(result)]
    return "\n".join(f"  {label:<12} {value}" for label, value in rows)


def result_text(result: SyncResult) -> str:
    """Return what ``print(result)`` shows."""
    errors, doubts = errors_and_doubts(result) if result.n <= _MOST_WITH_ERRORS else (None, [])
    known = None if errors is None or errors.missing else np.radians(errors.degrees)
    count = int(result.components.max(initial=0)) + 1
    pieces = f" in {count} components" if count > 1 else ""
    title = f"phases of {result.n} node{'s' * (result.n != 1)}{pieces}"
    return "\n\n".join([
        f"{title}\n{phases_text(result, known)}" if result.n else title,
        "\n".join([verdict_line(result), *doubts]),
        work_text(result),
    ])  # fmt: skip


def short_name(label: Any) -> str:
    """Return the name of a node, cut to the width of a column."""
    text = str(label)
    return text if len(text) <= _WIDEST_NAME else text[: _WIDEST_NAME - 3] + "..."


def _entry(value: Any) -> str:
    if isinstance(value, Integral) or not isinstance(value, Real):
        return str(value)
    return f"{value:.5g}" if math.isfinite(value) else "-"


def _angle(value: float, unit: str) -> str:
    text = f"{in_unit(value, unit):.{_PLACES[unit]}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text  # no minus before a zero
