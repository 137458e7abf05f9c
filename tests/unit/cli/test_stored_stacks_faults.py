"""Faults of disks and paths while a store is written, and what ends a run: exit codes and messages."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import call, refused
from problems import gaussian_stack
from stored_stacks import on_disk

from angsync.cli import give_up
from angsync.io import chunks

zarr = pytest.importorskip("zarr")
LocalStore = zarr.storage.LocalStore
SOLVE = ("solve", "C.zarr", "--out", "out.zarr", "--memory", "1.5kB")  # four chunks


@pytest.fixture(autouse=True)
def _stack():
    on_disk("C.zarr", gaussian_stack(5, 8, 0.2, dtype=np.complex64), (2, 5, 5))


def test_a_full_disk_ends_with_3_and_the_rest_is_done_later():
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


@pytest.mark.parametrize("seconds", ["-1", "nan"])
def test_a_time_limit_is_no_negative_number(seconds):
    assert "max_seconds" in refused(*SOLVE, "--max-seconds", seconds)
    assert not Path("out.zarr").exists()


def test_a_time_limit_ends_with_130():
    ended = call(*SOLVE, "--max-seconds", "0")
    assert ended.code == 130
    assert "3 chunk(s) are not done: --resume" in ended.stdout


@pytest.mark.parametrize("exists", [True, False])
def test_the_output_may_be_a_symbolic_link(exists):
    if exists:
        Path("real.zarr").mkdir()
    Path("out.zarr").symlink_to("real.zarr")
    assert call(*SOLVE).code == 0
    assert Path("out.zarr").is_symlink()
    assert zarr.open_group("real.zarr", mode="r")["z"].shape == (8, 5)
    assert call(*SOLVE, "--resume").code == 0
    assert call("verify", "out.zarr").code == 0


def test_symbolic_links_in_a_circle_are_refused():
    Path("out.zarr").symlink_to("other.zarr")
    Path("other.zarr").symlink_to("out.zarr")
    assert "form a loop" in refused(*SOLVE)


def test_an_input_that_may_not_be_read_is_not_called_damaged(monkeypatch):
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


def test_sigterm_is_ctrl_c_while_a_store_is_written(monkeypatch):
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


def test_sigterm_before_the_command_is_there_has_words():
    code = (
        "import os, signal, angsync.cli as cli\n"
        "cli.__getattr__ = lambda name: os.kill(os.getpid(), signal.SIGTERM)\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (143, b"interrupted: nothing was begun\n")
