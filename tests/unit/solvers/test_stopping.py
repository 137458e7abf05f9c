"""When a loop stops: rules, clock, statuses, histories."""

from __future__ import annotations

import time

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError
from angsync.solvers.stopping import Clock, History, Status, Stopping


def test_the_default_tolerance_depends_on_the_precision():
    assert Stopping().tolerance_for(np.dtype(np.complex128)) == 1e-10
    assert Stopping().tolerance_for(np.dtype(np.complex64)) == 1e-5
    assert Stopping(tolerance=1e-3).tolerance_for(np.dtype(np.complex64)) == 1e-3


def test_histories_join_at_the_common_point():
    first = History(np.array([1.0, 2.0]), np.array([0.2, 0.1]), np.array([0.0, 1.0]))
    second = History(np.array([2.0, 3.0]), np.array([0.1, 0.0]), np.array([0.0, 0.5]))
    assert first.followed_by(second).objective.tolist() == [1, 2, 3]
    assert first.followed_by(second).step.tolist() == [0, 1, 0.5]
    assert History().followed_by(second) is second
    assert first.followed_by(second, jump=True).objective.tolist() == [1, 2, 2, 3]


@pytest.mark.parametrize("settings", [{"tolerance": -1}, {"max_iterations": -1}, {"max_iterations": 1.5},
                                      {"max_seconds": -1}, {"tolerance": np.nan}])  # fmt: skip
def test_bad_stopping_rules(settings):
    with pytest.raises(ang.errors.InputError, match=next(iter(settings))):
        Stopping(**settings)


def test_the_clock():
    clock = Clock(1e-9)
    time.sleep(1e-3)
    assert clock.expired
    assert not Clock().expired


def test_the_time_that_is_left():
    assert Clock().left is None
    assert 0 < Clock(100.0).left <= 100
    assert Clock(0.0).left == 0.0  # never negative


def test_every_status_gives_advice():
    for status in Status:
        assert status.value.endswith(".")
        assert len(status.value) > 15


@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": "1e-3"},
        {"max_iterations": np.inf},
        {"max_iterations": np.nan},
        {"max_iterations": 1.5},
        {"max_seconds": "1"},
    ],
)
def test_limits_of_another_kind_are_named(options):
    (name,) = options
    with pytest.raises(InputError, match=f"{name} must be a"):
        ang.Stopping(**options)


def test_what_is_loaded_on_the_way_is_not_the_time_of_the_problem(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("angsync.solvers.stopping.time.perf_counter", lambda: now[0])
    clock = Clock(max_seconds=5.0)
    now[0] += 1
    with clock.paused():
        now[0] += 30
    assert clock.seconds == 1
    assert clock.left == 4
    assert not clock.expired


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
@pytest.mark.parametrize(
    "problem",
    [
        {"data": ang.simulate.gaussian(100, 0.5, rng=0).C},  # one compiled call
        {"data": ang.simulate.gaussian(20, 0.5, rng=0).C, "solver": ang.GPM()},  # the loop
        {"data": ang.simulate.grid(12, 12, 0.1, rng=0).C},
        {"data": ang.Measurements([0, 1, 0, 3], [1, 2, 2, 4], [0.1, 0.2, 0.4, 0.5])},  # small components
    ],
)
def test_a_callback_cannot_change_the_iterate(problem):
    def callback(progress):
        progress.z[:] = 1

    with pytest.raises(ValueError, match="read-only"):
        ang.synchronize(**problem, callback=callback)
