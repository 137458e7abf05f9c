"""The timed cases of ``compare_checkouts.py speed``: waits for the name of a case on stdin and times it once.

Run by it with PYTHONPATH at one checkout, one process a checkout for the whole race. A case is prepared, and run once
without a clock, when it is first asked for; one line of JSON answers every line read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import angsync as ang

ENOUGH, MOST = 0.25, 30  # seconds and calls after which one turn ends; its median counts


def dense(n: int, certify: bool) -> Callable[[], Any]:
    C = ang.simulate.gaussian(n, n**0.25 / 2, rng=n).C
    return lambda: ang.synchronize(C, certify=certify)


def stack() -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    n, count = 20, 40_000
    z = np.exp(2j * np.pi * rng.random((count, n)))
    C = 0.5 * (rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n)))
    C += z[:, :, None] * z[:, None, :].conj()
    C += C.conj().swapaxes(1, 2).copy()
    return lambda: ang.synchronize(C)


def edges(data: Any) -> Callable[[], Any]:
    return lambda: ang.synchronize(data)


def cases(data: Path) -> dict[str, Callable[[], Callable[[], Any]]]:
    """How each case is made ready, by name."""
    found: dict[str, Callable[[], Callable[[], Any]]] = {}
    for n in (100, 1000, 4000):
        found[f"dense {n}, certified"] = lambda n=n: dense(n, True)
        found[f"dense {n}"] = lambda n=n: dense(n, False)
    found["stack 40,000 x 20 x 20"] = stack
    manhattan = data / "pose-graphs" / "manhattan.g2o"
    if manhattan.is_file():
        found["manhattan rotations"] = lambda: edges(ang.read(manhattan))
    found["grid 1000 x 1000"] = lambda: edges(ang.simulate.grid(1000, 1000, 0.1, rng=0).measurements)
    return found


def turn(call: Callable[[], Any]) -> float:
    """Milliseconds of one call: the median of as many as fit a turn."""
    times: list[float] = []
    while sum(times) < ENOUGH and len(times) < MOST:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def main() -> None:
    """Print the names of the cases, then answer every line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    known = cases(parser.parse_args().data)
    warnings.simplefilter("ignore")
    print(json.dumps({"from": ang.__file__, "cases": list(known)}), flush=True)
    ready, call = "", None
    for line in sys.stdin:
        name = line.strip()
        if name != ready:
            call = None  # the last problem goes before the next one is made
            ready, call = name, known[name]()
            call()
        print(json.dumps({"ms": turn(call)}), flush=True)


if __name__ == "__main__":
    main()
