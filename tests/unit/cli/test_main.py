"""The installed command in real processes: signals, pipes, terminals."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from command_line import Answer, call, posix, write_csv

import angsync
from angsync import load_result

NOTHING_BEGUN = b"interrupted: nothing was begun\n"
NOTHING_WRITTEN = b"interrupted: no answer yet, nothing is written\n"


def start(*arguments, **streams):
    """The installed command; SIGINT is as in an interactive shell, also when the tests run in the background."""
    command = Path(sys.executable).with_name("angsync")
    launcher = [str(command)] if command.exists() else [sys.executable, "-m", "angsync.cli"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80", "TERM": "xterm"}
    return subprocess.Popen(
        [*launcher, *map(str, arguments)],
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def read_until(descriptor, wanted, seconds=60):
    """What a terminal shows, up to the text that is waited for."""
    seen, deadline = b"", time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                part = os.read(descriptor, 65536)
            except OSError:  # Linux says so when the other side has closed
                part = b""
            if not part:
                break
            seen += part
    return seen


@posix
def test_the_command_is_installed():
    write_csv("edges.csv")
    process = start("solve", "edges.csv")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"CERTIFIED: ")
    assert b"\x1b" not in out


@posix
def test_a_terminal_of_80_columns_is_not_overrun():
    import pty

    write_csv("edges.csv")
    ours, theirs = pty.openpty()
    process = start("solve", "edges.csv", stdout=theirs)
    os.close(theirs)
    shown = read_until(ours, b"(deterministic)").decode()
    process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    lines = shown.replace("\r\n", "\n").splitlines()
    assert any(line.startswith("  proof        Proved: ") for line in lines)
    assert max(map(len, lines)) <= 80


@posix
def test_an_interrupt_while_solving_writes_the_best_so_far():
    import pty

    arguments = ["--rows", "200", "--columns", "200", "--sigma", "0.5"]
    assert call("simulate", "grid", "-o", "grid.npz", *arguments).code == 0
    ours, theirs = pty.openpty()
    slow = ["--solver", "gpm", "--alpha", "4", "--tolerance", "1e-14", "--max-iterations", "10000000"]
    process = start("solve", "grid.npz", "-o", "out.npz", "--json", "--start", "random", *slow, stderr=theirs)
    os.close(theirs)
    try:
        # the bar counts from 0; later, the solver is at work
        assert b"iteration 1" in read_until(ours, b"iteration 1")
        process.send_signal(signal.SIGINT)
        # a terminal that nobody reads would block the process
        reader = threading.Thread(target=read_until, args=(ours, b"never shown"), daemon=True)
        reader.start()
        out, _ = process.communicate(timeout=60)
        reader.join()
    finally:
        process.kill()
        os.close(ours)
    assert process.returncode == 130
    content = Answer(130, out.decode(), "").object
    assert content["status"] == "INTERRUPTED"
    assert content["iterations"] > 0
    result = load_result("out.npz")
    assert result.status is angsync.Status.INTERRUPTED
    assert result.n == 40_000
    assert result.objective == content["objective"] > 0


SIGNALED = """
import signal, sys
module, number = sys.argv[1], int(sys.argv[2])

class Once:
    def find_spec(self, name, *_):
        if name == module:
            sys.meta_path.remove(self)
            signal.raise_signal(number)

sys.meta_path.insert(0, Once())
signal.signal(signal.SIGINT, signal.default_int_handler)  # also when the tests run in the background
from angsync.cli import main
sys.argv[1:3] = ["solve", "edges.csv"]
main()
"""


@posix
@pytest.mark.parametrize(
    ("module", "number", "code", "message"),
    [
        ("angsync.cli.certify", signal.SIGINT, 130, NOTHING_BEGUN),
        ("angsync.cli.certify", signal.SIGTERM, 143, NOTHING_BEGUN),
        ("numpy.linalg", signal.SIGINT, 130, NOTHING_WRITTEN),
        ("numpy.linalg", signal.SIGTERM, 130, NOTHING_WRITTEN),
        ("angsync.io.reading", signal.SIGINT, 130, NOTHING_WRITTEN),
    ],
)
def test_a_signal_while_modules_are_loaded_is_one_line(module, number, code, message):
    write_csv("edges.csv")
    command = [sys.executable, "-c", SIGNALED, module, str(int(number)), "-o", "out.npz"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", message)
    assert [path.name for path in Path().iterdir()] == ["edges.csv"]


@posix
def test_a_reader_that_has_seen_enough_gets_no_message():
    write_csv("edges.csv")
    ours, theirs = os.pipe()
    os.close(ours)
    process = start("solve", "edges.csv", "-o", "out.npz", stdout=theirs)
    os.close(theirs)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")
    assert load_result("out.npz").converged


def test_the_package_runs_as_a_module():
    def answer(*arguments):
        return subprocess.run([sys.executable, "-m", "angsync", *arguments], capture_output=True, text=True)

    assert answer("--version").stdout == f"angsync {angsync.__version__}\n"
    write_csv("edges.csv")
    assert answer("solve", "edges.csv", "-o", "out.npz").returncode == 0
    wrong = answer("solve", "absent.csv")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "absent.csv" in wrong.stderr
