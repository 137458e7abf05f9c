"""How long a computation may go on, and what is not waited for any longer."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from angsync.kernels.time_limit import Earlier, OutOfTime, check, left, until, waited_for


@dataclass
class Hourglass:
    left: float | None


def test_a_clock_counts_in_its_block_only():
    check()
    assert left() is None
    with until(Hourglass(None)):
        check()
    with until(Hourglass(0.0)):
        with until(Hourglass(3.0)):
            check()
            assert left() == 3.0
        with pytest.raises(OutOfTime):
            check()
    check()


def test_what_is_waited_for_returns_or_raises_as_if_called():
    with until(Hourglass(60.0)):
        assert waited_for(lambda: threading.current_thread() is threading.main_thread()) is False
        assert waited_for(left) == 60.0  # the clock counts in the thread too
    with pytest.raises(ZeroDivisionError):
        waited_for(lambda: 1 / 0)


def test_what_takes_too_long_is_abandoned():
    release, ended = threading.Event(), threading.Event()

    def endless():
        release.wait(30)
        ended.set()

    with until(Hourglass(0.01)), pytest.raises(OutOfTime):
        waited_for(endless)
    assert not ended.is_set()
    release.set()
    assert ended.wait(30)


def test_nothing_begins_once_time_is_up():
    with until(Hourglass(0.0)), pytest.raises(OutOfTime):
        waited_for(lambda: pytest.fail("begun"))


def test_a_clock_that_runs_out_earlier_leaves_time_for_the_end():
    assert Earlier(Hourglass(None), 3.0).left is None
    assert Earlier(Hourglass(2.0), 3.0).left == 0
    assert Earlier(Hourglass(10.0), 3.0).left == 7
