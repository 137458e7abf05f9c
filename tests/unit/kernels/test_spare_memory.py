"""Work arrays that are kept for the next problem."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from reference.narrow import dense

import angsync as ang
from angsync import kernels
from angsync.kernels import spare_memory as spare

MEBIBYTE = 1 << 20


def kept():
    """Bytes that are kept now, in use or not."""
    return sum(raw.size for raw in spare._kept)


@pytest.fixture(autouse=True)
def nothing_kept():
    spare.release()
    assert kept() == 0
    yield
    spare.release()


def address(x):
    return x.__array_interface__["data"][0]


def test_an_array_is_used_again_when_no_view_is_left():
    first = spare.take(2 * MEBIBYTE)
    place = address(first)
    view = first.view(np.float64)[5:]
    del first
    other = spare.take(2 * MEBIBYTE)
    assert not np.shares_memory(other, view)  # a view is left
    del view, other
    assert address(spare.take(2 * MEBIBYTE)) == place


def test_two_at_a_time_never_overlap():
    held = [spare.take(2 * MEBIBYTE + 64 * k) for k in range(5)]
    for k, one in enumerate(held):
        one[:] = k
    assert all((one == k).all() for k, one in enumerate(held))


def test_arrays_begin_at_a_cache_line():
    for size in (100, 3 * MEBIBYTE + 1):
        array = spare.take(size)
        assert array.size == size
        assert address(array) % 64 == 0


def test_no_more_than_the_limit_is_kept(monkeypatch):
    monkeypatch.setattr(spare, "LIMIT", 5 * MEBIBYTE)
    held = [spare.take(2 * MEBIBYTE) for _ in range(4)]
    assert len(held) == 4
    assert 0 < kept() <= 5 * MEBIBYTE
    del held
    spare.take(20 * MEBIBYTE)
    assert kept() == 0  # too large to keep, and the others made room


def test_small_arrays_are_not_kept():
    spare.take(1000)
    assert kept() == 0


def test_an_array_much_too_large_is_not_used():
    spare.take(40 * MEBIBYTE)
    assert kept() >= 40 * MEBIBYTE
    spare.take(2 * MEBIBYTE)
    assert kept() < 3 * MEBIBYTE


def test_threads_do_not_share():
    wrong = []

    def work(k):
        for _ in range(50):
            mine = spare.take(MEBIBYTE)
            mine[:: 1 << 12] = k
            if (mine[:: 1 << 12] != k).any():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")
def test_problems_one_after_the_other_do_not_disturb_results_that_are_kept():
    problems = [ang.simulate.gaussian(1100, sigma, rng=k).C for k, sigma in enumerate((1.0, 3.0))]
    operators = [ang.as_operator(C) for C in problems]
    alone = [dense(operator.narrow) for operator in operators]
    first = ang.synchronize(operators[0], certify=False)
    second = ang.synchronize(problems[1], certify=False)
    for operator, before in zip(operators, alone, strict=True):
        assert np.array_equal(dense(operator.narrow), before)
    for result, C in ((first, problems[0]), (second, problems[1])):
        assert np.abs(result.product - C @ result.z).max() < 1e-10 * np.abs(C).sum(axis=1).max()


def test_what_counts_as_unused_is_measured(monkeypatch):
    # CPython 3.14 borrows the argument of getrefcount: the same array counts one less
    count = sys.getrefcount
    monkeypatch.setattr(sys, "getrefcount", lambda array: count(array) - 2)  # this function holds it as well
    monkeypatch.setattr(spare, "_UNUSED", spare._count_when_unused())
    first, second = spare.take(2 * MEBIBYTE), spare.take(2 * MEBIBYTE)
    assert not np.shares_memory(first, second)
    place = address(first)
    del first
    assert address(spare.take(2 * MEBIBYTE)) == place


def test_nothing_is_kept_where_counts_tell_nothing(monkeypatch):
    monkeypatch.setattr(sys, "getrefcount", lambda _: 7)
    assert spare._count_when_unused() is None
    monkeypatch.delattr(sys, "getrefcount")
    assert spare._count_when_unused() is None
    monkeypatch.setattr(spare, "_UNUSED", None)
    first, second = spare.take(2 * MEBIBYTE), spare.take(2 * MEBIBYTE)
    assert not np.shares_memory(first, second)
    assert kept() == 0


def test_whoever_finds_the_lock_taken_does_not_wait():
    with spare._lock:
        array = spare.take(2 * MEBIBYTE)
    assert array.size == 2 * MEBIBYTE
    assert kept() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_does_not_inherit_the_lock_of_a_thread_that_is_not_there():
    code = """
import os, threading
from angsync.kernels import spare_memory as spare
holding, done = threading.Event(), threading.Event()
def hold():
    with spare._lock:
        holding.set()
        done.wait()
threading.Thread(target=hold).start()
holding.wait()
child = os.fork()
if child == 0:
    spare.release()  # would wait for ever
    os._exit(0)
status = os.waitpid(child, 0)[1]
done.set()
raise SystemExit(status)
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert ran.returncode == 0
