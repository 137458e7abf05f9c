"""The race: all contestants take turns in one process, each with its best number of BLAS threads.

Turns (A B C A B C ...) and not blocks (A A B B C C), so that a noisy moment of the machine hits all of them. Times are
medians. What is compared is a ratio of two medians of one race, never a time of another run.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from angsync.errors import InputError
from angsync.pipeline.result import SyncResult
from angsync.solvers.stopping import Status
from angsync.study.bench import threads

# Seconds before a call. Threads of BLAS spin after their work, which slows whoever comes next: 50 ms after a product by
# two of them a solve at n = 4000 took 77 ms instead of 58, and after 300 ms as long as ever.
_REST = 0.2
_BRIEF_SECONDS = 0.02  # a shorter call is repeated for so long, and the fastest counts
_SHORT_SECONDS = 1.0  # seconds; a shorter call is tried twice with each setting, because the first one also warms up


@dataclass(frozen=True)
class Contestant:
    """One way to solve the problem.

    Attributes
    ----------
    name
        As the table shows it.
    call
        Solves the problem once and returns the answer.
    settings
        Numbers of BLAS threads to choose from; None: those of :func:`angsync.study.bench.threads.settings`.
    most
        Limit of the repeats, for a slow one.
    """

    name: str
    call: Callable[[], Any]
    settings: tuple[int | None, ...] | None = None
    most: int | None = None


@dataclass(frozen=True)
class Lap:
    """What one contestant did: ``seconds`` is the median of ``times``; ``answer`` is that of the last call."""

    times: tuple[float, ...]
    threads: int | None
    answer: Any

    @property
    def seconds(self) -> float:
        return statistics.median(self.times)


def race(contestants: Sequence[Contestant], repeats: int) -> dict[str, Lap]:
    """Let them take turns ``repeats`` times.

    Before the race each tries its settings, and the fastest is kept. With one setting there is nothing to choose and
    the call is made once, to load what it needs.
    """
    if repeats < 1:
        raise InputError(f"repeats must be at least 1, but it is {repeats}.")
    if len({one.name for one in contestants}) < len(contestants):
        raise InputError("two contestants have the same name: the table could not tell them apart. Rename one.")
    chosen = {one.name: _best_setting(one) for one in contestants}
    times: dict[str, list[float]] = {one.name: [] for one in contestants}
    answers: dict[str, Any] = {}
    for turn in range(repeats):
        for one in contestants:
            if one.most is None or turn < one.most:
                seconds, answers[one.name] = timed(one.call, chosen[one.name])
                times[one.name].append(seconds)
    return {one.name: Lap(tuple(times[one.name]), chosen[one.name], answers[one.name]) for one in contestants}


def timed(call: Callable[[], Any], setting: int | None = threads.AS_SET) -> tuple[float, Any]:
    """Seconds of one call, and its answer. Raises KeyboardInterrupt where a solver was stopped by Ctrl-C.

    A brief call is made again until ``_BRIEF_SECONDS`` have passed, and the fastest counts: its data are in the cache
    then, as in a program that does nothing else.
    """
    time.sleep(_REST)
    with threads.limited(setting):
        begin = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - begin
        spent, fastest = seconds, math.inf
        while spent < _BRIEF_SECONDS:
            begin = time.perf_counter()
            answer = call()
            again = time.perf_counter() - begin
            spent, fastest = spent + max(again, 1e-6), min(fastest, again)
        seconds = min(seconds, fastest)
    # The solvers' loop takes Ctrl-C for a wish to stop early and returns its best point. The time of such a call
    # means nothing, and the wish is to stop the benchmark.
    if isinstance(answer, SyncResult) and answer.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return seconds, answer


def _best_setting(one: Contestant) -> int | None:
    settings = threads.settings() if one.settings is None else one.settings
    found = {setting: timed(one.call, setting)[0] for setting in settings}
    if len(settings) > 1:
        for setting in settings:
            if found[setting] < _SHORT_SECONDS:
                found[setting] = min(found[setting], timed(one.call, setting)[0])
    return min(found, key=lambda setting: found[setting])
