"""How many threads the compiled kernels use."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.errors import InputError
from angsync.kernels import thread_count


def test_the_number_asked_for_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert kernels.threads() == 3
    with kernels.limited(2):
        assert kernels.threads() == 2
        with kernels.limited(1):
            assert kernels.threads() == 1
        assert kernels.threads() == 2
    assert kernels.threads() == 3
    monkeypatch.delenv("ANGSYNC_NUM_THREADS")
    assert kernels.threads() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert kernels.threads() >= 1


def test_it_is_given_back_after_an_error():
    before = kernels.threads()
    with pytest.raises(ang.errors.NotHermitianError):
        ang.synchronize(np.triu(np.ones((3, 3))), threads=before + 1)
    assert kernels.threads() == before


def test_synchronize_uses_what_is_asked_for(monkeypatch):
    seen = []
    C = ang.simulate.gaussian(450, 1.0, rng=0).C
    ang.synchronize(C, threads=2, callback=lambda progress: seen.append(kernels.threads()) and None)
    assert set(seen) == {2}
    for count in (1, 2, 3):
        first, again = ang.synchronize(C, threads=count), ang.synchronize(C, threads=count)
        assert np.array_equal(first.z, again.z)
    stack = np.stack([ang.simulate.gaussian(5, 0.1, rng=k).C for k in range(4)])
    assert np.array_equal(ang.synchronize(stack, threads=1).z, ang.synchronize(stack, threads=2).z)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "all"])
def test_a_wrong_number_is_refused(threads):
    with pytest.raises(InputError, match="threads must be a whole number"):
        ang.synchronize(np.eye(3), threads=threads)


def test_threads_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,1")
    monkeypatch.delenv("ANGSYNC_NUM_THREADS", raising=False)
    assert kernels.threads() == 3
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "2")
    assert kernels.threads() == 2
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "many")
    assert kernels.threads() == 3


def test_all_cores_are_used_however_busy_the_machine_is(monkeypatch):
    from angsync.kernels import library

    for name in ("ANGSYNC_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(thread_count, "cores", lambda: 4)

    opened, own = [], open
    monkeypatch.setattr("builtins.open", lambda path, *rest, **more: opened.append(path) or own(path, *rest, **more))
    assert kernels.threads() == library.threads_for(10**6) == 4
    assert not [path for path in opened if "load" in str(path) or "stat" in str(path)]
    with kernels.limited(3):
        assert library.threads_for(10**6) == 3


FORK = """
import os, sys
import numpy as np
import angsync as ang
problems = [
    ang.simulate.gaussian(600, 3.0, rng=0).C,
    ang.simulate.grid(120, 120, 0.2, rng=0).C,
    np.stack([ang.simulate.gaussian(12, 0.3, rng=k).C for k in range(300)]),
]
def bits(threads):
    return [ang.synchronize(C, threads=threads, on_failure="ignore").z.tobytes() for C in problems]
expected = {threads: bits(threads) for threads in (2, 3, None)}
child = os.fork()
if child == 0:
    os._exit(0 if all(bits(threads) == seen for threads, seen in expected.items()) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_gives_the_bits_of_its_parent():
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=300).returncode == 0


def test_a_forked_process_that_cannot_be_told_uses_one_thread(monkeypatch):
    monkeypatch.setattr(thread_count._Pool, "lost", True)
    monkeypatch.setattr(thread_count._Pool, "work_off_alone", None)
    with kernels.limited(3):
        assert kernels.threads() == 1


def test_threads_without_openmp_is_one():
    code = "from angsync.kernels import thread_count; thread_count.have_no_threads(); print(thread_count.threads())"
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
