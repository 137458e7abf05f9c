"""``angsync solve`` of a stack in a zarr store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import call, posix, refused
from problems import gaussian_stack
from stored_stacks import NAMES, files_at, on_disk, take_away

import angsync as ang

zarr = pytest.importorskip("zarr")


def test_a_store_is_solved_into_another_and_gone_on_with():
    stack = gaussian_stack(5, 8, 0.2, dtype=np.complex64)
    array = on_disk("C.zarr", stack, (2, 5, 5))
    answer = call("solve", "C.zarr", "--out", "out.zarr", "--memory", "1.5kB", "--gauge", "2")
    assert (answer.code, answer.stderr) == (0, "")
    assert "8 problem(s) of order 5, shape (8,), in 4 chunk(s)" in answer.stdout
    assert "CERTIFIED 8, UNDECIDED 0" in answer.stdout
    assert "written to out.zarr" in answer.stdout
    found = zarr.open_group("out.zarr", mode="r")["z"][...]
    np.testing.assert_array_equal(found, ang.synchronize(stack, gauge=2).z)
    again = call("solve", "C.zarr", "--out", "out.zarr", "--gauge", "2", "--resume", "--json")
    assert again.code == 0
    assert again.object["chunks"] == {"done": 4, "before": 4, "failed": {}, "not done": []}
    assert again.object["certified"] == 8
    take_away(array, slice(2, 4))
    answer = call("solve", "C.zarr", "-o", "other.zarr", "--memory", "1.5kB")
    assert answer.code == 3
    assert "chunk 1 failed: the store of the input has no chunk " in answer.stdout
    assert "--absent zeros" in answer.stdout
    assert "--resume" in answer.stdout
    answer = call("solve", "C.zarr", "-o", "third.zarr", "--absent", "empty", "--json")
    assert answer.code == 1
    assert answer.object["status"] == {"CONVERGED": 6, "NO_DATA": 2, "UNDECIDED": 2}


def test_zeros_that_were_not_written_are_solved_where_that_is_said_also_by_a_resumed_run():
    stack = gaussian_stack(6, 4, 0.2)
    stack[2:, :2, 4:] = stack[2:, 4:, :2] = 0
    array = on_disk("C.zarr", stack, (2, 2, 2), fill_value=0)
    for file in files_at(array, slice(2, 4), slice(0, 2), slice(4, 6)):  # the newer library has not
        file.unlink(missing_ok=True)
    for file in files_at(array, slice(2, 4), slice(4, 6), slice(0, 2)):
        file.unlink(missing_ok=True)
    assert call("solve", "C.zarr", "--out", "out.zarr", "--memory", "4kB").code == 3
    answer = call("solve", "C.zarr", "--out", "out.zarr", "--resume", "--absent", "zeros", "--json")
    assert answer.code == 0
    assert answer.object["chunks"]["before"] == 1
    np.testing.assert_array_equal(zarr.open_group("out.zarr", mode="r")["z"][...], ang.synchronize(stack).z)


@pytest.mark.parametrize("triangle", ["upper", "lower"])
def test_the_triangle_that_is_not_read_need_not_be_there(triangle):
    stack = gaussian_stack(6, 4, 0.2)
    array = on_disk("C.zarr", np.triu(stack) if triangle == "upper" else np.tril(stack), (2, 3, 3), fill_value=0)
    away = (slice(3, 6), slice(0, 3)) if triangle == "upper" else (slice(0, 3), slice(3, 6))
    for file in files_at(array, slice(0, 4), *away):
        file.unlink(missing_ok=True)
    assert call("solve", "C.zarr", "--out", "out.zarr", "--hermitian", triangle).code == 0
    expected = ang.synchronize(stack, hermitian=triangle).z
    np.testing.assert_array_equal(zarr.open_group("out.zarr", mode="r")["z"][...], expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--out OUT.zarr"),
        (("-o", "out.npz"), "--out OUT.zarr, not out.npz"),
        (("-o", "C.zarr"), "the stack itself"),
        (("-o", "o.zarr", "--report", "page.html"), "--report is not for a stack in a zarr store"),
        (("-o", "o.zarr", "--solver", "gpm"), "--solver is not for a stack"),
        (("-o", "o.zarr", "--anchor", "0=1"), "--anchor is not for a stack"),
        (("-o", "o.zarr", "--save-best", "file.npz"), "--save-best is not for a stack"),
        (("-o", "o.zarr", "--memory", "lots"), "memory must be a number of bytes or a size"),
        (("-o", "o.zarr", "--memory", "100"), "one problem of 4 nodes has 256 bytes"),
        (("-o", "o.zarr", "--gauge", "9"), "9"),
        (("-o", "o.zarr", "--absent", "never"), "'error', 'empty', 'zeros'"),
    ],
)
def test_what_is_wrong_is_said_at_once(arguments, message):
    on_disk("C.zarr", gaussian_stack(4, 3), (1, 4, 4))
    assert message in refused("solve", "C.zarr", *arguments)


def test_options_of_stores_are_not_for_other_files():
    np.save("C.npy", gaussian_stack(4, 3))
    for option in (("--memory", "1GB"), ("--scheduler", "tcp://localhost:1")):
        assert f"{option[0]} is for a stack in a zarr store" in refused("solve", "C.npy", *option)
    assert "nothing.zarr" in refused("solve", "nothing.zarr", "-o", "out.zarr")


@posix
@pytest.mark.slow
def test_a_signal_at_any_moment_ends_in_the_same_bits():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((6000, 12, 12)) + 1j * rng.standard_normal((6000, 12, 12))
    stack = half + half.conj().swapaxes(1, 2)  # open problems, most of the time goes into further starts
    on_disk("C.zarr", stack, (1000, 12, 12))
    expected = ang.synchronize(stack)

    def run(name, wait, sent):
        command = [sys.executable, "-m", "angsync.cli", "solve", "C.zarr", "--out", name, "--memory", "20MB"]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        while process.poll() is None and not Path(name).exists():
            time.sleep(0.001)
        begin = time.monotonic()
        while process.poll() is None and time.monotonic() < begin + wait:
            time.sleep(0.001)
        process.send_signal(sent)
        return process.wait(timeout=60), time.monotonic() - begin

    code, whole = run("whole.zarr", 60, signal.SIGINT)
    assert code == 1  # some problems stay UNDECIDED
    codes = []
    for k in range(10):
        sent = signal.SIGTERM if k % 2 else signal.SIGINT
        codes.append(run(f"{k}.zarr", rng.uniform(0, whole / 2), sent)[0])
        assert codes[-1] in (1, 130, -sent)  # the last: when Python itself was ending
        assert call("solve", "C.zarr", "--out", f"{k}.zarr", "--memory", "20MB", "--resume").code == 1
        found = zarr.open_group(f"{k}.zarr", mode="r")
        for name in NAMES:
            np.testing.assert_array_equal(found[name][...], getattr(expected, name))
    assert codes.count(130) >= 5  # the others had ended, or Python was ending
