"""What the results of all applications can do: print, ``to_html``, ``save``, ``plot``, and say whether they are proved.

An application's result is a frozen dataclass that inherits from :class:`ApplicationResult`, has the solved problem (or
the stack of them) as ``sync``, and tells in :meth:`~ApplicationResult.describe` what there is to show; nothing else.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.result import BatchResult, BatchStatus
from angsync.errors import InputError
from angsync.io.result_file import write_result_table
from angsync.pipeline.result import SyncResult
from angsync.problem.array_libraries import to_numpy
from angsync.report.pictures import Picture, Table
from angsync.report.sentences import Judgment, judge_fit, judge_proof
from angsync.report.text import shortened
from angsync.solvers.stopping import Status
from angsync.uncertainty.quality import Quality, assess


@dataclass(frozen=True)
class Description:
    """What a result tells about itself, in the words of its field."""

    kind: str
    """One word: what the file says that it holds, such as ``clocks``."""
    title: str
    rows: Sequence[tuple[str, ...]]
    """The summary: a label, a value and, if wanted, a note."""
    columns: Mapping[str, NDArray]
    """The table: one row an item (a clock, a player, a monitor), its first column the name."""
    pictures: Sequence[Picture] = ()
    sentences: Sequence[str] = ()
    """What the reader has to know beyond the numbers: doubts, what was left out, what is not proved."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Numbers about the whole, which a file keeps beside the table."""
    arrays: Mapping[str, NDArray] = field(default_factory=dict)
    """Arrays of other shapes, which only npz files keep."""
    worst: Table | None = None
    """The measurements that fit worst, for the page; those of ``sync`` unless given."""
    radians: Sequence[str] = ()
    """Columns that are radians, which a page shows in degrees."""
    names: Sequence[Any] | None = None
    """Of the nodes of ``sync``, in its order; its labels unless given."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Of columns whose unit is not in their name, for the page."""
    in_turns: bool = False
    """Whether the angles of the page are turns; degrees otherwise."""

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of a table must have one length, not {lengths}.")


def if_known(value: float, text: str, otherwise: str = "not known") -> str:
    """The text, where the value in it is a number."""
    return text if np.isfinite(value) else otherwise


Proof = Judgment
"""What is proved of a result, as its badge (good, bad, open, none), in a few words, and in sentences."""
Fit = Judgment
"""How well the measurements fit, in the same three ways: the best fit to bad measurements is proved as easily."""


class ApplicationResult(ABC):
    """Base of the results of applications."""

    sync: SyncResult | BatchResult
    """The solved problem, or stack of problems, behind the result."""

    @abstractmethod
    def describe(self) -> Description:
        """What there is to show."""

    @property
    def proof(self) -> Proof:
        """What is proved about the phases behind this result."""
        if isinstance(self.sync, BatchResult):
            return _proof_of_stack(self.sync)
        return judge_proof(self.sync)

    @cached_property
    def quality(self) -> Quality | None:
        """How well the phases behind this result fit; None for stacks, and where the measurements are not at hand."""
        return None if isinstance(self.sync, BatchResult) else assess(self.sync)

    @property
    def fit(self) -> Fit:
        """How well the measurements fit, in the words of the field."""
        return judge_fit(None if isinstance(self.sync, BatchResult) else self.sync, self.quality)

    @property
    def is_proved(self) -> bool:
        """Converged, certified (every problem of a stack that holds data), and credible where weights were found."""
        sync = self.sync
        if isinstance(sync, BatchResult):
            return sync.certified is not None and bool(np.all(to_numpy(sync.certified)[_with_data(sync)]))
        return sync.converged and judge_proof(sync).look == "good"

    @property
    def is_partial(self) -> bool:
        """Whether parts of the data could not be read or worked on, and the rest was."""
        return False

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the work."""
        if isinstance(self.sync, BatchResult):
            return bool(np.any(to_numpy(self.sync.status) == BatchStatus.INTERRUPTED))
        return self.sync.status is Status.INTERRUPTED

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as csv, npz or parquet, by the suffix; npz holds the other arrays too."""
        told = self.describe()
        write_result_table(path, told.kind, told.columns, told.facts, told.arrays)

    def to_html(
        self,
        path: str | os.PathLike[str],
        title: str | None = None,
        *,
        provenance: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write one self-contained page: what to think of the result, pictures, misfits, proof, table, provenance.

        ``provenance``: what to keep of where the data come from, such as names of files and settings.
        """
        from angsync.report.canvas import check_extra
        from angsync.report.page import write_field_page

        check_extra("a report")  # before what takes time

        told = self.describe()
        title = title or told.title[:1].upper() + told.title[1:]
        return write_field_page(
            path, title, told=told, proof=self.proof, fit=self.fit, sync=self.sync,
            quality=self.quality, provenance=provenance,
        )  # fmt: skip

    def plot(self, kind: str | None = None, *, figure: Any = None, **options: Any) -> Any:
        """The pictures on a matplotlib ``Figure`` (a new one unless given), which is returned; nothing is shown.

        ``kind``: the title of one of them, or a kind of :meth:`angsync.SyncResult.plot` for the problem behind it
        (``"phases"``, ``"residuals"``, ``"network"``, ...), which takes the ``options``; all pictures unless given.
        """
        from angsync.report.picture_plot import plot_pictures
        from angsync.report.plotting import KINDS

        told = self.describe()
        chosen = [one for one in told.pictures if kind is None or one.title.lower() == kind.lower()]
        if kind is not None and not chosen:
            if kind not in KINDS or isinstance(self.sync, BatchResult):
                known = [one.title for one in told.pictures]
                known += [] if isinstance(self.sync, BatchResult) else KINDS
                raise InputError(f"kind must be one of {', '.join(map(repr, known))}, not {kind!r}.")
            return self.sync.plot(kind, figure=figure, **options)
        if options:
            raise InputError(f"{', '.join(options)}: only the kinds of SyncResult.plot take options.")
        return plot_pictures(chosen, f"{told.title}: {self.proof.headline}", figure)

    def to_dataframe(self, *, library: str = "pandas") -> Any:
        """The table as a data frame of ``"pandas"``, ``"polars"`` or ``"pyarrow"``."""
        from angsync.problem.frames import data_frame

        return data_frame(self.describe().columns, library)

    def to_dict(self, *, with_table: bool = True) -> dict[str, Any]:
        """Facts, proof and, unless it is not wanted, the table, for JSON."""
        told, proof = self.describe(), self.proof
        content: dict[str, Any] = {"kind": told.kind, **told.facts, "proved": self.is_proved, "proof": proof.words}
        content["notes"] = list(told.sentences)
        if with_table:
            content["columns"] = {name: column.tolist() for name, column in told.columns.items()}
        return content

    def _repr_html_(self) -> str:
        from angsync.problem.cards import card
        from angsync.report.cards import thumbnail

        told, proof = self.describe(), self.proof
        picture = thumbnail(told.pictures[0]) if told.pictures else ""
        return card(
            told.title, told.rows, badge=(proof.look, proof.headline), picture=picture,
            sentences=[*told.sentences, proof.words], columns=told.columns,
        )  # fmt: skip

    def __repr__(self) -> str:
        told = self.describe()
        return f"{type(self).__name__}({told.title}; {self.proof.headline})"

    def __str__(self) -> str:
        told, proof = self.describe(), self.proof
        columns = {name: column for name, column in told.columns.items() if column.ndim == 1}
        lines = [told.title, *([shortened(columns), ""] if columns else [])]
        for label, value, note in ((*row, "")[:3] for row in told.rows):
            lines.append(f"  {label.lower():<12} {value}" + (f" ({note})" if note else ""))
        lines += [f"  {'note':<12} {sentence}" for sentence in told.sentences]
        return "\n".join([*lines, f"  {'certificate':<12} {proof.words}"])


def _with_data(sync: BatchResult) -> NDArray[np.bool_]:
    return np.asarray(to_numpy(sync.status) != BatchStatus.EMPTY)


def _proof_of_stack(sync: BatchResult) -> Proof:
    data = _with_data(sync)
    count = int(data.sum())
    empty = f" {data.size - count:,} hold no data." if count < data.size else ""
    if sync.certified is None:
        words = f"Not certified: no certificate was computed for these {count:,} problems.{empty}"
        return Proof("none", "Not certified", words)
    proved = int(to_numpy(sync.certified)[data].sum())
    words = (
        f"Proved for {proved:,} of {count:,} problems: no assignment of phases fits better by more than the gap bound "
        f"of the problem.{empty}"
    )
    if proved < count:
        words += f" Of the other {count - proved:,} nothing is proved: treat their phases with care."
        return Proof("open", f"{proved:,} of {count:,} certified", words)
    return Proof("good" if count else "none", f"All {count:,} certified" if count else "No data", words)
