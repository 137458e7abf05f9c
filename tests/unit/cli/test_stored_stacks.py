"""``angsync solve`` of a stack in a zarr store."""

from __future__ import annotations

import os
import resource
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
from angsync.cli import give_up
from angsync.io import chunks

zarr = pytest.importorskip("zarr")
LocalStore = zarr.storage.LocalStore


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
    assert "written to" in answer.stdout
    assert "chunk 1 failed: the store of the input has no chunk " in answer.stdout
    assert "--absent zeros" in answer.stdout
    assert "--resume" in answer.stdout
    take_away(array, slice(0, 2))
    take_away(array, slice(4, 8))
    nothing = call("solve", "C.zarr", "-o", "nothing.zarr", "--memory", "1.5kB")
    assert (nothing.code, "written to" in nothing.stdout) == (3, False)
    on_disk("C.zarr", stack, (2, 5, 5))
    take_away(array, slice(2, 4))
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


# --- faults of disks and paths, and what ends a run ------------------------------------------------------------

SOLVE = ("solve", "C.zarr", "--out", "out.zarr", "--memory", "1.5kB")  # four chunks


@pytest.fixture
def stack():
    on_disk("C.zarr", gaussian_stack(5, 8, 0.2, dtype=np.complex64), (2, 5, 5))


def test_a_full_disk_ends_with_3_and_the_rest_is_done_later(stack):
    assert call(*SOLVE, "--max-seconds", "0").code == 130
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60, before[1]))
    try:
        ended = call(*SOLVE, "--resume")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ended.code == 3
    assert "bytes are free there" in ended.stderr
    checked = call("verify", "out.zarr", "--json")
    assert (checked.code, checked.object["right"], checked.object["wrong"]) == (3, 1, {})
    assert call(*SOLVE, "--resume").code == 0
    assert call("verify", "out.zarr").code == 0


def test_a_time_limit_ends_with_130(stack):
    ended = call(*SOLVE, "--max-seconds", "0")
    assert ended.code == 130
    assert "3 chunk(s) are not done: --resume" in ended.stdout


@pytest.mark.parametrize("exists", [True, False])
def test_the_output_may_be_a_symbolic_link(stack, exists):
    if exists:
        Path("real.zarr").mkdir()
    Path("out.zarr").symlink_to("real.zarr")
    assert call(*SOLVE).code == 0
    assert Path("out.zarr").is_symlink()
    assert zarr.open_group("real.zarr", mode="r")["z"].shape == (8, 5)
    assert call(*SOLVE, "--resume").code == 0
    assert call("verify", "out.zarr").code == 0


def test_symbolic_links_in_a_circle_are_refused(stack):
    Path("out.zarr").symlink_to("other.zarr")
    Path("other.zarr").symlink_to("out.zarr")
    assert "form a loop" in refused(*SOLVE)


def test_an_input_that_may_not_be_read_is_not_called_damaged(stack, monkeypatch):
    chunk = next(path for path in sorted(Path("C.zarr").rglob("*")) if path.is_file() and "z" not in path.name)
    chunk.write_bytes(b"x")
    assert "it is cut off or damaged" in call(*SOLVE).stdout
    real = LocalStore.get

    def refusing(store, key, *given, **how):
        if (store.root / key).absolute() == chunk.absolute():
            raise PermissionError(13, "Permission denied")
        return real(store, key, *given, **how)

    monkeypatch.setattr(LocalStore, "get", refusing)
    ended = call(*SOLVE, "--resume")
    assert ended.code == 3
    assert "you may not read it" in ended.stdout
    assert "other options, such as --hermitian, need another --out" in ended.stdout


def test_sigterm_is_ctrl_c_while_a_store_is_written(stack, monkeypatch):
    real, calls = chunks._write_json, []

    def ended(*given):
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*given)

    monkeypatch.setattr(chunks, "_write_json", ended)
    before = signal.signal(signal.SIGTERM, give_up)  # as while the command is loaded
    try:
        assert call(*SOLVE).code == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert call(*SOLVE, "--resume").code == 0
    assert call("verify", "out.zarr").code == 0
