"""``angsync solve -``, and files whose names do not say what they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from command_line import call, refused, write_csv
from typer.testing import CliRunner

from angsync.cli import app

CSV = "i,j,angle\na,b,0.1\nb,c,0.2\nc,a,-0.31\n"


def piped(text: str | bytes, *arguments: str):
    return CliRunner().invoke(app, ["solve", "-", *arguments], input=text)


def test_standard_input_is_a_table_unless_said_otherwise():
    answer = piped(CSV, "--json")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["nodes"] == ["a", "b", "c"]
    np.save("c.npy", np.ones((3, 3)))
    assert piped(Path("c.npy").read_bytes(), "--format", "npy").exit_code == 0


def test_the_whole_way_through_a_shell():
    """``angsync solve - < edges.csv --json | python -m json.tool``: nothing but JSON on standard output."""
    Path("edges.csv").write_text(CSV)
    with open("edges.csv", "rb") as stream:
        command = [sys.executable, "-m", "angsync", "solve", "-", "--json", "--no-certify", "--max-iterations", "1"]
        done = subprocess.run(command, stdin=stream, capture_output=True, timeout=120, check=False)
    assert json.loads(done.stdout)["n"] == 3


def test_messages_say_standard_input():
    assert "standard input is empty" in piped("").stderr
    answer = piped("x,y\n1,2\n")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: standard input: there is no column 'i'")
    assert "It was read as csv (--format)." in answer.stderr
    assert "i=" not in answer.stderr


def test_a_name_that_does_not_say_the_format():
    write_csv("edges.dat")
    message = refused("solve", "edges.dat")
    assert "--format csv" in message
    assert "format=" not in message
    assert call("solve", "edges.dat", "--format", "csv").code == 0
    assert "is not one of 'csv'" in call("solve", "edges.dat", "--format", "doc").stderr
