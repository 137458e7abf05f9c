"""The runner of the benchmarks: its table, its names, its exit code; and that every claim can be loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(*arguments):
    return subprocess.run([sys.executable, FOLDER / "run.py", *arguments], capture_output=True, text=True)


def python(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, check=True)
    return done.stdout


def test_run_writes_the_table_of_a_claim(tmp_path):
    pytest.importorskip("networkx")
    done = run("families", "--quick", "--output", tmp_path / "table.md")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.md").read_text() == done.stdout
    head, rule, first = [line for line in done.stdout.splitlines() if line.startswith("|")][:3]
    assert head.count("|") == rule.count("|") == first.count("|")
    assert "ring (n = 1000)" in first


def test_run_refuses_an_unknown_name():
    done = run("nonsense")
    assert done.returncode == 2
    assert "proof_gaps" in done.stderr


@pytest.mark.parametrize(("fails", "code"), [("", 0), ("another objective", 1)])
def test_a_row_that_fails_decides_the_exit_code(fails, code):
    found = python(
        "import types, sys, run; claim = types.ModuleType('cases.planted'); "
        f"claim.rows = lambda quick: [{{'case': 'a', 'value': 0.5}}, {{'case': 'b', 'fails': {fails!r}}}]; "
        "run.MODULES['planted'] = 'cases.planted'; sys.modules['cases.planted'] = claim; "
        "print(run.run_here('planted', True))"
    ).splitlines()
    assert found[-1] == str(code)
    assert ("another objective" in "".join(found)) is bool(fails)
    assert "| a | 0.5 |" in "".join(found)


def test_a_claim_whose_library_is_missing_is_left_out():
    found = python("import run; run.MODULES['x'] = 'no_such_module'; print(run.run_here('x', True))")
    assert "not run: No module named 'no_such_module'" in found
    assert found.splitlines()[-1] == "0"


def test_every_claim_can_be_loaded():
    missing = python(
        "import importlib, run\n"
        "for name, module in run.MODULES.items():\n"
        "    try:\n"
        "        assert callable(importlib.import_module(module).rows), name\n"
        "    except ModuleNotFoundError as error:\n"
        "        print(error.name)\n"
    )
    assert set(missing.split()) <= {"cupy", "networkx", "zarr"}
