"""Progress bars for whatever takes long; silent where the console is not a terminal."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from angsync.solvers.stopping import Progress as Iterate
from angsync.solvers.stopping import Stopping

_PATIENCE_SECONDS = 2.0  # before the bar of one solve appears: most solves are over by then
_BAR_COLUMNS = 20  # so narrow that the whole line stays within 73 columns

Share = Callable[[str, float], None]
"""Told what runs, and how much of the whole is done, from 0 to 1."""


@contextmanager
def watching(console: Console, what: str, stopping: Stopping | None = None) -> Iterator[Callable[[Iterate], None]]:
    """Yield a callback for the solver; after two seconds a bar shows how far the residual has come.

    The bar names its stage: the start, the solve, the proof. Until the callback is called, it only shows that time goes
    on: it has a thread of its own. ``stopping`` says which residual is the end; None where nothing is solved.
    """
    if not console.is_terminal:
        yield lambda _: None
        return
    bar = _bar(console, "{task.description}", TextColumn("{task.fields[note]}"))
    # a solve begins with its starting point, which may take longer than the rest
    task = bar.add_task(what if stopping is None else "finding a start", total=None, note="")
    first: dict[int, float] = {}

    def callback(iterate: Iterate) -> None:
        note = f"iteration {iterate.iteration}, residual {iterate.residual:.1e}"
        start = first.setdefault(iterate.component, iterate.residual)
        tolerance = (stopping or Stopping()).tolerance_for(iterate.z.dtype)
        if iterate.residual <= tolerance:
            bar.update(task, description="certifying", completed=1.0, total=1.0, note=note)
        else:
            done = share_of_the_way(start, iterate.residual, tolerance)
            bar.update(task, description=what, completed=done, total=1.0, note=note)

    timer = threading.Timer(_PATIENCE_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield callback
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


@contextmanager
def counting(console: Console) -> Iterator[Share]:
    """Yield what a run of many parts reports its share to; the bar is there from the beginning."""
    if not console.is_terminal:
        yield lambda name, share: None
        return
    bar = _bar(console, "{task.description:<22}", TaskProgressColumn())
    task = bar.add_task("", total=1.0)
    with bar:
        yield lambda name, share: bar.update(task, description=name, completed=share)


def _bar(console: Console, words: str, note: ProgressColumn) -> Progress:
    columns = (TextColumn(words, markup=False), BarColumn(_BAR_COLUMNS), note, TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def share_of_the_way(start: float, now: float, tolerance: float) -> float:
    """How much of the way from the first residual to the tolerance is done, in orders of magnitude."""
    if not (start > tolerance > 0 and math.isfinite(start) and now > 0):
        return 0.0
    return min(max(math.log(start / now) / math.log(start / tolerance), 0.0), 1.0)
