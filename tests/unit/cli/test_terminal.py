"""What the command line shows."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from rich.console import Console

from angsync import Measurements, as_operator, synchronize
from angsync.cli import terminal
from angsync.cli.terminal import count_components, fitted, result_object, table, watching
from angsync.solvers.stopping import Progress


def screen(width=80, terminal=True):
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None, _environ={})


def iterate(iteration, residual, component=0):
    return Progress(iteration, 1.0, residual, 0.1, 0.0, np.ones(2, dtype=complex), component)


def shown(console):
    return console.file.getvalue()


def wait_for(text, console):
    deadline = time.monotonic() + 20
    while text not in shown(console) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert text in shown(console)


def test_bar_appears_after_the_patience(monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.01)
    console = screen()
    with watching(console, "solving [now]", tolerance=1e-8) as callback:
        wait_for("solving [now]", console)  # also before the first callback, and brackets are not markup
        callback(iterate(0, 1.0))
        callback(iterate(7, 1e-4))
        wait_for("iteration 7, residual 1.0e-04", console)
        callback(iterate(9, 1e-9))
        wait_for("certifying", console)


def test_bar_fits_into_80_columns(monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.01)
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
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    console = screen(terminal=False)
    with watching(console, "solving") as callback:
        callback(iterate(0, 1.0))
        time.sleep(0.2)
    assert shown(console) == ""


def test_the_bar_is_taken_away_when_the_work_fails(monkeypatch):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.01)
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
    assert terminal._share(start, now, tolerance) == pytest.approx(share)


def test_fitted_hangs_below_the_content():
    text = "title\n  status       one two three four five six seven eight\n\n  x    y"
    assert fitted(text, screen(width=36)).splitlines() == [
        "title",
        "  status       one two three four",
        "               five six seven eight",
        "",
        "  x    y",
    ]


def test_fitted_never_breaks_a_path():
    path = "/a-long/path-with/" + "x" * 60
    lines = fitted(f"  phases       written to {path}", screen(width=40)).splitlines()
    assert lines == ["  phases       written to", " " * 15 + path]


def test_fitted_leaves_text_for_pipes_as_it_is():
    text = "word " * 50
    assert fitted(text, screen(terminal=False)) == text


def test_a_printed_result_fits_into_80_columns():
    result = synchronize(Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, 0.3]))
    lines = fitted(str(result), screen()).splitlines()
    assert max(map(len, lines)) <= 80
    assert max(map(len, str(result).splitlines())) > 80
    assert " ".join(" ".join(lines).split()) == " ".join(str(result).split())


def test_table_takes_brackets_for_text():
    console = screen()
    console.print(table("title", [("a", "[bold]x[/bold]", "note"), ("b", "y", "")]))
    assert "[bold]x[/bold]" in shown(console)


def test_result_object_names_nodes_and_angles():
    names = np.array(["p", "q"], dtype=object)
    result = synchronize(Measurements(names[:1], names[1:], [0.5]))
    content = result_object(result, with_phases=True)
    assert content["nodes"] == ["p", "q"]
    assert content["angles"] == pytest.approx([0.0, -0.5])
    assert content["certificate"]["verdict"] == "CERTIFIED"
    assert "angles" not in result_object(result, with_phases=False)


def test_components_are_counted():
    assert count_components(as_operator(np.diag([1.0, 2.0, 3.0]))) == 3
    assert count_components(as_operator(np.ones((3, 3)))) == 1
