"""How often 95 % intervals hold the truth: simulated graphs of several kinds, sigma estimated from the residuals."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import angsync as ang

SIGMA = 0.05  # radians at weight 1; weights are 0.1 to 10
Graph = tuple[int, NDArray[np.int64], NDArray[np.int64]]


def grid(rng: np.random.Generator) -> Graph:
    rows, columns = (int(k) for k in rng.integers(3, 8, 2))
    node = np.arange(rows * columns).reshape(rows, columns)
    i, j = np.r_[node[:, :-1].ravel(), node[:-1].ravel()], np.r_[node[:, 1:].ravel(), node[1:].ravel()]
    return rows * columns, i, j


def ring_with_chords(rng: np.random.Generator) -> Graph:
    n = int(rng.integers(8, 40))
    ring = np.arange(n)
    first = rng.integers(0, n, n // 4)
    return n, np.r_[ring, first], np.r_[(ring + 1) % n, (first + rng.integers(2, n - 1, first.size)) % n]


def erdos_renyi(rng: np.random.Generator) -> Graph:
    n = int(rng.integers(8, 40))
    i, j = np.triu_indices(n, 1)
    kept = rng.random(i.size) < 2 * np.log(n) / n
    return n, i[kept], j[kept]


def geometric(rng: np.random.Generator) -> Graph:
    n = int(rng.integers(10, 40))
    place = rng.random((n, 2))
    i, j = np.triu_indices(n, 1)
    kept = np.hypot(*(place[i] - place[j]).T) < 1.5 * np.sqrt(2 * np.log(n) / (np.pi * n))
    return n, i[kept], j[kept]


def few_degrees_of_freedom(rng: np.random.Generator) -> Graph:
    """A ring of 3 to 6 nodes with one or two chords or parallel edges: two or three degrees of freedom."""
    n = int(rng.integers(3, 7))
    ring = np.arange(n)
    first = rng.integers(0, n, int(rng.integers(1, 3)))
    return n, np.r_[ring, first], np.r_[(ring + 1) % n, (first + rng.integers(1, n, first.size)) % n]


KINDS: dict[str, Callable[[np.random.Generator], Graph]] = {
    "grid": grid,
    "ring with chords": ring_with_chords,
    "Erdos-Renyi": erdos_renyi,
    "geometric": geometric,
}


def problem(kind: Callable[[np.random.Generator], Graph], seed: int) -> ang.simulate.Problem:
    """A connected graph of this kind with weights over two orders of magnitude and wrapped normal noise."""
    rng = np.random.default_rng(seed)
    while True:
        n, i, j = kind(rng)
        if connected_components(coo_array((np.ones(i.size), (i, j)), shape=(n, n)), directed=False)[0] == 1:
            break
    weight = 10 ** rng.uniform(-1, 1, i.size)
    return ang.simulate.phase_noise(n, SIGMA, graph=(i, j), weight=weight, rng=rng)


def covered(drawn: ang.simulate.Problem, gauge: str, level: float = 0.95) -> tuple[float, float]:
    """Share of the nodes whose interval holds the truth: with Student's quantile, and with the normal one."""
    result = ang.synchronize(drawn.measurements, gauge=gauge, certify=False)
    if gauge == "first":
        error = np.angle(result.z * np.conj(drawn.z) * drawn.z[0])[1:]
        nodes = slice(1, None)  # the reference has no error
    else:
        error = np.angle(result.z * np.conj(drawn.z) * np.conj(np.vdot(drawn.z, result.z)))
        nodes = slice(None)
    interval = result.confidence_intervals(level)[nodes]
    student = np.abs(error) <= (interval[:, 1] - interval[:, 0]) / 2
    normal = np.abs(error) <= 1.959964 * result.standard_errors()[nodes]
    return float(student.mean()), float(normal.mean())


def shares(kind: Callable[[np.random.Generator], Graph], gauge: str, seeds: range) -> NDArray[np.float64]:
    """One row a graph: the two shares of :func:`covered`."""
    return np.array([covered(problem(kind, seed), gauge) for seed in seeds])


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per kind of graph and gauge, and one for all kinds."""
    rows, graphs = [], 100 if quick else 500
    each = graphs // len(KINDS)
    for gauge in ("first", "mean"):
        together = []
        begin = time.perf_counter()
        for number, (name, kind) in enumerate(KINDS.items()):
            found = shares(kind, gauge, range(number * each, (number + 1) * each))
            together.append(found)
            rows.append(_row(f"coverage, {name}", gauge, found))
        rows.append(_row("coverage, all kinds", gauge, np.concatenate(together)))
        rows[-1]["seconds"] = time.perf_counter() - begin
        small = shares(few_degrees_of_freedom, gauge, range(each))
        rows.append(_row("coverage, 2 or 3 degrees of freedom", gauge, small))
    return rows


def _row(case: str, gauge: str, found: NDArray[np.float64]) -> dict[str, Any]:
    share = found.mean(axis=0)
    error = found[:, 0].std(ddof=1) / np.sqrt(len(found))
    return {
        "case": f"{case}, gauge {gauge}, {len(found)} graphs",
        "method": "angsync",
        "value": float(share[0]),
        "status": "95 % intervals",
        "standard error of the share": float(error),
        "share with 1.96 instead of Student's t": float(share[1]),
    }
