"""``angsync solve --save-best`` and ``--start FILE``: killed, terminated, continued."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import call, posix, refused, write_csv

import angsync
from angsync.io import write_measurements

COMMAND = ("solve", "hard.npz", "--save-best", "best.npz", "--save-seconds", "0", "--json", "--solver", "gpm")
ENDLESS = ("--max-iterations", "1000000", "--no-certify")


def write_hard_problem():
    """A grid on which GPM goes on for as long as it is let."""
    write_measurements(angsync.simulate.grid(40, 40, sigma=0.3, rng=1).measurements, "hard.npz")


def begun() -> subprocess.Popen[str]:
    """The command in a process of its own, once it has saved some phases."""
    process = subprocess.Popen(
        [sys.executable, "-m", "angsync", *COMMAND, *ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    limit = time.monotonic() + 60
    while not Path("best.npz").exists() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.005)
    return process


@posix
def test_killed_solve_continues_from_saved_phases():
    write_hard_problem()
    process = begun()
    try:
        assert process.poll() is None, process.communicate()
        time.sleep(0.3)
    finally:
        process.kill()
        process.communicate()
    saved = angsync.load_result("best.npz")
    answer = call(*COMMAND, "--start", "best.npz", "--max-iterations", "1", "--no-certify")
    assert answer.code == 1
    assert answer.object["objective"] >= saved.objective * (1 - 1e-12)
    assert angsync.load_result("best.npz").objective == pytest.approx(answer.object["objective"])


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_terminated_solve_gives_best_phases(number):
    write_hard_problem()
    process = begun()
    process.send_signal(number)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert json.loads(output)["status"] == "INTERRUPTED"
    assert angsync.load_result("best.npz").objective == pytest.approx(json.loads(output)["objective"])


def test_saved_file_holds_the_answer_at_the_end():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "--save-best", "best.npz", "-o", "x.npz")
    assert answer.code == 0
    np.testing.assert_array_equal(angsync.load_result("best.npz").z, angsync.load_result("x.npz").z)


def test_start_may_be_the_phases_of_a_table():
    write_csv("edges.csv", names=lambda node: f"n{node}")
    assert call("solve", "edges.csv", "-o", "phases.csv", "--unit", "deg").code in (0, 1)
    header, *rows = Path("phases.csv").read_text().splitlines()
    Path("phases.csv").write_text("\n".join([header, *rows[::-1]]))  # nodes are found by their names
    answer = call("solve", "edges.csv", "--unit", "deg", "--start", "phases.csv", "--json")
    assert answer.object["iterations"] <= 1
    Path("phases.csv").write_text("\n".join([header, *(row for row in rows if not row.startswith("n3,"))]))
    assert "n3" in refused("solve", "edges.csv", "--unit", "deg", "--start", "phases.csv")
