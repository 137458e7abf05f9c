"""What the command line shows: tables, one JSON object, and a progress bar for whatever takes long."""

from __future__ import annotations

import json
import math
import re
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from angsync.certificate.verdict import Certificate
from angsync.pipeline.result import SyncResult
from angsync.problem.operators import Operator
from angsync.solvers.stopping import Progress as Iterate

_PATIENCE = 2.0  # seconds before a progress bar appears


@contextmanager
def watching(console: Console, what: str, tolerance: float = 1e-10) -> Iterator[Callable[[Iterate], None]]:
    """Yield a callback for the solver; after two seconds a bar shows how far the residual has come.

    Until the callback is called, the bar only shows that time goes on: it has a thread of its own. Nothing is
    shown when the console is not a terminal.
    """
    if not console.is_terminal:
        yield lambda _: None
        return
    # 73 columns at most, so that it stays one line
    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(20), TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(), console=console, transient=True,
    )  # fmt: skip
    task = bar.add_task(what, total=None, note="")
    first: dict[int, float] = {}

    def callback(iterate: Iterate) -> None:
        note = f"iteration {iterate.iteration}, residual {iterate.residual:.1e}"
        start = first.setdefault(iterate.component, iterate.residual)
        if iterate.residual <= tolerance:
            bar.update(task, description="certifying", completed=1.0, total=1.0, note=note)
        else:
            bar.update(
                task, description=what, completed=_share(start, iterate.residual, tolerance), total=1.0, note=note
            )

    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield callback
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def _share(start: float, now: float, tolerance: float) -> float:
    """How much of the way from the first residual to the tolerance is done, in orders of magnitude."""
    if not (start > tolerance > 0 and math.isfinite(start) and now > 0):
        return 0.0
    return min(max(math.log(start / now) / math.log(start / tolerance), 0.0), 1.0)


def fitted(text: str, console: Console | None = None) -> str:
    """``text`` broken between words to the width of a terminal; as it is where the console is none.

    Lines that begin with a label (``  status       CONVERGED ...``) go on below their content. Words are never
    broken: a path stays in one piece.
    """
    console = Console() if console is None else console
    if not console.is_terminal:
        return text
    lines = []
    for line in text.splitlines():
        label = re.match(r"  \S+ {2,}", line)
        indent = " " * len(label[0]) if label else ""
        broken = textwrap.wrap(
            line, max(console.width, len(indent) + 20), subsequent_indent=indent,
            break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        )  # fmt: skip
        lines += broken or [""]
    return "\n".join(lines)


def count_components(operator: Operator) -> int:
    """Number of connected components; 1 where only products with C are known."""
    labels = operator.component_labels()
    return 1 if labels is None else int(labels.max()) + 1


def table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """A plain table of label, value and note."""
    grid = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    if rows and len(rows[0]) > 2:
        grid.add_column(style="dim", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))  # not markup: [..] is text
    return grid


def result_object(
    result: SyncResult, *, with_phases: bool, standard_errors: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """The result as one JSON-ready object; numbers that are not finite become null."""
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
    if with_phases:
        content["nodes"] = [_label(result, k) for k in range(result.n)]
        content["angles"] = result.angles.tolist()
    if standard_errors is not None:
        content["standard_errors"] = standard_errors.tolist()
    return content


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """The certificate as a JSON-ready object; the witness as angles."""
    witness = certificate.witness
    return {
        "verdict": certificate.verdict.name,
        **certificate.numbers(),
        "witness": None if witness is None else np.angle(witness).tolist(),
    }


def to_json(content: Any) -> str:
    """Strict JSON: what is not finite becomes null, numpy scalars become numbers."""

    def clean(x: Any) -> Any:
        if isinstance(x, dict):
            return {str(key): clean(value) for key, value in x.items()}
        if isinstance(x, (list, tuple)):
            return [clean(value) for value in x]
        if isinstance(x, np.generic):
            x = x.item()
        if isinstance(x, float):
            return x if math.isfinite(x) else None
        return x if isinstance(x, (str, int, bool, type(None))) else str(x)

    return json.dumps(clean(content), allow_nan=False)


def _label(result: SyncResult, node: int) -> Any:
    return node if result.labels is None else result.labels[node]
