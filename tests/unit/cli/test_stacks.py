"""``angsync solve`` of a file with a stack of problems."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from command_line import call
from problems import gaussian_stack

import angsync as ang
from angsync.batch.result import BatchStatus
from angsync.cli import stacks


def test_a_stack_is_solved_and_written():
    C = gaussian_stack(5, 6, 0.2).reshape(2, 3, 5, 5)
    np.save("stack.npy", C)
    answer = call("solve", "stack.npy", "-o", "out.npz", "--gauge", "3", "--standard-errors")
    assert (answer.code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("CERTIFIED 6, UNDECIDED 0")
    assert "6 problem(s) of order 5, shape (2, 3)" in answer.stdout
    assert "phases       written to out.npz" in answer.stdout
    expected = ang.synchronize(C, gauge=3)
    np.testing.assert_array_equal(ang.BatchResult.load("out.npz").z, expected.z)
    with np.load("out.npz") as found:
        np.testing.assert_array_equal(found["standard_errors"], expected.standard_errors())


def test_json_and_what_is_not_whole():
    C = gaussian_stack(5, 4, 0.2)
    C[1] = 0
    C[2, :2, 2:] = C[2, 2:, :2] = 0
    C[3] = np.nan
    np.save("stack.npy", C)
    answer = call("solve", "stack.npy", "--json")
    assert answer.code == 1
    assert "1 in several pieces" in answer.stderr
    assert answer.object["status"] == {"CONVERGED": 1, "NOT_FINITE": 1, "EMPTY": 1, "DISCONNECTED": 1, "UNDECIDED": 3}
    assert (answer.object["certified"], answer.object["n"], answer.object["shape"]) == (1, 5, [4])
    answer = call("solve", "stack.npy")
    assert "-o phases.npz" in answer.stdout


@pytest.mark.parametrize(("solved", "first_runs"), [(0, 0), (1, 1), (0, 3)])
def test_an_interrupted_stack_is_written_only_if_there_is_an_answer_in_it(monkeypatch, solved, first_runs):
    C = gaussian_stack(5, 3, 0.2)
    np.save("stack.npy", C)
    whole = ang.synchronize(C)
    status = np.where(np.arange(3) < solved, whole.status, BatchStatus.INTERRUPTED).astype(np.int8)
    z = np.where(np.arange(3)[:, None] < first_runs, whole.z, np.nan)
    monkeypatch.setattr(stacks, "synchronize", lambda *_, **__: dataclasses.replace(whole, z=z, status=status))
    answer = call("solve", "stack.npy", "-o", "out.npz")
    assert answer.code == 130
    assert Path("out.npz").exists() is bool(first_runs)
    if first_runs:
        np.testing.assert_array_equal(ang.BatchResult.load("out.npz").z, z)
    else:
        assert (answer.stdout, answer.stderr) == ("", "interrupted: no answer yet, nothing is written\n")
