"""A small card of HTML for notebooks: title, verdict, rows, and what is folded away.

It inherits the colors of the page around it and adds translucent grays, so that one card serves light and dark pages;
styles stand in the elements, and there is no script. All text is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from angsync.problem.measurements import Measurements

# Mark, background and text of a badge. Contrast is 4.5 or more, the hues are told apart by every eye, and the marks by
# those who see no color.
_BADGES = {
    "good": ("✓", "#0072B2", "#ffffff"),
    "open": ("?", "#E69F00", "#000000"),
    "bad": ("✗", "#A84300", "#ffffff"),
    "none": ("–", "#666666", "#ffffff"),
}
_FRAME = (
    "display:inline-block;box-sizing:border-box;max-width:min(52em,100%);overflow-x:auto;"
    "border:1px solid rgba(128,128,128,.45);border-radius:6px;padding:.6em .9em;"
    "margin:.2em 0;line-height:1.45;font-size:13px"
)
_TABLE = "border-collapse:collapse;margin:.3em 0 0;border:none;font-size:inherit;color:inherit"
_CELL = "text-align:left;vertical-align:top;padding:.05em .9em .05em 0;border:none;background:none"
_FAINT = "opacity:.65"
FIRST_ROWS = 6
"""Rows of a table that are folded into a card."""


def card(
    title: str,
    rows: Iterable[Sequence[str]] = (),
    *,
    badge: tuple[str, str] | None = None,
    picture: str = "",
    sentences: Iterable[str] = (),
    columns: Mapping[str, NDArray] | None = None,
) -> str:
    """The card. ``badge``: its look (good, open, bad, none) and its words; ``picture``: markup that stands beside the
    rows; ``columns``: a table, whose first rows are folded away."""
    head = f"<strong>{escape(title)}</strong>"
    if badge is not None:
        mark, back, ink = _BADGES[badge[0]]
        style = (
            f"background:{back};color:{ink};border-radius:4px;padding:.1em .55em;margin-left:.6em;white-space:nowrap"
        )
        head += f' <span style="{style}"><span aria-hidden="true">{mark} </span>{escape(badge[1])}</span>'
    told = "".join(_row(*(*row, "", "")[:3]) for row in rows)
    table = f'<table style="{_TABLE}"><tbody>{told}</tbody></table>'
    body = f'<div style="flex:1 1 14em;min-width:0">{table if told else ""}{"".join(map(_paragraph, sentences))}</div>'
    if picture:
        body = f'{body}<div style="flex:0 0 auto">{picture}</div>'
    body = f'<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">{body}</div>'
    return f'<div class="angsync-card" style="{_FRAME}"><div>{head}</div>{body}{_folded(columns)}</div>'


def escape(text: object) -> str:
    """Any text, safe as HTML; characters that no page may hold are replaced."""
    kept = "".join(one if one >= " " and not "\x7f" <= one <= "\x9f" else "\ufffd" for one in str(text))
    return html.escape(kept.encode("utf-8", "replace").decode("utf-8"), quote=True)


def _row(label: str, value: str, note: str) -> str:
    noted = f' <span style="{_FAINT}">{escape(note)}</span>' if note else ""
    return (
        f'<tr style="background:none"><th scope="row" style="{_CELL};font-weight:normal;{_FAINT};white-space:nowrap">'
        f'{escape(label)}</th><td style="{_CELL}">{escape(value)}{noted}</td></tr>'
    )


def _paragraph(sentence: str) -> str:
    return f'<p style="margin:.4em 0 0">{escape(sentence)}</p>'


def _folded(columns: Mapping[str, NDArray] | None) -> str:
    if not columns:
        return ""
    count = len(next(iter(columns.values())))
    shown = min(count, FIRST_ROWS)
    head = "".join(f'<th scope="col" style="{_CELL};{_FAINT}">{escape(name)}</th>' for name in columns)
    body = "".join(
        '<tr style="background:none">'
        + "".join(f'<td style="{_CELL}">{escape(_number(column[k]))}</td>' for column in columns.values())
        + "</tr>"
        for k in range(shown)
    )
    which = f"all {count:,} rows" if shown == count else f"first {shown} of {count:,} rows"
    return (
        f'<details style="margin-top:.4em"><summary style="cursor:pointer;{_FAINT}">{which}</summary>'
        f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></details>"
    )


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def measurements_card(measurements: Measurements) -> str:
    """Measurements: how many, of what kind and weights, and the first of them."""
    from angsync.problem.frames import measured_columns
    from angsync.problem.pieces import piece_labels

    m = measurements
    kind = "angles" if m.modulus is None else "complex values"
    rows: list[tuple[str, ...]] = [("nodes", f"{m.n:,}", "" if m.labels is None else "with labels")]
    rows.append(("measurements", f"{len(m):,} {kind}", f"{2 * len(m) / max(1, m.n):.3g} a node"))
    if len(m):
        low, high = float(m.weight.min()), float(m.weight.max())
        rows.append(("weights", f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"))
        used = np.flatnonzero(m.strength > 0)
        pieces = int(piece_labels(m.n, *(end[used].astype(np.int64) for end in m.ends)).max(initial=-1)) + 1
        rows.append(("components", f"{pieces:,}", "" if pieces <= 1 else "phases cannot be compared across them"))
    return card("Measurements", rows, columns=measured_columns(m))
