"""The one page that every result has: what to think of it first, pictures, misfits, error bars, the rest folded.

Applications and plain solves say what there is in a :class:`Page`; the order and the looks are decided here alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from angsync.io.strict_json import cleaned
from angsync.report.figures import Figure
from angsync.report.html import (
    Row,
    Table,
    badge,
    badges,
    document,
    figure,
    folded,
    footer,
    header,
    paragraphs,
    preformatted,
    section,
    sortable_table,
    table_of_rows,
    verdict,
)
from angsync.report.judgment import Judgment, sentence_on_top, worse
from angsync.report.provenance import angsync_version
from angsync.report.svg import escape

MOST_WORST = 30  # measurements in the table of those that fit worst
MOST_UNSURE = 30  # nodes in the table of those least sure
MOST_LISTED = 200  # rows of the table of all that was found
_FEW = 20  # rows of a table that is not folded
_MARKS = {"good": "✓", "bad": "✗", "open": "!", "none": "–"}


@dataclass(frozen=True)
class Page:
    """What one page holds. Every part that is empty is left out."""

    title: str
    proof: Judgment
    fit: Judgment
    rows: Sequence[Row] = ()
    notes: Sequence[str] = ()
    """What the reader has to know beyond the numbers."""
    warnings: Sequence[str] = ()
    """Badges of their own: what went wrong on the way, such as a solver that did not converge."""
    pictures: Sequence[Figure] = ()
    residuals: Sequence[Figure] = ()
    residual_words: Sequence[str] = ()
    worst: Table | None = None
    errors: Sequence[Figure] = ()
    error_words: Sequence[str] = ()
    unsure: Table | None = None
    weak_spots: Sequence[str] = ()
    answer: Table | None = None
    answer_figures: Sequence[Figure] = ()
    answer_heading: str = "All results"
    proof_rows: Sequence[Row] = ()
    convergence: Sequence[Figure] = ()
    convergence_words: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


def compose(page: Page) -> str:
    """The page as text."""
    parts = [
        _top(page),
        _part("", [_figures(page.pictures)]),
        _part("In numbers", [table_of_rows(page.rows, "summary") if page.rows else ""]),
        _part(
            "How well the measurements fit",
            [paragraphs(page.residual_words), _figures(page.residuals), _table(page.worst, MOST_WORST)],
        ),
        _part("Error bars", [paragraphs(page.error_words), _figures(page.errors), _table(page.unsure, MOST_UNSURE)]),
        _part("Weak spots of the graph", [paragraphs(page.weak_spots)]),
        _part("What is proved", [_proof(page)]),
        _answer(page),
        _folded_parts(page),
    ]
    made = footer(f"angsync {angsync_version()}", [])
    return document(page.title, [part for part in parts if part], made)


def _top(page: Page) -> str:
    look = worse(page.proof.look, page.fit.look, *("open" for _ in page.warnings))
    shown = [badge(one.look, _MARKS[one.look], one.headline) for one in (page.proof, page.fit) if one.headline]
    shown += [badge("open", "!", words) for words in page.warnings]
    told = verdict(look, sentence_on_top(page.proof, page.fit))
    return header(page.title, told, badges(shown), paragraphs(note[:1].upper() + note[1:] for note in page.notes))


def _part(heading: str, contents: Sequence[str]) -> str:
    inside = "\n".join(content for content in contents if content)
    if not inside:
        return ""
    return section(heading, inside) if heading else f"<section>\n{inside}\n</section>"


def _figures(figures: Sequence[Figure]) -> str:
    """Two beside each other; one that would stand beside nothing has the row to itself, in its middle."""
    wide, beside = [], 0
    for k, one in enumerate(figures):
        is_last = k + 1 == len(figures) or figures[k + 1].wide
        wide.append(one.wide or (is_last and beside % 2 == 0))
        beside = 0 if wide[-1] else beside + 1
    drawn = [figure(one.svg, one.caption, "wide" if alone else "") for one, alone in zip(figures, wide, strict=True)]
    if len(drawn) == 1:
        return drawn[0]
    return f'<div class="figures">\n{"".join(drawn)}\n</div>' if drawn else ""


def _table(table: Table | None, most: int) -> str:
    return "" if table is None or not len(next(iter(table.columns.values()), ())) else sortable_table(table, most)


def _proof(page: Page) -> str:
    statement = f'<p class="statement {page.proof.look}">{escape(page.proof.words)}</p>'
    if not page.proof_rows:
        return statement
    return statement + folded("The proof in numbers", table_of_rows(page.proof_rows, "summary"))


def _answer(page: Page) -> str:
    table = _table(page.answer, MOST_LISTED)
    if table and page.answer is not None and len(next(iter(page.answer.columns.values()))) > _FEW:
        table = folded("Show the table", table)
    return _part(page.answer_heading, [_figures(page.answer_figures), table])


def _folded_parts(page: Page) -> str:
    """How it was found and with what: for those who ask."""
    parts = []
    curves = paragraphs(page.convergence_words) + _figures(page.convergence)
    if curves:
        parts.append(folded("Convergence and method", curves))
    if page.provenance:
        parts.append(
            folded(
                "Provenance: input, versions, settings",
                preformatted(json.dumps(cleaned(page.provenance), indent=2, allow_nan=False, ensure_ascii=False)),
            )
        )
    return _part("How it was found", parts)
