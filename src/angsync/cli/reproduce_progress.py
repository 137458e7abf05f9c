"""The progress bar of the run; silent when the console is not a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from angsync.study.reproduce.engine import Report


@contextmanager
def showing(console: Console) -> Iterator[Report]:
    """Yield what :func:`angsync.study.reproduce.run_experiments` reports to."""
    if not console.is_terminal:
        yield lambda name, share: None
        return
    # 73 columns at most, so that it stays one line
    bar = Progress(
        TextColumn("{task.description:<22}", markup=False), BarColumn(20), TaskProgressColumn(), TimeElapsedColumn(),
        console=console, transient=True,
    )  # fmt: skip
    task = bar.add_task("", total=1.0)
    with bar:
        yield lambda name, share: bar.update(task, description=name, completed=share)
