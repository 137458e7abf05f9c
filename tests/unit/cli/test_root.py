"""The command itself: its version, its help, and calls that are wrong."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from command_line import call, posix, refused, write_csv

import angsync
from angsync import kernels
from angsync.cli import COMMANDS, PANELS, app
from angsync.cli.root import BLAS_VARIABLES

VERSION = importlib.metadata.version("angsync")


def test_version():
    answer = call("--version")
    assert (answer.code, answer.stdout) == (0, f"angsync {VERSION}\n")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_every_command(command, flag):
    answer = call(command, flag)
    assert answer.code == 0
    assert f"Usage: angsync {command}" in answer.stdout


def test_the_command_alone_prints_its_help_with_the_commands_in_groups():
    answer = call()
    assert (answer.code, answer.stdout.split()) == (0, call("--help").stdout.split())
    assert "130 interrupted" in answer.stdout
    for panel, names in PANELS.items():
        group = answer.stdout.partition(f"─ {panel} ─")[2].partition("╰─")[0]
        assert re.findall(r"^│ (\w+) ", group, flags=re.MULTILINE) == [*names]


def test_options_of_solve_are_in_panels():
    help_text = call("solve", "--help").stdout
    panels = ("What is read", "Columns of a table", "How it is solved", "Limits", "What comes out", "Zarr stacks")
    assert all(f"─ {panel} ─" in help_text for panel in panels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense"),
        (["solve"], "(?i)missing argument .*file"),
        (["solve", "edges.csv", "--nonsense"], "--nonsense"),
        (["solve", "edges.csv", "--solver", "best"], "'best' is not one of 'auto', 'accelerated', 'gpm', 'newton'"),
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


# --- threads -------------------------------------------------------------------------------------------------


@pytest.fixture
def seen(monkeypatch):
    """Threads of the kernels, and what BLAS is told, while ``angsync info`` runs."""
    found = {}

    def installation():
        found["threads"] = kernels.threads()
        found["variables"] = {name: os.environ.get(name) for name in BLAS_VARIABLES}
        return {}

    monkeypatch.setattr("angsync.cli.info.installation", installation)
    return found


def test_threads_hold_for_the_command_and_not_beyond_it(seen, monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "5")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = {name: os.environ.get(name) for name in BLAS_VARIABLES}
    assert call("--threads", "3", "info").code == 0
    assert seen == {"threads": 3, "variables": dict.fromkeys(BLAS_VARIABLES, "3")}
    assert kernels.threads() == 5
    assert {name: os.environ.get(name) for name in BLAS_VARIABLES} == before
    assert call("info").code == 0
    assert seen == {"threads": 5, "variables": before}


def test_threads_are_put_back_when_the_command_fails(seen, monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "5")
    refused("--threads", "2", "solve", "missing.csv")
    assert kernels.threads() == 5


def test_threads_reach_a_solve(monkeypatch):
    write_csv("edges.csv")
    found = []
    original = angsync.front_door.synchronize

    def synchronize(*arguments, **options):
        found.append(kernels.threads())
        return original(*arguments, **options)

    monkeypatch.setattr("angsync.front_door.synchronize", synchronize)
    assert call("--threads", "1", "solve", "edges.csv").code == 0
    assert call("--threads", "2", "solve", "edges.csv").code == 0
    assert found == [1, 2]


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_a_number_of_threads_that_makes_no_sense_is_refused(count):
    assert "--threads" in refused("--threads", count, "info")


# --- what is loaded ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_numpy(arguments):
    code = (
        "import sys\nfrom angsync.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_every_command_of_the_list_is_registered():
    assert {command.callback.__name__ for command in app.registered_commands} == set(COMMANDS)


# --- Ctrl-C --------------------------------------------------------------------------------------------------


@posix
def test_ctrl_c_while_the_command_is_loaded_is_one_word():
    code = (
        "import os, signal, sys, angsync.cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # also when the tests run in the background
        "class Interrupt:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'angsync.cli.certify':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['angsync', 'info']\n"
        "angsync.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted: nothing was begun\n")


def test_completion_is_offered():
    assert "--install-completion" in call("--help").stdout
    assert "--show-completion" in call("--help").stdout
