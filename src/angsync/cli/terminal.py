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
from angsync.problem.operators import Operator
from angsync.problem.units import in_unit

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


def count_components(operator: Operator) -> int:
    """Return the number of connected components; 1 if only products with C are known."""
    labels = operator.component_labels()
    return 1 if labels is None else int(labels.max()) + 1


def table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a plain table of label, value and note."""
    grid = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    if rows and len(rows[0]) > 2:
        grid.add_column(style="dim", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))  # not markup: [..] is text
    return grid


def result_object(
    result: SyncResult, *, with_phases: bool, standard_errors: NDArray[np.float64] | None = None, unit: str = "rad"
) -> dict[str, Any]:
    """Return the result as one JSON-ready object, angles in this unit; numbers that are not finite become null."""
    content: dict[str, Any] = {
        "n": result.n,
        "objective": result.objective,
        "residual": result.residual,
        "status": result.status.name,
        "converged": result.converged,
        "message": result.message,
        "iterations": result.iterations,
        "matvecs": result.matvecs,
        "seconds": result.seconds,
        "method": result.method,
        "gauge": result.gauge,
        "components": int(result.components.max()) + 1,
        "isolated": [_label(result, int(k)) for k in result.isolated],
        "certificate": None if result.certificate is None else certificate_object(result.certificate),
    }
    if result.robust is not None:
        content["robust"] = robust_object(result.robust)
        if result.robust.credible is False:
            content["certificate"] = None  # what is proved for weights in doubt says nothing about the answer
        elif content["certificate"] is not None:
            content["certificate"]["of"] = "these weights"
    if with_phases:
        content["nodes"] = [_label(result, k) for k in range(result.n)]
        content["angles"] = in_unit(result.angles, unit).tolist()
    if standard_errors is not None:
        content["standard_errors"] = in_unit(standard_errors, unit).tolist()
    return content


def robust_object(report: RobustReport) -> dict[str, Any]:
    """Return what a robust fit reports about the measurements, by their places."""
    return {
        "credible": report.credible,
        "note": report.note,
        "method": report.loss,
        "scale": report.scale,
        "evidence": report.evidence,
        "distrusted": np.flatnonzero(report.distrusted).tolist(),
        "undecided": np.flatnonzero(report.undecided).tolist(),
        "rivals": [{"nats": some.nats, "degrees": some.degrees, "edges": some.edges} for some in report.rivals],
    }


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate as a JSON-ready object; the witness as angles."""
    witness = certificate.witness
    return {
        "verdict": certificate.verdict.name,
        **certificate.numbers(),
        "witness": None if witness is None else np.angle(witness).tolist(),
    }


def _label(result: SyncResult, node: int) -> Any:
    return node if result.labels is None else result.labels[node]
