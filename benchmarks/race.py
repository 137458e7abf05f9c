"""The race: all methods take turns in one process, each with its best number of BLAS threads.

Turns (A B C A B C ...) and not blocks (A A B B C C), so that a noisy moment of the machine hits all of them. Times are
medians. Compare ratios of two medians of one race, never times of two runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from angsync import kernels
from angsync.problem.memory import free_bytes

# Seconds before a call. Threads of BLAS spin after their work, which slows the next method: 50 ms after a product by
# two of them a solve at n = 4000 took 77 ms instead of 58, and after 300 ms as long as ever.
REST = 0.2
BRIEF = 0.02  # seconds; a shorter call is repeated for so long, and the fastest counts: its data are in the cache then
READS = 4  # of which the fastest counts, because nothing slows memory down but other processes
Call = Callable[[], Any]


@dataclass(frozen=True)
class Lap:
    """The median time of a method, its BLAS threads (None: as set), and its last answer."""

    seconds: float
    threads: int | None
    answer: Any


def thread_counts() -> tuple[int | None, ...]:
    """Return the numbers of BLAS threads to try: that of the environment and 1; None if threadpoolctl is missing."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return (None,)
    most = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    return (most, 1) if most > 1 else (1,)


def limited(threads: int | None) -> AbstractContextManager[Any]:
    """Limit BLAS to this number of threads."""
    if threads is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(threads, user_api="blas")


def timed(call: Call, threads: int | None = None) -> tuple[float, Any]:
    """Return the seconds of a call and its answer."""
    time.sleep(REST)
    with limited(threads):
        times: list[float] = []
        while not times or sum(times) < BRIEF:
            begin = time.perf_counter()
            answer = call()
            times.append(time.perf_counter() - begin)
    return min(times), answer


def race(
    calls: Mapping[str, Call], repeats: int, *, single: tuple[str, ...] = (), few: tuple[str, ...] = ()
) -> dict[str, Lap]:
    """Time all calls in turns; those of ``single`` with one BLAS thread, those of ``few`` twice."""
    counts = thread_counts()
    threads = {}
    for name, call in calls.items():
        allowed = counts[-1:] if name in single else counts
        found = {count: timed(call, count)[0] for count in allowed}
        threads[name] = min(found, key=found.__getitem__)
    times: dict[str, list[float]] = {name: [] for name in calls}
    answers: dict[str, Any] = {}
    for turn in range(repeats):
        for name, call in calls.items():
            if turn < 2 or name not in few:
                seconds, answers[name] = timed(call, threads[name])
                times[name].append(seconds)
    return {name: Lap(statistics.median(times[name]), threads[name], answers[name]) for name in calls}


def read_bandwidth(size: int = 1 << 28) -> float:
    """Return the bytes per second that the kernels read: no method is faster than one look at every entry of C."""
    block = np.ones(max(min(size, free_bytes() // 8), 1 << 20) // 8)  # ones: pages never written are all the same page
    fastest = min(timed_read(block, threads) for threads in (1, kernels.threads()) for _ in range(READS))
    return block.nbytes / fastest


def timed_read(block: np.ndarray, threads: int) -> float:
    """Return the seconds of one read."""
    begin = time.perf_counter()
    kernels.read_through(block, threads=threads)
    return time.perf_counter() - begin


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in a process of its own: the peak of memory is that of a process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
