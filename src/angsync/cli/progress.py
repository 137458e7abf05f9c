"""Progress on the terminal; silent if standard error is not one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from angsync.cli.outcome import screen
from angsync.solvers.stopping import Callback
from angsync.solvers.stopping import Progress as Iterate

NAMED = 5  # chunks of a kind that text names
_WORDS = TextColumn("{task.description:<22}", markup=False)

Share = Callable[[str, float], None]
"""Called with what runs, and with the share of the whole that is done, from 0 to 1."""


@contextmanager
def watching(what: str) -> Iterator[Callback | None]:
    """Show the stage and its time; yield a callback for the solver that adds the last iterate, None if not shown."""
    console = screen()
    if not console.is_terminal:
        yield None
        return
    with Progress(SpinnerColumn(), _WORDS, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what)

        def callback(iterate: Iterate) -> None:
            words = f"{what}: iteration {iterate.iteration}, residual {iterate.residual:.1e}"
            bar.update(task, description=words)

        yield callback


@contextmanager
def counting() -> Iterator[Share]:
    """Show a bar; yield the function that a work of many parts reports its share to."""
    console = screen()
    if not console.is_terminal:
        yield lambda name, share: None
        return
    columns = (_WORDS, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda name, share: bar.update(task, description=name, completed=share)
