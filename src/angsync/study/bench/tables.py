"""The table as a terminal shows it: a block of rows for each problem, columns without a figure left out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import groupby

from angsync.study.bench.rows import Row, Target
from angsync.study.bench.threads import AS_SET, in_words

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_INDENT = "  "


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    # 0.9995: what would round to 1000 of the smaller unit is 1 of the larger
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 0.9995 * size), _UNITS[-1])
    return f"{digits(seconds / size)} {unit}"


def digits(number: float) -> str:
    """Three digits without an exponent; two where it is small."""
    if abs(number) < 0.0995:
        return f"{number:.2g}"
    if abs(number) >= 99.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if abs(number) >= 9.995 else f"{number:.2f}"


def percent(share: float) -> str:
    """Three digits and the sign; what is smaller than the eye needs is only called small."""
    return "<0.01%" if 0 < share < 1e-4 else f"{digits(100 * share)}%"


def _excess(row: Row) -> str:
    if row.excess is None:
        return ""
    return ("0" if row.excess == 0 else f"{row.excess:.0e}") + ("!" if row.agrees is False else "")


def _optional(number: float | None, write: Callable[[float], str]) -> str:
    return "" if number is None else write(number)


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Heading and cells of every column that has a cell."""
    base = _short(next((row.base for row in rows if row.base), ""))
    columns = {
        "method": [row.method for row in rows],
        "time": [_optional(row.seconds, duration) for row in rows],
        f"x {base}": [_optional(row.ratio, digits) for row in rows],
        # where nothing could be chosen the head of the tables says so, once
        "BLAS": [row.threads if row.threads != in_words(AS_SET) else "" for row in rows],
        "proof": [_optional(row.proof, digits) for row in rows],
        "f/best-1": [_excess(row) for row in rows],
        "worse": [_optional(row.worse, percent) for row in rows],
        "products": [_optional(row.products, str) for row in rows],
        "exponent": [_optional(row.exponent, "{:.3f}".format) for row in rows],
        "limit": [_optional(row.limit, percent) for row in rows],
        "note": [row.note for row in rows],
    }
    return {heading: cells for heading, cells in columns.items() if any(cells)}


def table(title: str, rows: Sequence[Row], width: int = 80) -> str:
    """All rows of one group, not wider than ``width`` where the words allow it; targets below."""
    columns = _columns(rows)
    notes = columns.pop("note", [""] * len(rows))
    widths = {heading: max(len(heading), *map(len, cells)) for heading, cells in columns.items()}
    room = width - len(_INDENT) - sum(widths.values())
    gap = "  " if room >= 2 * (len(columns) - 1) + max(map(len, notes)) + 2 else " "

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths.values(), strict=True)
        return _INDENT + gap.join([first[0].ljust(first[1]), *(cell.rjust(size) for cell, size in others)])

    lines = [*textwrap.wrap(title, width), "", line(list(columns)).rstrip()]
    for problem, block in groupby(range(len(rows)), key=lambda k: rows[k].problem):
        members = list(block)
        read = next((rows[k].bandwidth for k in members if rows[k].bandwidth), None)
        lines.append(problem if read is None else f"{problem} (read: {read / 1e9:.1f} GB/s)")
        for k in members:
            text = line([cells[k] for cells in columns.values()])
            fits = len(text) + len(gap) + len(notes[k]) <= width
            lines.append(f"{text}{gap}{notes[k]}".rstrip() if fits else text.rstrip())
            if not fits:
                lines += textwrap.wrap(notes[k], width, initial_indent=2 * _INDENT, subsequent_indent=2 * _INDENT)
    found = targets(rows)
    if found:
        lines += ["", "targets"]
        for text in found:
            lines += textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=2 * _INDENT)
    return "\n".join(lines)


def targets(rows: Sequence[Row]) -> list[str]:
    """One line for each target whose figure was measured."""
    return [
        f"{'met' if target.met(value) else 'missed':<6} {row.problem}, {row.method}: {_wanted(row, target, value)}"
        for row in rows
        for target in row.targets
        if (value := getattr(row, target.figure)) is not None
    ]


def _wanted(row: Row, target: Target, value: float) -> str:
    """Column, figure and bound; the bound as it was set, the figure as the table has it."""
    heading = {"ratio": f"x {_short(row.base)}", "seconds": "time"}.get(target.figure, target.figure)
    figure = {"seconds": duration, "products": "{:.0f}".format, "limit": percent}.get(target.figure, digits)
    bound = {"seconds": duration, "limit": "{:.0%}".format}.get(target.figure, "{:g}".format)
    wanted = f"at least {bound(target.least)}" if target.least is not None else ""
    wanted += f"at most {bound(target.most)}" if target.most is not None else ""
    return f"{heading} {figure(value)} ({wanted})"


def _short(base: str) -> str:
    """`eigh, 2 workers` is a method; `eigh` is enough for a heading."""
    return base.partition(",")[0]
