"""One self-contained HTML page about the result of an application: summary, certificate, pictures, table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from angsync.io.atomic import atomic_open
from angsync.report.html import (
    Row,
    badge,
    badges,
    document,
    figure,
    footer,
    header,
    paragraphs,
    section,
    table_of_rows,
    table_with_head,
)
from angsync.report.numbers import pretty_number
from angsync.report.page import angsync_version
from angsync.report.picture_svg import picture_figure
from angsync.report.pictures import Picture
from angsync.report.svg import escape

MOST_LISTED = 200  # rows of the table
_MARKS = {"good": "✓", "bad": "✗", "open": "?", "none": "–"}


def write_field_page(
    path: str | os.PathLike[str],
    title: str,
    *,
    badge_look: str,
    headline: str,
    rows: Sequence[Row],
    certificate: str,
    sentences: Sequence[str],
    pictures: Sequence[Picture],
    columns: Mapping[str, NDArray],
) -> Path:
    """Write the page: complete, or not at all. ``badge_look`` is good, bad, open or none."""
    with atomic_open(path) as stream:  # first, so that an unwritable path is found before the work
        figures = [drawn for drawn in map(picture_figure, pictures) if drawn is not None]
        drawn = "\n".join(figure(one.svg, one.caption) for one in figures)
        sections = [
            header(title, badges([badge(badge_look, _MARKS[badge_look], headline)])),
            section("Summary", table_of_rows(rows, "summary") + paragraphs(sentences)),
        ]
        if figures:
            sections.append(section("Pictures", f'<div class="figures">\n{drawn}\n</div>'))
        sections += [
            section("Certificate", f'<p class="statement {badge_look}">{escape(certificate)}</p>'),
            section("Table", _listing(columns)),
        ]
        stream.write(document(title, sections, footer(f"angsync {angsync_version()}", [])))
    return Path(path)


def _listing(columns: Mapping[str, NDArray]) -> str:
    length = len(next(iter(columns.values()), ()))
    listed = min(length, MOST_LISTED)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(_cell(column[k]))}</td>" for column in columns.values()) + "</tr>"
        for k in range(listed)
    )
    which = f"All {length:,} rows" if listed == length else f"The first {listed} of {length:,} rows"
    opened = " open" if length <= 20 else ""
    table = table_with_head(columns, body, "columns")
    return f"<details{opened}><summary>{which}</summary>{table}</details>"


def _cell(value: object) -> str:
    if isinstance(value, np.bool_ | bool):
        return "yes" if value else "no"
    return pretty_number(float(value), 6) if isinstance(value, np.floating | float) else str(value)
