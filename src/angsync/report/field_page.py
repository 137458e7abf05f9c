"""The page about the result of an application, in the words of its field."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.io.atomic import atomic_open
from angsync.report.builder import MOST_LISTED, Page, compose
from angsync.report.figures import Figure
from angsync.report.html import Row, Table, capital
from angsync.report.judgment import Judgment
from angsync.report.numbers import typeset
from angsync.report.page import convergence_figures, proof_rows, residual_figures, work_in_words, worst_table
from angsync.report.picture_svg import picture_figure
from angsync.report.pictures import Picture
from angsync.report.provenance import input_of, versions
from angsync.report.quality import Quality
from angsync.report.weak_spots import weak_spots


class Told(Protocol):
    """What an application says about its result."""

    @property
    def rows(self) -> Sequence[Row]: ...
    @property
    def columns(self) -> Mapping[str, NDArray]: ...
    @property
    def pictures(self) -> Sequence[Picture]: ...
    @property
    def sentences(self) -> Sequence[str]: ...
    @property
    def worst(self) -> Table | None: ...
    @property
    def radians(self) -> Sequence[str]: ...
    @property
    def names(self) -> Sequence[object] | None: ...
    @property
    def units(self) -> Mapping[str, str]: ...
    @property
    def in_turns(self) -> bool: ...


def write_field_page(
    path: str | os.PathLike[str],
    title: str,
    *,
    told: Told,
    proof: Judgment,
    fit: Judgment,
    sync: Any,
    quality: Quality | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write the page: complete, or not at all. ``sync`` is the solved problem behind the result, or the stack."""
    with atomic_open(path) as stream:  # first, so that an unwritable path is found before the work
        one = np.ndim(sync.z) == 1 and np.ndim(sync.objective) == 0
        residuals = _drawn(told.pictures, "residuals")
        page = Page(
            title=title,
            proof=proof._replace(words=typeset(proof.words)),
            fit=fit,
            rows=[capital(row) for row in told.rows if not _is_work(row)],
            notes=told.sentences,
            pictures=_drawn(told.pictures, "answer"),
            residuals=residuals or (residual_figures(quality, told.in_turns) if one else []),
            worst=told.worst if told.worst is not None or not one else worst_table(sync, quality),
            errors=_drawn(told.pictures, "errors"),
            weak_spots=_weak_spots(sync, told.names) if one else [],
            answer=_table(told),
            answer_heading="Table",
            proof_rows=proof_rows(sync) if one and proof.look != "bad" else [],
            convergence=convergence_figures(sync, sync.tolerance or None) if one else [],
            convergence_words=[
                *([sync.method, *work_in_words(sync)] if one else []),
                *(f"{', '.join(filter(None, row[1:]))}." for row in told.rows if _is_work(row) and not one),
            ],
            provenance={
                "input": input_of(sync.source) if one else {}, "versions": versions(), **(provenance or {})
            },
        )  # fmt: skip
        stream.write(compose(page))
    return Path(path)


def _is_work(row: Row) -> bool:
    """Rows that say how it was found; the folded part of the page has them."""
    return row[0].lower() in ("status", "work", "method")


def _drawn(pictures: Sequence[Picture], about: str) -> list[Figure]:
    found = [picture_figure(one) for one in pictures if one.about == about]
    return [one for one in found if one is not None]


def _weak_spots(sync: Any, names: Sequence[object] | None) -> list[str]:
    try:
        return weak_spots(sync, names)
    except InputError:
        return []


def _table(told: Told) -> Table:
    """No more rows than are shown; radians in degrees, and said so."""
    columns: dict[str, NDArray] = {}
    for name, column in told.columns.items():
        shown = column[:MOST_LISTED]
        if name == "component" and np.all(column == column[:1]):  # all in one: nothing is told apart
            continue
        words, unit = name.replace("_", " "), "°" if name in told.radians else told.units.get(name, "")
        columns[f"{words} ({unit})" if unit else words] = np.degrees(shown) if name in told.radians else shown
    return Table(columns, of=len(next(iter(told.columns.values()), ())))
