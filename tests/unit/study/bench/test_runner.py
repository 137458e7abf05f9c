"""The race: fair turns. Nothing here depends on how fast the machine is."""

from __future__ import annotations

import types
from contextlib import contextmanager

import pytest

import angsync
from angsync.errors import InputError
from angsync.solvers.stopping import Status
from angsync.study.bench import runner, threads
from angsync.study.bench.runner import Contestant, race


class Clock:
    """A clock that only the contestants move: ``costs[name, setting]`` seconds a call."""

    def __init__(self, monkeypatch, costs):
        self.costs, self.now, self.setting, self.calls, self.rests = costs, 0.0, None, [], []
        monkeypatch.setattr(
            runner, "time", types.SimpleNamespace(perf_counter=lambda: self.now, sleep=self.rests.append)
        )
        monkeypatch.setattr(threads, "limited", self.limited)

    @contextmanager
    def limited(self, count):
        before, self.setting = self.setting, count
        yield
        self.setting = before

    def contestant(self, name, settings=(2, 1), most=None):
        def call():
            self.calls.append((name, self.setting))
            cost = self.costs[name, self.setting]
            self.now += cost.pop(0) if isinstance(cost, list) else cost
            return name.upper()

        return Contestant(name, call, settings, most)


def test_contestants_take_turns_with_the_setting_that_was_faster(monkeypatch):
    costs = {("a", 2): 3.0, ("a", 1): 2.0, ("b", 2): 4.0, ("b", 1): 5.0}
    clock = Clock(monkeypatch, costs)
    laps = race([clock.contestant("a"), clock.contestant("b")], repeats=3)
    # the settings are tried first; after that strictly a b a b a b, each with its own best setting
    assert clock.calls[:4] == [("a", 2), ("a", 1), ("b", 2), ("b", 1)]
    assert clock.calls[4:] == [("a", 1), ("b", 2)] * 3
    assert (laps["a"].threads, laps["b"].threads) == (1, 2)
    assert laps["a"].times == (2.0, 2.0, 2.0)
    assert laps["b"].answer == "B"


def test_a_short_call_is_not_judged_by_its_first_run(monkeypatch):
    # the first call with 2 threads also loads what the method needs; the second one shows that 2 is the better
    clock = Clock(monkeypatch, {("a", 2): [0.9, 0.1, 0.1], ("a", 1): [0.5, 0.5]})
    laps = race([clock.contestant("a")], repeats=1)
    assert laps["a"].threads == 2


def test_the_time_is_the_median_and_a_slow_method_may_run_less_often(monkeypatch):
    clock = Clock(monkeypatch, {("a", 1): [9.0, 1.0, 7.0, 2.0], ("b", 1): [9.0, 4.0]})
    laps = race([clock.contestant("a", (1,)), clock.contestant("b", (1,), most=1)], repeats=3)
    assert laps["a"].seconds == 2.0  # of 1, 7, 2; the 9 was the warm-up
    assert laps["b"].times == (4.0,)


def test_a_brief_call_is_timed_in_the_cache_and_every_call_after_a_rest(monkeypatch):
    clock = Clock(monkeypatch, {("a", 1): [0.015, 0.003, 0.004, 0.015, 0.003, 0.004]})
    laps = race([clock.contestant("a", (1,))], repeats=1)
    assert laps["a"].times == (pytest.approx(0.003),)
    assert len(clock.calls) == 6  # 22 ms each time: once to load what it needs, once for the table
    assert len(clock.rests) == 2
    assert min(clock.rests) > 0


def test_an_interrupted_solve_ends_the_race():
    def press(_):
        raise KeyboardInterrupt

    problem = angsync.simulate.gaussian(20, 0.5, rng=0)
    stopped = angsync.synchronize(problem.C, solver=angsync.GPM(), callback=press, on_failure="ignore")
    assert stopped.status is Status.INTERRUPTED
    with pytest.raises(KeyboardInterrupt):
        race([Contestant("a", lambda: stopped, (None,))], repeats=1)


def test_races_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        race([], repeats=0)
    with pytest.raises(InputError, match="same name"):
        race([Contestant("a", int), Contestant("a", int)], repeats=1)
