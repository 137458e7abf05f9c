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

from command_line import Answer, call, posix, write_csv

import angsync
from angsync import load_result

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
def test_wrong_input_in_a_real_process():
    process = start("solve", "missing.csv", "-o", "out.npz")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")
    assert err == b"error: cannot read missing.csv: there is no such file. Check the name and the folder.\n"
    assert not Path("out.npz").exists()


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


@posix
def test_an_interrupt_while_reading_writes_nothing():
    write_csv("edges.csv")
    code = (
        "import os, signal, sys, time, angsync.io.reading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def slow(*_, **__):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "angsync.io.reading.read_named = slow\n"
        "sys.argv = ['angsync', 'solve', 'edges.csv', '-o', 'out.npz']\n"
        "from angsync.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", NOTHING_WRITTEN)
    assert [path.name for path in Path().iterdir()] == ["edges.csv"]


@posix
def test_an_interrupt_while_numpy_is_loaded_is_one_line():
    write_csv("edges.csv")
    code = (
        "import signal, sys\n"
        "class Once:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'numpy.linalg':\n"
        "            sys.meta_path.remove(self)\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Once())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.argv = ['angsync', 'solve', 'edges.csv', '-o', 'out.npz']\n"
        "from angsync.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", NOTHING_WRITTEN)


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
