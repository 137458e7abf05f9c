"""The table as a terminal shows it: a block of rows for each problem, columns without a figure left out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import groupby

from angsync.report.numbers import brief_duration, percent, three_digits
from angsync.study.bench.rows import Row
from angsync.study.bench.threads import AS_SET, in_words

_INDENT = "  "


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
        "time": [_optional(row.seconds, brief_duration) for row in rows],
        f"x {base}": [_optional(row.ratio, three_digits) for row in rows],
        # where nothing could be chosen the head of the tables says so, once
        "BLAS": [row.threads if row.threads != in_words(AS_SET) else "" for row in rows],
        "proof": [_optional(row.proof, three_digits) for row in rows],
        "f/best-1": [_excess(row) for row in rows],
        "worse": [_optional(row.worse, percent) for row in rows],
        "products": [_optional(row.products, str) for row in rows],
        "exponent": [_optional(row.exponent, "{:.3f}".format) for row in rows],
        "limit": [_optional(row.limit, percent) for row in rows],
        "note": [row.note for row in rows],
    }
    return {heading: cells for heading, cells in columns.items() if any(cells)}


def table(title: str, rows: Sequence[Row], width: int = 80) -> str:
    """All rows of one group, not wider than ``width`` where the words allow it."""
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
    return "\n".join(lines)


def _short(base: str) -> str:
    """`eigh, 2 workers` is a method; `eigh` is enough for a heading."""
    return base.partition(",")[0]
