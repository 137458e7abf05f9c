"""Text that fits the terminal, tables, and results as one JSON object."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from angsync.certificate.verdict import Certificate
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.report import RobustReport
from angsync.problem.units import in_unit

_SHOWN = (
    "n", "objective", "residual", "converged", "message", "iterations", "matvecs", "seconds", "method", "gauge",
)  # fmt: skip
_FEWEST_COLUMNS = 20  # of a text beside its label, however narrow the terminal is


def fitted(text: str, console: Console | None = None) -> str:
    """Break ``text`` between words to the width of a terminal; return it unchanged for any other console.

    Lines that begin with a label (``  status       CONVERGED ...``) continue below their content. Words are never
    broken: a path stays in one piece.
    """
    console = console or Console()
    if not console.is_terminal:
        return text
    return "\n".join(_folded(line, console.width) for line in text.splitlines())


def _folded(line: str, width: int) -> str:
    label = re.match(r"  \S+ {2,}", line)
    indent = len(label[0]) if label else 0
    return textwrap.fill(
        line, max(width, indent + _FEWEST_COLUMNS), subsequent_indent=" " * indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def print_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print a plain table of label, value and, if wanted, note."""
    grid = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(style="dim", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))  # not markup: [..] is text
    Console().print(grid)


def result_object(
    result: SyncResult, *, with_phases: bool, standard_errors: NDArray[np.float64] | None = None, unit: str = "rad"
) -> dict[str, Any]:
    """Return the result as one JSON-ready object, angles in this unit; numbers that are not finite become null."""
    labels = result.labels or range(result.n)
    content: dict[str, Any] = {name: getattr(result, name) for name in _SHOWN} | {
        "status": result.status.name,
        "components": int(result.components.max()) + 1,
        "isolated": [labels[k] for k in result.isolated],
        "certificate": None if result.certificate is None else certificate_object(result.certificate),
    }
    if result.robust is not None:
        content["robust"] = robust_object(result.robust)
        if result.robust.credible is False:
            content["certificate"] = None  # what is proved for weights in doubt says nothing about the answer
        elif content["certificate"] is not None:
            content["certificate"]["of"] = "these weights"
    if with_phases:
        content |= {"nodes": list(labels), "angles": in_unit(result.angles, unit)}
    if standard_errors is not None:
        content["standard_errors"] = in_unit(standard_errors, unit)
    return content


def robust_object(report: RobustReport) -> dict[str, Any]:
    """Return what a robust fit reports about the measurements, by their places."""
    return {
        **{name: getattr(report, name) for name in ("credible", "note", "scale", "evidence")},
        "method": report.loss,
        "distrusted": np.flatnonzero(report.distrusted),
        "undecided": np.flatnonzero(report.undecided),
        "rivals": [vars(some) for some in report.rivals],
    }


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as a JSON-ready object; the witness as angles."""
    witness = certificate.witness
    return {
        "verdict": certificate.verdict.name,
        **certificate.numbers(),
        "witness": None if witness is None else np.angle(witness),
    }
