"""Progress is shown on a terminal only, and is taken away."""

from __future__ import annotations

import time

import numpy as np
import pytest
from command_line import screen, shown

from angsync.cli.progress import counting, watching
from angsync.solvers.stopping import Progress

ERASED = "\x1b[1A\x1b[2K"


def patched(monkeypatch, **how):
    """Return what stands for standard error."""
    console = screen(**how)
    monkeypatch.setattr("angsync.cli.progress.screen", lambda: console)
    return console


def wait_for(text, console):
    deadline = time.monotonic() + 20
    while text not in shown(console) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert text in shown(console)


def test_watching_a_solver_shows_its_iterations_in_one_line(monkeypatch):
    console = patched(monkeypatch)
    with watching("solving [now]") as callback:
        wait_for("solving [now]", console)  # also before the first callback
        callback(Progress(1_234_567, 1.0, 1e-100, 0.1, 0.0, np.ones(2, dtype=complex), 0))
        wait_for("iteration 1234567, residual 1.0e-100", console)  # neither cut nor wrapped
    assert shown(console).endswith(ERASED)


def test_counting_parts_shows_their_share(monkeypatch):
    console = patched(monkeypatch)
    with counting() as report:
        report("some [part]", 0.25)
        wait_for("some [part]", console)
        wait_for("25%", console)
    assert shown(console).endswith(ERASED)


def test_a_failure_takes_the_line_away(monkeypatch):
    console = patched(monkeypatch)
    with pytest.raises(KeyboardInterrupt), watching("solving"):
        raise KeyboardInterrupt
    assert "\x1b[?25h" in shown(console)  # the cursor is back
    assert shown(console).endswith(ERASED)


def test_a_pipe_shows_nothing(monkeypatch):
    console = patched(monkeypatch, terminal=False)
    with watching("solving") as callback, counting() as report:
        assert callback is None
        report("some part", 0.5)
    assert shown(console) == ""
