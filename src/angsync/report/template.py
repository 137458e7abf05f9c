"""The one page that every result has: what to think of it, the answer, misfits, the proof, and how it was found.

One self-contained HTML file, for the screen, light and dark, and for print. Its style and its one script are in it; its
policy lets a browser load nothing, and run no script but that one, whatever a label holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from angsync.io.strict_json import cleaned
from angsync.report.canvas import HEIGHT, WIDTH, allowed, figure_of, svg_of
from angsync.report.numbers import pretty_number, typeset
from angsync.report.pictures import Row, Table
from angsync.report.provenance import angsync_version
from angsync.report.sentences import Judgment, sentence_on_top, worse

MOST_WORST = 30
"""Measurements in the table of those that fit worst."""
MOST_LISTED = 200
"""Rows of the table of all that was found."""
_TALL = 1.3  # times the usual height
_MARKS = {"good": "✓", "bad": "✗", "open": "!", "none": "–"}


@dataclass(frozen=True)
class Figure:
    """Markup of the picture, and its caption as plain text."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Page:
    """What one page holds, from top to bottom. Every part that is empty is left out."""

    title: str
    proof: Judgment
    fit: Judgment
    answer_in_words: str = ""
    """What was found, in a sentence before those on proof and fit."""
    warnings: Sequence[str] = ()
    """Badges of their own: what went wrong on the way, such as a solver that did not converge."""
    notes: Sequence[str] = ()
    """What the reader has to know beyond the numbers."""
    answer: Sequence[Figure] = ()
    answer_words: Sequence[str] = ()
    table: Table | None = None
    rows: Sequence[Row] = ()
    residuals: Sequence[Figure] = ()
    worst: Table | None = None
    weak_spots: Sequence[str] = ()
    proof_rows: Sequence[Row] = ()
    work: Sequence[str] = ()
    convergence: Sequence[Figure] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The answer, and both judgments of it."""
        return f"{self.answer_in_words} {sentence_on_top(self.proof, self.fit)}".strip()


def compose(page: Page) -> str:
    """The page as text."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, finalize=_allowed, loader=jinja2.FunctionLoader(packaged), undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )  # fmt: skip
    script = packaged("page.js")
    return environment.get_template("page.html.j2").render(
        page=page, proved=typeset(page.proof.words), marks=_MARKS,
        look=worse(page.proof.look, page.fit.look, *("open" for _ in page.warnings)),
        answer_table=_shown(page.table, MOST_LISTED), worst_table=_shown(page.worst, MOST_WORST),
        provenance=json.dumps(cleaned(page.provenance), indent=2, allow_nan=False, ensure_ascii=False),
        style=Markup(packaged("page.css")), script=Markup(script), version=angsync_version(),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
    )  # fmt: skip


def drawn(
    name: str, title: str, caption: str, paint: Callable[[Any], object], *, tall: bool = False, polar: bool = False
) -> Figure:
    """A figure for a page, within :func:`~angsync.report.canvas.page_style`; ``paint`` draws into its axes.

    ``name`` is its own on the page; figures with many rows, or a map, are ``tall``.
    """
    from markupsafe import Markup

    figure = figure_of(None, WIDTH, HEIGHT * (_TALL if tall else 1))
    paint(figure.add_subplot(polar=polar))
    return Figure(Markup(svg_of(figure, title, name)), caption)


def capital(row: Row) -> tuple[str, str, str]:
    """The row with a label as a page writes it, and a note that may be empty."""
    label, value, note = (*row, "")[:3]
    return label[:1].upper() + label[1:], value, note


@cache
def packaged(name: str) -> str:
    """The text of a file of this package."""
    return resources.files("angsync.report").joinpath(name).read_text(encoding="utf-8")


def _allowed(value: Any) -> Any:
    return allowed(value) if type(value) is str else value


def _shown(table: Table | None, most: int) -> dict[str, Any] | None:
    """The first ``most`` rows, for the template."""
    columns = {} if table is None else {name: np.asarray(column) for name, column in table.columns.items()}
    length = len(next(iter(columns.values()), ()))
    if table is None or not length:
        return None
    listed, total = min(length, most), max(length, table.of or 0)
    how_many = f"All {total:,} rows." if listed == total else f"The {table.order} {listed:,} of {total:,}."
    return {
        "words": " ".join(part for part in (table.caption, how_many if total > 1 else "") if part),
        "heads": [{"name": name, "number": column.dtype.kind in "iuf"} for name, column in columns.items()],
        "lines": [[_cell(column[k]) for column in columns.values()] for k in range(listed)],
    }


def _cell(value: Any) -> dict[str, Any]:
    """What a cell shows, and the number that it is sorted by, if it is one."""
    if isinstance(value, np.bool_ | bool):
        return {"value": None, "shown": "yes" if value else "no"}
    if isinstance(value, np.integer | int):
        return {"value": int(value), "shown": int(value)}
    if isinstance(value, np.floating | float):
        known = bool(np.isfinite(value))
        return {"value": float(value) if known else "NaN", "shown": pretty_number(float(value)) if known else "–"}
    return {"value": None, "shown": str(value)}
