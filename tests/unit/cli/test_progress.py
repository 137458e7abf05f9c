"""Progress bars: they appear late, fit into one line, and go away."""

from __future__ import annotations

import time

import numpy as np
import pytest
from command_line import screen, shown

from angsync.cli import progress
from angsync.cli.progress import counting, share_of_the_way, watching
from angsync.solvers.stopping import Progress, Stopping


def iterate(iteration, residual, component=0, kind=complex):
    return Progress(iteration, 1.0, residual, 0.1, 0.0, np.ones(2, dtype=kind), component)


def wait_for(text, console):
    deadline = time.monotonic() + 20
    while text not in shown(console) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert text in shown(console)


def test_bar_appears_after_the_patience(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.01)
    console = screen()
    with watching(console, "solving [now]", Stopping(tolerance=1e-8)) as callback:
        wait_for("finding a start", console)  # also before the first callback
        callback(iterate(0, 1.0))
        callback(iterate(7, 1e-4))
        wait_for("iteration 7, residual 1.0e-04", console)
        callback(iterate(9, 1e-9))
        wait_for("certifying", console)


def test_bar_fits_into_80_columns(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.01)
    console = screen()
    with watching(console, "solving") as callback:
        callback(iterate(1_234_567, 1e-100))
        wait_for("iteration 1234567, residual 1.0e-100", console)  # neither cut nor wrapped
        wait_for("0:00:0", console)


def test_nothing_is_shown_before_the_patience():
    console = screen()
    with watching(console, "solving") as callback:
        callback(iterate(0, 1.0))
    assert shown(console) == ""


def test_nothing_is_shown_when_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    console = screen(terminal=False)
    with watching(console, "solving") as callback:
        callback(iterate(0, 1.0))
        time.sleep(0.2)
    assert shown(console) == ""


def test_the_bar_is_taken_away_when_the_work_fails(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.01)
    console = screen()

    def fail():
        wait_for("solving", console)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watching(console, "solving"):
        fail()
    assert "\x1b[?25h" in shown(console)  # the cursor is back
    assert shown(console).endswith("\x1b[1A\x1b[2K")  # and the line is erased


@pytest.mark.parametrize(
    ("start", "now", "tolerance", "share"),
    [
        (1.0, 1e-5, 1e-10, 0.5),
        (1.0, 1.0, 1e-10, 0.0),
        (1.0, 10.0, 1e-10, 0.0),
        (1.0, 1e-12, 1e-10, 1.0),
        (0.0, 0.1, 1e-10, 0.0),
        (1.0, 0.0, 1e-10, 0.0),
        (float("nan"), 0.1, 1e-10, 0.0),
        (1.0, 0.1, 0.0, 0.0),
    ],
)
def test_share_of_the_way(start, now, tolerance, share):
    assert share_of_the_way(start, now, tolerance) == pytest.approx(share)


def test_the_end_of_the_bar_is_the_tolerance_of_the_precision(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.01)
    for kind, ends in ((np.complex64, True), (np.complex128, False)):
        console = screen()
        with watching(console, "solving") as callback:
            callback(iterate(0, 1.0, kind=kind))
            callback(iterate(1, 5e-6, kind=kind))  # below 1e-5, above 1e-10
            wait_for("iteration 1", console)
        assert ("certifying" in shown(console)) == ends


def test_a_run_of_many_parts_shows_its_share_at_once_and_takes_the_bar_away():
    console = screen()
    with counting(console) as report:
        report("some [part]", 0.25)
        wait_for("some [part]", console)
        wait_for("25%", console)
    assert shown(console).endswith("\x1b[1A\x1b[2K")
    quiet = screen(terminal=False)
    with counting(quiet) as report:
        report("some part", 0.5)
    assert shown(quiet) == ""
