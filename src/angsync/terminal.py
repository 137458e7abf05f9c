"""What the command line shows: tables, one JSON object, and a progress bar for whatever takes long."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from angsync.certificate import Certificate
from angsync.iteration import Progress as Iterate
from angsync.result import SyncResult

_PATIENCE = 2.0  # seconds before a progress bar appears


@contextmanager
def watching(console: Console, what: str, tolerance: float = 1e-10) -> Iterator[Callable[[Iterate], None]]:
    """Yield a callback for the solver; after two seconds a bar shows how far the residual has come.

    Nothing is shown when the console is not a terminal. The bar has a thread of its own, so time goes on
    also while the certificate is computed, when no callback comes.
    """
    if not console.is_terminal:
        yield lambda _: None
        return
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn(),
        console=console, transient=True,
    )  # fmt: skip
    task = bar.add_task(what, total=1.0, note="")
    first: list[float] = []

    def callback(iterate: Iterate) -> None:
        first.append(iterate.residual) if not first else None
        note = f"iteration {iterate.iteration}, residual {iterate.residual:.1e}"
        if iterate.residual <= tolerance:
            bar.update(task, completed=1.0, note=note + ", certifying")
            return
        span = math.log(first[0] / tolerance) if first[0] > tolerance else 1.0
        done = math.log(first[0] / iterate.residual) / span if iterate.residual > 0 and first[0] > 0 else 0.0
        bar.update(task, completed=min(max(done, 0.0), 1.0), note=note)

    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield callback
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """A plain table of label, value and note."""
    grid = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    if rows and len(rows[0]) > 2:
        grid.add_column(style="dim", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def result_object(result: SyncResult, *, with_phases: bool) -> dict[str, Any]:
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
    return content


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """The certificate as a JSON-ready object; the witness as angles."""
    names = (
        "gap_bound", "relative_gap", "lambda_min", "lambda_2", "unique", "method", "confidence", "tolerance",
        "scale", "rounding",
    )  # fmt: skip
    witness = certificate.witness
    return {
        "verdict": certificate.verdict.name,
        **{name: getattr(certificate, name) for name in names},
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
