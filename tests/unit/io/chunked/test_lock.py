"""One client at a time: the second is refused, a dead one is not waited for, and no clock is asked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from angsync.errors import OutputError
from angsync.io.chunked import lock


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "out.zarr" / "_manifest"
    found.mkdir(parents=True)
    return found


def held_by(folder, **content):
    (folder / "lock").write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), **content}))


def test_the_second_client_is_refused_and_the_lock_goes_with_the_first(folder):
    with lock.locked(folder):
        assert lock.holder(folder) == f"process {os.getpid()} on {socket.gethostname()}"
        with (
            pytest.raises(OutputError, match=rf"written by another client, process {os.getpid()} on "),
            lock.locked(folder),
        ):
            pass
        assert (folder / "lock").exists()
    assert not (folder / "lock").exists()
    assert lock.holder(folder) == ""


def test_the_lock_is_let_go_where_the_work_fails(folder):
    with pytest.raises(ZeroDivisionError), lock.locked(folder):
        raise ZeroDivisionError
    with lock.locked(folder):
        pass


def test_a_process_that_died_does_not_hold_it(folder):
    code = (
        "import os, sys, pathlib; from angsync.io.chunked import lock; "
        "held = lock.locked(pathlib.Path(sys.argv[1])); held.__enter__(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], timeout=60)
    assert done.returncode == -9
    assert (folder / "lock").exists()
    assert lock.holder(folder) == ""
    with lock.locked(folder):
        pass


def test_another_process_of_the_same_number_does_not_hold_it(folder):
    held_by(folder, begun="another machine/12")
    if not lock._own()["begun"]:
        pytest.skip("this system does not say when a process began")
    with lock.locked(folder):
        assert "another machine" not in (folder / "lock").read_text()


@pytest.mark.parametrize("content", [{"begun": ""}, {"host": "another machine"}])
def test_where_nobody_can_know_that_it_died_it_is_believed(folder, content, monkeypatch):
    held_by(folder, **content)
    monkeypatch.setattr(lock, "fcntl", None)  # or a file system without locks
    with pytest.raises(OutputError, match="delete"), lock.locked(folder):
        pass
    assert lock.holder(folder)


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"pid": "x"}'])
def test_a_lock_without_content_holds_nothing(folder, text):
    (folder / "lock").write_text(text)
    with lock.locked(folder):
        assert json.loads((folder / "lock").read_text())["pid"] == os.getpid()
