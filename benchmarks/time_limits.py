"""How far ``max_seconds`` is overrun: kinds of sparse graphs times limits, one line each.

    python benchmarks/time_limits.py [--limits 1 2 5] [--kinds grid ...] [--robust] [--no-certificate] [--cpu]

A limit is kept where the call ends within 20 % of it (and 0.1 s, for the smallest). Beside the wall time stands that of
the processor: on a machine that others use as well, a call may have to wait. ``--cpu`` counts the limit in processor
time, too, which shows what the call itself overruns. What cannot be left out takes its time
whatever the limit is: half a second for a million nodes (checks, one tree, the result).
"""

from __future__ import annotations

import argparse
import functools
import os
import pathlib
import threading
import time
import types
import warnings
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

import angsync as ang
from angsync.applications import pose_graph
from angsync.solvers import stopping

POSE_GRAPHS = ("CSAIL", "MIT", "intel", "manhattan")


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


def random_geometric(n: int, degree: float, sigma: float, bad: int = 0, decades: float = 0.0) -> ang.Measurements:
    """Points in a square, joined up to a distance; some edges are a half turn off, weights span some decades."""
    rng = np.random.default_rng(0)
    pairs = cKDTree(rng.random((n, 2))).query_pairs(np.sqrt(degree / (np.pi * n)), output_type="ndarray")
    angle = rng.normal(0, sigma, len(pairs))
    angle[rng.choice(len(pairs), bad, replace=False)] += np.pi
    return ang.Measurements(pairs[:, 0], pairs[:, 1], angle, weight=10 ** rng.uniform(0, decades, len(pairs)))


def outliers(width: int) -> ang.Measurements:
    m = ang.simulate.grid(width, width, 0.1, rng=0).measurements
    rng = np.random.default_rng(1)
    off = rng.random(len(m)) < 0.1
    return ang.Measurements(m.i, m.j, np.where(off, rng.uniform(-np.pi, np.pi, len(m)), m.angle))


KINDS: dict[str, Callable[[], ang.Measurements]] = {
    "grid 200, 0.9 rad": lambda: ang.simulate.grid(200, 200, 0.9, rng=0).measurements,
    "grid 1000, 0.3 rad": lambda: ang.simulate.grid(1000, 1000, 0.3, rng=0).measurements,
    "grid 300, 0.15 rad": lambda: ang.simulate.grid(300, 300, 0.15, rng=0).measurements,
    "grid 1000, 0.5 rad": lambda: ang.simulate.grid(1000, 1000, 0.5, rng=0).measurements,
    "grid 1000, 0.9 rad": lambda: ang.simulate.grid(1000, 1000, 0.9, rng=0).measurements,
    "cube 60, 0.3 rad": lambda: cube(60, 0.3),
    "cube 60, 0.5 rad": lambda: cube(60, 0.5),
    "cube 100, 1.2 rad": lambda: cube(100, 1.2),
    "random 30000, degree 14": lambda: ang.simulate.erdos_renyi(30_000, 14 / 30_000, 1.0, rng=0).measurements,
    "random 300000, degree 8": lambda: ang.simulate.erdos_renyi(300_000, 8 / 300_000, 1.0, rng=0).measurements,
    "ring 200000, 20000 chords": lambda: small_world(200_000, 20_000, 0.5),
    "geometric 200000, 0.3 rad": lambda: random_geometric(200_000, 12, 0.3),
    "geometric 200000, 6 decades": lambda: random_geometric(200_000, 12, 0.03, 20, 6),
    "grid 200, outliers": lambda: outliers(200),
    "path 10^6": lambda: path(1_000_000),
    "star 10^6": lambda: star(1_000_000),
    "triangles 10^5": lambda: triangles(100_000),
}


def pose_graphs() -> dict[str, pose_graph.PoseGraph]:
    """The published graphs, where they are at hand."""
    folder = os.environ.get("ANGSYNC_DATA")
    if folder is None:
        return {}
    paths = {name: pathlib.Path(folder) / "pose-graphs" / f"{name}.g2o" for name in POSE_GRAPHS}
    return {f"poses {name}": pose_graph.read(path) for name, path in paths.items() if path.exists()}


def said(kind: str, limit: float, solve: Callable[[], tuple[str, str]]) -> None:
    """Solve, and print one line."""
    for thread in threading.enumerate():  # what the last call did not wait for
        if thread.name == "angsync":
            thread.join()
    begin, cpu = time.perf_counter(), time.process_time()
    status, verdict = solve()
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    taken = cpu if stopping.time.perf_counter is time.process_time else wall
    kept = "" if taken <= 1.2 * limit + 0.1 else "  OVERRUN"
    times = f"{wall:6.2f} s ({cpu:5.2f} cpu, {taken / limit:.2f} times)"
    print(f"{kind:27s} limit {limit:4.1f} s: {times} {status:11s} {verdict:9s}{kept}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 2.0, 5.0])
    parser.add_argument("--kinds", nargs="+", default=[""])
    parser.add_argument("--robust", action="store_true", help="solve with Robust()")
    parser.add_argument("--no-certificate", action="store_true", help="without the proof")
    parser.add_argument("--cpu", action="store_true", help="limits in processor time")
    options = parser.parse_args()
    if options.cpu:
        stopping.time = types.SimpleNamespace(perf_counter=time.process_time)  # type: ignore[attr-defined]
    warnings.simplefilter("ignore")
    solver = ang.Robust() if options.robust else "auto"
    common = {"certify": not options.no_certificate, "on_failure": "ignore"}

    def graph(C: ang.Measurements, limit: float) -> tuple[str, str]:
        result = ang.synchronize(C, stopping=ang.Stopping(max_seconds=limit), solver=solver, **common)
        return result.status.name, "-" if result.certificate is None else result.certificate.verdict.name

    def poses(given: pose_graph.PoseGraph, limit: float) -> tuple[str, str]:
        limits = ang.Stopping(max_seconds=limit)
        found = pose_graph.optimize(given, stopping=limits, robust=options.robust or None, **common).sync
        return found.status.name, "-" if found.certificate is None else found.certificate.verdict.name

    graph(ang.simulate.grid(60, 60, 0.9, rng=0).measurements, 60.0)  # loads what is loaded when first used
    for kind in [name for name in KINDS if any(name.startswith(asked) for asked in options.kinds)]:
        C = KINDS[kind]()
        for limit in options.limits:
            said(kind, limit, functools.partial(graph, C, limit))
    for kind, given in pose_graphs().items():
        for limit in options.limits if any(kind.startswith(asked) for asked in options.kinds) else ():
            said(kind, limit, functools.partial(poses, given, limit))


if __name__ == "__main__":
    main()
