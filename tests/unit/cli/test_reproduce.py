"""``angsync reproduce``: lines, exit codes, files."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest
from reproduction import TINY, swallowed
from typer.testing import CliRunner

import angsync.study.reproduce
from angsync import theory
from angsync.cli import app
from angsync.study.reproduce import CLAIMS, EXPERIMENTS, run_experiments
from angsync.study.reproduce.rows import Piece

pytest.importorskip("matplotlib")


@pytest.fixture
def command(monkeypatch, tmp_path):
    """The command at tiny sizes."""

    def run(*options):
        tiny = functools.partial(run_experiments, size=TINY)
        monkeypatch.setattr(angsync.study.reproduce, "run_experiments", tiny)
        return CliRunner().invoke(app, ["reproduce", "--quick", "-o", str(tmp_path / "out"), *options])

    run.folder = tmp_path / "out"
    return run


def test_command_prints_a_line_per_row_and_ends_with_0(command, monkeypatch, results):
    done = command()
    assert done.exit_code == 0, done.output
    printed = done.stdout.splitlines()
    assert [line.split()[0] for line in printed[: len(CLAIMS)]] == list(CLAIMS)
    assert "every row held" in printed[-1]
    report = (command.folder / "report.md").read_text()
    for name in results.series:
        assert f"({name}.svg)" in report
        assert (command.folder / f"{name}.svg").stat().st_size > 0
    content = json.loads((command.folder / "results.json").read_text(), parse_constant=pytest.fail)
    assert content["violated"] == []
    assert [row["id"] for row in content["rows"]] == list(CLAIMS)


def test_command_ends_with_1_when_a_planted_constant_violates_a_row(command, monkeypatch):
    # nu of Theorem 1, a hundredth of what it is
    def wrong(n, alpha, op):
        mu, nu = theory_constants(n, alpha, op)
        return mu, nu / 100

    theory_constants = theory.estimation._l2_constants
    monkeypatch.setattr(theory.estimation, "_l2_constants", wrong)
    done = command("--json")
    assert done.exit_code == 1
    content = json.loads(done.stdout)
    assert content["violated"] == ["T1"]
    assert "**T1**, VIOLATED" in (command.folder / "report.md").read_text()


def test_command_interrupted(command, monkeypatch):
    def experiment(size, trials):
        swallowed()
        return Piece()

    monkeypatch.setitem(EXPERIMENTS, "objectives", experiment)
    done = command()
    assert done.exit_code == 130
    assert not command.folder.exists()


def test_command_without_matplotlib_fails_before_the_work(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(EXPERIMENTS, "measurement model", lambda size, trials: pytest.fail("ran"))
    done = command()
    assert done.exit_code == 2
    assert "pip install" in done.stderr


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
