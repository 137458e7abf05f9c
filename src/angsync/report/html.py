"""The parts that every HTML page is made of: document, section, badge, table, paragraphs, figure, footer.

A page is complete in itself: its style and, where it has tables to sort or parts that are folded, one script are in it.
Its policy lets a browser load nothing, and run no script but that one, whatever a label holds.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from angsync.report.numbers import pretty_number
from angsync.report.svg import element, escape

Row = Sequence[str]
"""A label, a value and, if wanted, a note."""


def document(title: str, sections: Iterable[str], footer: str) -> str:
    """A whole page."""
    body = "\n".join(sections)
    script = packaged("page.js") if "<details" in body or ' sortable"' in body else ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    allowed = f" script-src 'sha256-{digest}';" if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:;{allowed}"
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{packaged('page.css')}</style>\n"
    )
    end = f"<script>{script}</script>\n" if script else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}</head>\n<body>\n<main>\n{body}\n</main>\n'
        f"{footer}\n{end}</body>\n</html>\n"
    )


@cache
def packaged(name: str) -> str:
    """The text of a file of this room."""
    return resources.files("angsync.report").joinpath(name).read_text(encoding="utf-8")


def header(title: str, *parts: str) -> str:
    """The top of the page: its title, and what stands below it."""
    return "\n".join(("<header>", f"<h1>{escape(title)}</h1>", *parts, "</header>"))


def section(heading: str, content: str) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"


def badge(look: str, mark: str, words: str, tag: str = "li") -> str:
    """A word in a frame, with a mark for those who cannot go by its color."""
    sign = f'<span class="mark" aria-hidden="true">{mark}</span>' if mark else ""
    return f'<{tag} class="badge {look}">{sign}{escape(words)}</{tag}>'


def badges(items: Iterable[str]) -> str:
    """A list of badges."""
    return f'<ul class="badges">{"".join(items)}</ul>'


def paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"\n<p>{escape(sentence)}</p>" for sentence in sentences)


def table_of_rows(rows: Iterable[Row], class_: str) -> str:
    """A table without a head: a label, a value and a note in every row."""
    lines = []
    for row in rows:
        label, value, note = (*row, "")[:3]
        if note:
            cells = f'<td class="value">{escape(value)}</td><td class="note">{escape(note)}</td>'
        else:  # which may be a sentence
            cells = f'<td class="value" colspan="2">{escape(value)}</td>'
        lines.append(f'<tr><th scope="row">{escape(label)}</th>{cells}</tr>')
    return _table(class_, "\n".join(lines))


def capital(row: Row) -> Row:
    """The row with a label as a page writes it."""
    return (row[0][:1].upper() + row[0][1:], *row[1:])


def table_with_head(names: Iterable[str], body: str, class_: str) -> str:
    """A table whose columns have names; ``body`` is its rows in HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return _table(class_, body, f"<thead><tr>{head}</tr></thead>")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length for a table that readers can sort, the most important row first."""

    columns: Mapping[str, Any]
    caption: str = ""
    order: str = "first"
    """How the rows that are shown were chosen, where not all are: ``first``, ``worst``, ``least sure``."""
    of: int | None = None
    """How many rows there would be, where the columns hold only some."""


def sortable_table(table: Table, most: int) -> str:
    """The first ``most`` rows, whose columns can be sorted by a click or by keyboard."""
    columns = {name: np.asarray(column) for name, column in table.columns.items()}
    length = len(next(iter(columns.values()), ()))
    listed, total = min(length, most), max(length, table.of or 0)
    body = "\n".join("<tr>" + "".join(_cell(column[k]) for column in columns.values()) + "</tr>" for k in range(listed))
    head = "".join(
        f'<th scope="col"{" class=" + chr(34) + "number" + chr(34) if column.dtype.kind in "iuf" else ""}>'
        f"{escape(name)}</th>"
        for name, column in columns.items()
    )
    shown = f"All {total:,} rows." if listed == total else f"The {table.order} {listed:,} of {total:,}."
    words = " ".join(part for part in (table.caption, shown if total > 1 else "") if part)
    caption = f'<p class="note">{escape(words)}</p>' if words else ""
    return caption + _table("columns sortable", body, f"<thead><tr>{head}</tr></thead>", escape(words or "table"))


def _cell(value: Any) -> str:
    if isinstance(value, np.bool_ | bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, np.integer | int):
        return f'<td class="number" data-v="{int(value)}">{int(value)}</td>'
    if isinstance(value, np.floating | float):
        known = bool(np.isfinite(value))
        shown = pretty_number(float(value), 4) if known else "–"
        return f'<td class="number" data-v="{float(value) if known else "NaN"}">{shown}</td>'
    return f"<td>{escape(value)}</td>"


def folded(heading: str, content: str, *, is_open: bool = False) -> str:
    """What is shown when asked for, and in print."""
    return f"<details{' open' if is_open else ''}><summary>{escape(heading)}</summary>\n{content}\n</details>"


def verdict(look: str, sentence: str) -> str:
    """What the page says, in one sentence."""
    return f'<p class="verdict {look}">{escape(sentence)}</p>'


def preformatted(words: str) -> str:
    return f'<pre tabindex="0">{escape(words)}</pre>'


def _table(class_: str, body: str, head: str = "", label: str = "") -> str:
    # a table that is too wide or too long scrolls by itself, with the keys too
    frame = f'"table tall" tabindex="0" role="region" aria-label="{label}"' if label else '"table"'
    return f'<div class={frame}><table class="{class_}">{head}<tbody>\n{body}\n</tbody></table></div>'


def figure(drawn: str, caption: str, class_: str = "") -> str:
    """A picture and what it shows."""
    named = f' class="{class_}"' if class_ else ""
    return f"<figure{named}>\n{drawn}\n{element('figcaption', escape(caption))}\n</figure>"


def footer(maker: str, settings: Iterable[str], *more: str) -> str:
    """Who made the page and with what; ``more`` are further sentences."""
    lines = [f"Made by {maker}. This page is complete in itself: it loads nothing."]
    told = "; ".join(settings)
    if told:
        lines.append(f"Settings: {told}.")
    return "\n".join(("<footer>", *(f"<p>{escape(line)}</p>" for line in (*lines, *more)), "</footer>"))
