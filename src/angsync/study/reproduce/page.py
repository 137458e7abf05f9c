"""One self-contained HTML page about a reproduction run: the verdict, the rows, the figures. It loads nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from angsync.io.atomic import atomic_open
from angsync.report.html import badge, badges, document, figure, footer, header, paragraphs, section, table_with_head
from angsync.report.numbers import counted, duration
from angsync.report.svg import escape
from angsync.study.reproduce.figures import (
    Entry,
    PanelFigure,
    convergence_figure,
    efficiency_figure,
    error_bound_figure,
    error_figure,
    number,
    time_figure,
    transition_figure,
)

TITLE = "The paper, reproduced"
_FIGURES: tuple[tuple[str, str, str, tuple[Callable[[Sequence[Entry], str], PanelFigure | None], ...]], ...] = (
    (
        "errors",
        "Theorems 1 and 2: the error of every iterate",
        "The bounds hold from the first iterate on, whether or not the iteration converges. They are loose by design.",
        (lambda e, seed: error_figure(e, "l2", seed), lambda e, seed: error_figure(e, "linf", seed)),
    ),
    (
        "convergence",
        "Theorem 3: linear convergence to the maximizer",
        "That the theorem applies and that the iteration converges are two facts; the second goes much further.",
        (convergence_figure,),
    ),
    (
        "error_bound",
        "Proposition 3: the error bound",
        "ρ costs no product with C, so that the solver can watch it.",
        (error_bound_figure,),
    ),
    (
        "efficiency",
        "Efficiency: the error beside the Cramér–Rao bound",
        "No unbiased estimator does better than 1 at small noise.",
        (efficiency_figure,),
    ),
    (
        "transitions",
        "Where theory ends, where the certificate ends, where the method ends",
        "The conditions of the theorems are sufficient. Beyond them the certificate still proves most answers.",
        (transition_figure,),
    ),
    ("time", "Time", "", (time_figure,)),
)


def render_reproduction_page(results: Mapping[str, Any]) -> str:
    """The page as text. Series that are missing or empty are named as such."""
    settings = _mapping(results.get("settings"))
    series = _mapping(results.get("series"))
    rows = _entries(results.get("rows"))
    seed = str(settings.get("seed", "not recorded"))
    sections = [
        header(TITLE, _badges(rows, settings, seed), _introduction()),
        section("Every statement, one row", _claims(rows) + paragraphs(_sentences(results.get("notes")))),
        *(
            section(heading, paragraphs([lead] if lead else []) + _drawn(makers, _entries(series.get(key)), seed))
            for key, heading, lead, makers in _FIGURES
        ),
    ]
    return document(f"{TITLE} – angsync", sections, _footer(settings, seed))


def write_reproduction_page(results: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write :func:`render_reproduction_page` to ``path``: complete, or not at all."""
    with atomic_open(path) as stream:  # first, so that an unwritable path is found before the work
        stream.write(render_reproduction_page(results))
    return Path(path)


def headline(rows: Sequence[Entry]) -> tuple[str, str, str]:
    """Look, mark and words of the verdict. No rows is no success."""
    violated = [str(row.get("id", "?")) for row in rows if not row.get("held")]
    if not rows:
        return "open", "?", "No row was checked"
    if not violated:
        return "good", "✓", f"All {len(rows)} rows held" if len(rows) > 1 else "The only row held"
    return "bad", "✗", f"{len(violated)} of {counted(len(rows), 'row')} violated: {', '.join(violated)}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sentences(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _entries(value: Any) -> list[Entry]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _badges(rows: Sequence[Entry], settings: Mapping[str, Any], seed: str) -> str:
    run = "Quick run" if settings.get("quick") else "Full run"
    return badges([badge(*headline(rows)), badge("none", "", f"{run}, seed {seed}")])


def _introduction() -> str:
    return (
        "<p>Liu, Yue and So, <cite>On the Estimation Performance and Convergence Rate of the Generalized Power Method "
        "for Phase Synchronization</cite>: each numbered statement, checked on simulated problems whose truth and "
        "noise are known.</p>"
    )


def _claims(rows: Sequence[Entry]) -> str:
    if not rows:
        return "<p>There are no rows: nothing was checked.</p>"
    lines = []
    for row in rows:
        held = bool(row.get("held"))
        words = ("good", "✓", "held") if held else ("bad", "✗", "violated")
        lines.append(
            f'<tr><th scope="row">{escape(row.get("id", "?"))}</th><td>{escape(row.get("claim", ""))}</td>'
            f"<td>{escape(row.get('measured', ''))}{_small(row)}</td><td>{badge(*words, tag='span')}</td></tr>"
        )
    return table_with_head(("Row", "Claim", "Measured", "Held?"), "\n".join(lines), "claims") + "\n"


def _small(row: Entry) -> str:
    """How many cases, how long, and what rounding was allowed for."""
    facts = []
    if row.get("cases") is not None:
        facts.append(counted(int(number(row["cases"])), "case"))
    if number(row.get("seconds")) >= 0:
        facts.append(duration(number(row["seconds"])))
    if row.get("allowance"):
        facts.append(f"allowance: {row['allowance']}")
    return f'<span class="small">{escape("; ".join(facts))}</span>' if facts else ""


def _drawn(
    makers: Sequence[Callable[[Sequence[Entry], str], PanelFigure | None]], entries: list[Entry], seed: str
) -> str:
    figures = [one for make in makers if (one := make(entries, seed)) is not None]
    if not figures:
        return "<p>This run holds no such series, so there is nothing to draw.</p>"
    return "\n".join(_figure(one) for one in figures)


def _figure(found: PanelFigure) -> str:
    panels = []
    for heading, svg in found.panels:
        title = f"<h3>{escape(heading)}</h3>" if heading and len(found.panels) > 1 else ""
        panels.append(f"<div>{title}{svg}</div>")
    many = "panels" if len(panels) > 1 else "panel"
    drawn = f'<div class="{many}">{"".join(panels)}</div>'
    return figure("\n".join(filter(None, (drawn, _columns(found.table)))), found.caption, "wide")


def _columns(table: Sequence[Sequence[str]]) -> str:
    """A table whose first line is its head."""
    if not table:
        return ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>\n" for line in table[1:])
    return table_with_head(table[0], body, "columns")


def _footer(settings: Mapping[str, Any], seed: str) -> str:
    facts = [f"seed: {seed}", f"quick: {'yes' if settings.get('quick') else 'no'}"]
    facts += [f"{name}: {value}" for name, value in settings.items() if name not in ("seed", "quick", "versions")]
    versions = _mapping(settings.get("versions"))
    made_with = ", ".join(f"{name} {version}" for name, version in versions.items())
    return footer("angsync reproduce", facts, *([f"Versions: {made_with}."] if made_with else []))
