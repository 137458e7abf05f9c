"""The command itself: its version, its help, and calls that are wrong."""

from __future__ import annotations

import importlib.metadata
import re

import numpy as np
import pytest
from command_line import call, refused, write_csv

VERSION = importlib.metadata.version("angsync")
COMMANDS = ("demo", "solve", "certify", "simulate", "posegraph", "reproduce", "bench", "info")


def test_version():
    answer = call("--version")
    assert (answer.code, answer.stdout) == (0, f"angsync {VERSION}\n")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_every_command(command, flag):
    answer = call(command, flag)
    assert answer.code == 0
    assert f"Usage: angsync {command}" in answer.stdout


def test_help_lists_the_commands_and_the_exit_codes():
    text = call("--help").stdout
    assert all(re.search(rf"^ +{command} ", text, flags=re.MULTILINE) for command in COMMANDS)
    assert "130 interrupted" in text
    assert "..." not in text.split("Commands:")[1]  # no description is cut off
    assert "FILE" in call("solve", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense"),
        (["solve"], "(?i)missing argument .*file"),
        (["solve", "edges.csv", "--nonsense"], "--nonsense"),
        (["solve", "edges.csv", "--solver", "best"], "'best' is not one of 'auto', 'gpm', 'newton'"),
        (["solve", "edges.csv", "--seed", "-1"], "--seed"),
        (["solve", "edges.csv", "--alpha", "2"], "--alpha is the step size of --solver gpm, but the solver is auto"),
        (["solve", "edges.csv", "--solver", "gpm", "--alpha", "-1"], "alpha must be positive"),
        (["solve", "edges.csv", "--solver", "gpm", "--alpha", "nan"], "alpha must be positive"),
        (["solve", "edges.csv", "--tolerance", "nan"], "tolerance must not be negative"),
        (["solve", "edges.csv", "--max-iterations", "-1"], "max_iterations must be a whole number"),
        (["solve", "edges.csv", "--max-seconds", "-1"], "max_seconds must not be negative"),
        (["solve", "edges.csv", "--hermitian", "left"], "'left' is not one of 'full', 'upper', 'lower'"),
        (["solve", "edges.csv", "--gauge", "12"], "'12' is none; the nodes are 0, 1, 2, ..., 11"),
        (["certify", "edges.csv", "edges.csv", "--tolerance", "-1"], "tolerance must be positive"),
        (["simulate", "ring", "-o", "new.csv", "--n", "2"], "a ring needs at least 3 nodes"),
        (["simulate", "ring", "-o", "new.csv", "--n", "0"], "--n"),
        (["simulate", "ring", "-o", "new.csv", "--holonomy", "nan"], "holonomy must be a finite angle"),
        (["simulate", "grid", "-o", "new.csv", "--n", "9"], "grid has no setting 'n'; its settings are rows, columns"),
        (["simulate", "outliers", "-o", "new.csv", "-p", "2"], "probability"),
        (["simulate", "phase_noise", "-o", "new.csv", "--law", "cauchy"], "'cauchy' is not one of 'wrapped_normal'"),
        (["simulate", "gaussian", "-o", "new.npz", "--sigma", "-1"], "sigma must be finite and not negative"),
        (["demo", "--n", "1"], "--n"),
        (["demo", "--sigma", "nan"], "sigma must be finite"),
    ],
)
def test_wrong_calls(tmp_path, arguments, message):
    # angles for certify: the column is there
    write_csv("edges.csv", [(0, 1, 0.1), *((k, k + 1, 0.2) for k in range(1, 11))])
    if arguments[0] == "certify":
        np.save("phases.npy", np.zeros(12))
        arguments = [arguments[0], arguments[1], "phases.npy", *arguments[3:]]
    before = sorted(path.name for path in tmp_path.iterdir())
    assert re.search(message, refused(*arguments))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
