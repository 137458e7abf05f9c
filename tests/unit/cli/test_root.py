"""The command itself: its version, its help, its threads."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys

import pytest
from command_line import call, refused, write_csv

import angsync
from angsync import kernels
from angsync.cli import COMMANDS, PANELS, app
from angsync.cli.root import BLAS_VARIABLES

VERSION = importlib.metadata.version("angsync")


def test_version():
    answer = call("--version")
    assert (answer.code, answer.stdout) == (0, f"angsync {VERSION}\n")


def test_the_command_alone_prints_its_help_with_the_commands_in_groups():
    answer = call()
    assert (answer.code, answer.stdout.split()) == (0, call("--help").stdout.split())
    assert "130 interrupted" in answer.stdout
    assert "--install-completion" in answer.stdout
    assert {command.callback.__name__ for command in app.registered_commands} == set(COMMANDS)
    for panel, names in PANELS.items():
        group = answer.stdout.partition(f"─ {panel} ─")[2].partition("╰─")[0]
        assert re.findall(r"^│ (\w+) ", group, flags=re.MULTILINE) == [*names]


def test_options_of_solve_are_in_panels():
    help_text = call("solve", "--help").stdout
    panels = ("What is read", "Columns of a table", "How it is solved", "Limits", "What comes out", "Zarr stacks")
    assert all(f"─ {panel} ─" in help_text for panel in panels)


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


def test_threads_hold_for_the_command(seen, monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "5")
    for name in BLAS_VARIABLES:
        monkeypatch.setenv(name, "7")
    assert call("info").code == 0
    assert seen == {"threads": 5, "variables": dict.fromkeys(BLAS_VARIABLES, "7")}
    assert call("--threads", "3", "info").code == 0
    assert seen == {"threads": 3, "variables": dict.fromkeys(BLAS_VARIABLES, "3")}
    assert kernels.threads() == 5


def test_threads_are_put_back_when_the_command_fails(seen, monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "5")
    for name in BLAS_VARIABLES:
        monkeypatch.setenv(name, "7")
    refused("--threads", "2", "solve", "missing.csv")
    assert kernels.threads() == 5


def test_threads_reach_a_solve(monkeypatch):
    write_csv("edges.csv")
    for name in BLAS_VARIABLES:
        monkeypatch.setenv(name, "7")
    found = []
    original = angsync.front_door.synchronize

    def synchronize(*arguments, **options):
        found.append(kernels.threads())
        return original(*arguments, **options)

    monkeypatch.setattr("angsync.front_door.synchronize", synchronize)
    assert call("--threads", "1", "solve", "edges.csv").code == 0
    assert call("--threads", "2", "solve", "edges.csv").code == 0
    assert found == [1, 2]


# --- what is loaded ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(["-h"], "Usage: "), (["--version"], VERSION), *(([name, "--help"], f"Usage: -c {name} ") for name in COMMANDS)],
)
def test_help_is_there_and_loads_no_numpy(arguments, shown):
    code = (
        "import sys\nfrom angsync.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown in done.stdout
