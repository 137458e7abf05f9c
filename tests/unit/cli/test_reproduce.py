"""``angsync reproduce``: lines, exit codes, files."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from reproduction import ROW_OF_EXPERIMENT, TINY, Recorder, swallowed
from typer.testing import CliRunner

import angsync.study.reproduce
from angsync import theory
from angsync.cli import app
from angsync.study.reproduce import CLAIMS, EXPERIMENTS, run_experiments


@pytest.fixture
def command(monkeypatch, tmp_path):
    """The command on a few tiny experiments, with a page that says only that it was written."""
    page = types.ModuleType("angsync.study.reproduce.page")
    page.write_reproduction_page = lambda results, path: Path(path).write_text(str(len(results["rows"])))
    monkeypatch.setitem(sys.modules, "angsync.study.reproduce.page", page)

    def run(*options, experiments=EXPERIMENTS):
        tiny = functools.partial(run_experiments, size=TINY, experiments=experiments)
        monkeypatch.setattr(angsync.study.reproduce, "run_experiments", tiny)
        return CliRunner().invoke(app, ["reproduce", "--quick", "-o", str(tmp_path / "out"), *options])

    run.folder = tmp_path / "out"
    return run


def _store(folder, results, without=()):
    """An earlier run in this folder, less some experiments and their rows, which have to be run again."""
    folder.mkdir()
    rows = [row for row in results["rows"] if ROW_OF_EXPERIMENT.get(row["id"]) not in without]
    finished = {name: seconds for name, seconds in results["finished"].items() if name not in without}
    (folder / "results.json").write_text(json.dumps({**results, "rows": rows, "finished": finished}))


def test_command_prints_a_line_a_row_and_ends_with_0(command, results):
    _store(command.folder, results)
    done = command()
    assert done.exit_code == 0, done.output
    printed = done.stdout.splitlines()
    assert [line.split()[0] for line in printed[: len(CLAIMS)]] == list(CLAIMS)
    assert "every row held" in printed[-1]
    assert (command.folder / "report.html").read_text() == str(len(CLAIMS))
    again = command("--json")
    assert again.exit_code == 0
    content = json.loads(again.stdout)
    assert content["violated"] == []
    assert [row["id"] for row in content["rows"]] == list(CLAIMS)


def test_command_ends_with_1_when_a_planted_constant_violates_a_row(command, results, monkeypatch):
    _store(command.folder, results, without=("every iterate",))

    # nu of Theorem 1, a hundredth of what it is
    def wrong(n, alpha, op):
        mu, nu = theory_constants(n, alpha, op)
        return mu, nu / 100

    theory_constants = theory.estimation._l2_constants
    monkeypatch.setattr(theory.estimation, "_l2_constants", wrong)
    done = command()
    assert done.exit_code == 1
    rows = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[: len(CLAIMS)]}
    assert rows["T1"] == "VIOLATED"
    assert rows["P1"] == "held"
    assert "VIOLATED: T1" in done.stdout.splitlines()[-1]


def test_command_interrupted(command):
    recorder = Recorder()
    one, two = recorder.experiment("one", "M1"), recorder.experiment("two", "M2", swallowed)
    done = command(experiments=(one, two))
    assert done.exit_code == 130
    assert list(json.loads((command.folder / "results.json").read_text())["finished"]) == ["one"]
    assert not (command.folder / "report.html").exists()


def test_command_where_it_cannot_write(command):
    command.folder.write_text("a file")
    done = command()
    assert done.exit_code == 2
    assert "cannot create the folder" in done.stderr


def test_command_limits_threads_before_numpy_is_loaded():
    """Threads on matrices of order 50 made the quick run three times as long on two cores."""
    code = (
        "import os, sys; os.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
        "from angsync.cli.reproduce import _one_thread_a_product\n"
        "assert 'numpy' not in sys.modules\n"
        "_one_thread_a_product()\n"
        "assert 'numpy' not in sys.modules\n"
        "assert os.environ['OPENBLAS_NUM_THREADS'] == '1'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
