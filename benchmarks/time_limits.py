"""How far ``max_seconds`` is overrun: kinds of sparse graphs times limits, one line each.

    python benchmarks/time_limits.py [--limits 1 2 5] [--kinds grid ...] [--robust] [--no-certificate]

A limit is kept where the call ends within 20 % of it (and 0.1 s, for the smallest).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

import angsync as ang


def path(n: int) -> ang.Measurements:
    rng = np.random.default_rng(0)
    return ang.Measurements(np.arange(n - 1), np.arange(1, n), rng.normal(0, 0.3, n - 1))


def star(n: int) -> ang.Measurements:
    rng = np.random.default_rng(0)
    return ang.Measurements(np.zeros(n, dtype=int), np.arange(1, n + 1), rng.normal(0, 0.3, n))


def triangles(count: int) -> ang.Measurements:
    a = 3 * np.arange(count)
    i, j = np.concatenate([a, a + 1, a]), np.concatenate([a + 1, a + 2, a + 2])
    return ang.Measurements(i, j, np.random.default_rng(0).normal(0, 0.3, i.size))


def cube(width: int, sigma: float) -> ang.Measurements:
    rng = np.random.default_rng(0)
    place = np.arange(width**3).reshape(width, width, width)
    i = np.concatenate([place[:-1].ravel(), place[:, :-1].ravel(), place[:, :, :-1].ravel()])
    j = np.concatenate([place[1:].ravel(), place[:, 1:].ravel(), place[:, :, 1:].ravel()])
    return ang.Measurements(i, j, rng.normal(0, sigma, i.size))


def small_world(n: int, chords: int, sigma: float) -> ang.Measurements:
    rng = np.random.default_rng(0)
    i = np.concatenate([np.arange(n), rng.integers(0, n, chords)])
    j = np.concatenate([(np.arange(n) + 1) % n, rng.integers(0, n, chords)])
    kept = i != j
    return ang.Measurements(i[kept], j[kept], rng.normal(0, sigma, int(kept.sum())))


def outliers(width: int) -> ang.Measurements:
    m = ang.simulate.grid(width, width, 0.1, rng=0).measurements
    rng = np.random.default_rng(1)
    off = rng.random(len(m)) < 0.1
    return ang.Measurements(m.i, m.j, np.where(off, rng.uniform(-np.pi, np.pi, len(m)), m.angle))


KINDS: dict[str, Callable[[], ang.Measurements]] = {
    "grid 200, 0.9 rad": lambda: ang.simulate.grid(200, 200, 0.9, rng=0).measurements,
    "grid 300, 0.15 rad": lambda: ang.simulate.grid(300, 300, 0.15, rng=0).measurements,
    "grid 1000, 0.5 rad": lambda: ang.simulate.grid(1000, 1000, 0.5, rng=0).measurements,
    "grid 1000, 0.9 rad": lambda: ang.simulate.grid(1000, 1000, 0.9, rng=0).measurements,
    "cube 60, 0.5 rad": lambda: cube(60, 0.5),
    "cube 100, 1.2 rad": lambda: cube(100, 1.2),
    "random 30000, degree 14": lambda: ang.simulate.erdos_renyi(30_000, 14 / 30_000, 1.0, rng=0).measurements,
    "random 300000, degree 8": lambda: ang.simulate.erdos_renyi(300_000, 8 / 300_000, 1.0, rng=0).measurements,
    "ring 200000, 20000 chords": lambda: small_world(200_000, 20_000, 0.5),
    "grid 200, outliers": lambda: outliers(200),
    "path 10^6": lambda: path(1_000_000),
    "star 10^6": lambda: star(1_000_000),
    "triangles 10^5": lambda: triangles(100_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 2.0, 5.0])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--robust", action="store_true", help="solve with Robust()")
    parser.add_argument("--no-certificate", action="store_true", help="without the proof")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ang.synchronize(
        ang.simulate.grid(60, 60, 0.9, rng=0).C, on_failure="ignore"
    )  # loads what is loaded when first used
    for kind in [name for name in KINDS if any(name.startswith(asked) for asked in options.kinds)]:
        C = KINDS[kind]()
        for limit in options.limits:
            begin = time.perf_counter()
            result = ang.synchronize(
                C,
                stopping=ang.Stopping(max_seconds=limit),
                certify=not options.no_certificate,
                on_failure="ignore",
                solver=ang.Robust() if options.robust else "auto",
            )
            taken = time.perf_counter() - begin
            kept = "" if taken <= 1.2 * limit + 0.1 else f"  OVERRUN {taken / limit:.1f} times"
            verdict = "-" if result.certificate is None else result.certificate.verdict.name
            print(
                f"{kind:27s} limit {limit:4.1f} s: {taken:6.2f} s  {result.status.name:11s} {verdict:9s}{kept}",
                flush=True,
            )


if __name__ == "__main__":
    main()
