"""What the command line shows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from command_line import screen

from angsync import Measurements, simulate, synchronize
from angsync.cli.terminal import fitted, print_table, result_object


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


def test_table_takes_brackets_for_text(capsys):
    print_table("title", [("a", "[bold]x[/bold]", "note"), ("b", "y", "")])
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_result_object_names_nodes_and_angles():
    names = np.array(["p", "q"], dtype=object)
    result = synchronize(Measurements(names[:1], names[1:], [0.5]))
    content = result_object(result, with_phases=True)
    assert content["nodes"] == ["p", "q"]
    assert content["angles"] == pytest.approx([0.0, -0.5])
    assert content["certificate"]["verdict"] == "CERTIFIED"
    assert "angles" not in result_object(result, with_phases=False)


def test_result_object_withholds_the_proof_of_an_answer_that_is_not_credible():
    problem = simulate.outliers(30, 0.8, sigma=0.1, rng=0).measurements
    result = synchronize(problem, solver="robust")
    assert result_object(result, with_phases=False)["certificate"]["of"] == "these weights"
    doubted = dataclasses.replace(result, robust=dataclasses.replace(result.robust, credible=False))
    assert result_object(doubted, with_phases=False)["certificate"] is None
