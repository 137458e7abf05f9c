"""``angsync solve --checkpoint``: killed, terminated, resumed."""

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
from command_line import call, dense, posix, refused, write_csv

import angsync
from angsync.io.writing import write_measurements

COMMAND = ("solve", "hard.npz", "--checkpoint", "check", "--checkpoint-seconds", "0", "--json", "--solver", "gpm")


def write_hard_problem():
    """A grid on which GPM goes on for as long as it is let."""
    write_measurements(angsync.simulate.grid(40, 40, sigma=0.3, rng=1).measurements, "hard.npz")


def begun(*more: str) -> subprocess.Popen[str]:
    """The command in a process of its own, once it has written a checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "angsync", *COMMAND, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    limit = time.monotonic() + 60
    while not Path("check").exists() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.005)
    return process


@posix
def test_a_killed_solve_goes_on_from_its_checkpoint():
    write_hard_problem()
    limit = ("--max-iterations", "1000000", "--no-certify")
    process = begun(*limit)
    try:
        assert process.poll() is None, process.communicate()
        time.sleep(0.3)
    finally:
        process.kill()
        process.communicate()
    reached = int(json.loads(str(np.load("check")["metadata"]))["parts"]["0"]["going"][1])
    assert reached > 0
    # two steps more than the killed one: those before it are not made again
    answer = call(*COMMAND, "--max-iterations", str(reached + 2), "--no-certify", "--resume")
    assert answer.code == 1
    assert answer.object["status"] == "ITERATION_LIMIT"
    assert answer.object["iterations"] == reached + 2
    assert Path("check").exists()


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_terminated_solve_gives_its_best_answer_and_leaves_a_checkpoint(number):
    write_hard_problem()
    process = begun("--max-iterations", "1000000", "--no-certify")
    process.send_signal(number)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert json.loads(output)["status"] == "INTERRUPTED"
    assert Path("check").exists()


def test_the_checkpoint_is_removed_when_the_answer_is_written():
    write_csv("edges.csv")
    for resume in ((), ("--resume",)):  # a job that is started again with the same line begins anew
        answer = call(
            "solve", "edges.csv", "--checkpoint", "check", "--checkpoint-seconds", "0", *resume, "-o", "x.npz"
        )
        assert answer.code == 0
        assert sorted(os.listdir()) == ["edges.csv", "x.npz"]


def test_wrong_calls():
    write_csv("edges.csv")
    assert "--checkpoint FILE" in refused("solve", "edges.csv", "--resume")
    assert "named twice" in refused("solve", "edges.csv", "--checkpoint", "edges.csv")
    assert "does not exist" in refused("solve", "edges.csv", "--checkpoint", "no/check")
    Path("check").write_text("no checkpoint")
    assert "is no checkpoint" in refused("solve", "edges.csv", "--checkpoint", "check")
    assert "check" in refused("solve", "edges.csv", "--checkpoint", "check", "--resume")
    np.save("stack.npy", np.stack([dense()] * 2))
    assert "--checkpoint is for one problem" in refused("solve", "stack.npy", "--checkpoint", "new")
    assert not Path("new").exists()
