"""Outliers on sparse graphs: is the answer right, and where it is not, does it say so?

Graphs of six kinds, 5 to 60 % random outliers, three levels of noise. *Wrong* is a mean error above 10 degrees;
*identifiable*: more than nine tenths of the nodes are connected by good measurements; *right* is an error, on those
nodes, of at most five times that of least squares on the good measurements alone, or one degree.

Then published pose graphs (rotations only) with random false loop closures, odometry trusted and not. Errors are mean
heading differences, in degrees, to the optimum of the clean graph.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import angsync as ang

KINDS = ("grid", "ring with chords", "geometric", "star of cliques", "path with loops", "dense")
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
NOISES = (0.01, 0.05, 0.2)
SEEDS = (101, 102, 103, 104, 105)
AMOUNTS: tuple[int | float, ...] = (0, 10, 50, 100, 0.3, 0.5)  # false loops: how many, or the share of all loops


def graph(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    n, seed = int(rng.integers(25, 90)), int(rng.integers(2**31))
    if kind == "grid":
        side = int(rng.integers(5, 10))
        g = nx.grid_2d_graph(side, side)
    elif kind == "ring with chords":
        g = nx.cycle_graph(n)
        g.add_edges_from(map(tuple, (rng.choice(n, 2, replace=False).tolist() for _ in range(n))))
    elif kind == "geometric":
        g = nx.random_geometric_graph(n, 1.7 / np.sqrt(n), seed=seed)
    elif kind == "star of cliques":
        size = int(rng.integers(5, 9))
        g = nx.Graph()
        for first in range(1, 1 + size * int(rng.integers(3, 7)), size):
            clique = range(first, first + size)
            g.add_edges_from((a, b) for a in clique for b in clique if a < b)
            g.add_edges_from([(0, first), (0, first + 1)])
    elif kind == "path with loops":
        g = nx.path_graph(n)
        for _ in range(n // 2):
            a = int(rng.integers(0, n - 5))
            g.add_edge(a, min(n - 1, a + int(rng.integers(3, n // 2))))
    else:
        g = nx.gnp_random_graph(n, 0.5, seed=seed)
    g = nx.convert_node_labels_to_integers(g.subgraph(max(nx.connected_components(g), key=len)))
    edges = np.array(g.edges())
    return edges[:, 0], edges[:, 1], g.number_of_nodes()


def turned(z: np.ndarray, truth: np.ndarray) -> float:
    return float(np.degrees(np.mean(np.abs(np.angle(ang.align(z, truth) * truth.conj())))))


def one_graph(kind: str, share: float, sigma: float, rng: np.random.Generator) -> dict[str, object]:
    i, j, n = graph(kind, rng)
    theta = 2 * np.pi * rng.random(n)
    bad = rng.random(i.size) < share
    noisy = theta[i] - theta[j] + sigma * rng.standard_normal(i.size)
    angle = np.where(bad, 2 * np.pi * rng.random(i.size), noisy)
    truth = np.exp(1j * theta)
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = ang.synchronize(ang.Measurements(i, j, angle, n=n), solver=ang.Robust())
    seconds = time.perf_counter() - begin
    good = nx.Graph()
    good.add_nodes_from(range(n))
    good.add_edges_from(zip(i[~bad].tolist(), j[~bad].tolist(), strict=True))
    big = np.array(sorted(max(nx.connected_components(good), key=len)))
    place = np.full(n, -1)
    place[big] = np.arange(big.size)
    inside = ~bad & (place[i] >= 0) & (place[j] >= 0)
    oracle = 0.0
    if inside.any():
        kept = ang.Measurements(place[i[inside]], place[j[inside]], angle[inside], n=big.size)
        oracle = turned(ang.synchronize(kept, certify=False, on_failure="ignore").z, truth[big])
    return {
        "credible": found.robust.credible,
        "silent": not told,
        "wrong": turned(found.z, truth) > 10,
        "right": turned(found.z[big], truth[big]) <= max(5 * oracle, 1.0),
        "identifiable": big.size > 0.9 * n,
        "seconds": seconds,
    }


def graphs(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for k in range(count):
        kind, share, sigma = KINDS[k % len(KINDS)], SHARES[rng.integers(len(SHARES))], NOISES[rng.integers(len(NOISES))]
        case = one_graph(kind, share, sigma, rng)
        believed = case["credible"] is True and case["silent"]
        right = case["right"] and not case["wrong"]
        for name in (kind, f"{share:.0%} wrong", f"noise {sigma}", "all"):
            row = table[name]
            row["graphs"] += 1
            row["credible"] += case["credible"] is True
            row["not judged"] += case["credible"] is None
            row["wrong"] += bool(case["wrong"])
            row["wrong, credible, silent"] += bool(case["wrong"] and believed)
            row["the same, identifiable"] += bool(
                case["wrong"] and not case["right"] and believed and case["identifiable"]
            )
            row["right"] += bool(case["right"])
            row["right, not credible"] += bool(right and case["credible"] is False)
            row["right, not judged"] += bool(right and case["credible"] is None)
            row["ms"] += round(1000 * float(case["seconds"]))  # type: ignore[arg-type]
    return [{"problem": name, **row} for name, row in table.items()]


def with_false_loops(
    clean: ang.Measurements, false: int | float, rng: np.random.Generator
) -> tuple[ang.Measurements, np.ndarray]:
    """False loops between random nodes with random angles: so many, or that share of all loops."""
    loop = np.abs(clean.i - clean.j) != 1
    count = false if isinstance(false, int) else round(loop.sum() * false / (1 - false))
    i = rng.integers(0, clean.n, count)
    j = (i + rng.integers(2, clean.n - 1, count)) % clean.n
    weight = np.concatenate([clean.weight, rng.choice(clean.weight[loop], count)])
    angle = np.concatenate([clean.angle, rng.uniform(-np.pi, np.pi, count)])
    steps = np.concatenate([~loop, np.zeros(count, dtype=bool)])
    return ang.Measurements(np.append(clean.i, i), np.append(clean.j, j), angle, weight, clean.n), steps


def loops(names: tuple[str, ...], seeds: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    from angsync.applications import pose_graph

    folder = Path(os.environ.get("ANGSYNC_DATA", "../shared/data")) / "pose-graphs"
    for name in names if folder.is_dir() else ():
        clean = pose_graph.read(folder / f"{name}.g2o").rotations()
        best = ang.synchronize(clean).z
        for amount in AMOUNTS:
            for trusted in (True, False):
                found = [
                    false_loops(clean, best, amount, trusted, seed, len(name))
                    for seed in seeds[: None if amount else 1]
                ]
                errors = [one["error"] for one in found]
                yield {
                    "problem": f"{name}, {amount if isinstance(amount, int) else f'{amount:.0%}'} false loops",
                    "odometry": "trusted" if trusted else "as any",
                    "worst error": max(errors),
                    "median error": float(np.median(errors)),
                    "not credible": ", ".join(f"{one['error']:.2g}" for one in found if one["credible"] is not True),
                    "least recall": min(one["recall"] for one in found),
                    "least precision": min(one["precision"] for one in found),
                    "seconds": max(one["seconds"] for one in found),
                }


def false_loops(
    clean: ang.Measurements, best: np.ndarray, amount: int | float, trusted: bool, seed: int, salt: int
) -> dict[str, Any]:
    data, steps = with_false_loops(clean, amount, np.random.default_rng([seed, salt]))
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ang.synchronize(data, solver=ang.Robust(trusted=steps if trusted else None))
    seconds = time.perf_counter() - begin
    false, caught = np.arange(len(data)) >= len(clean), found.robust.distrusted
    return {
        "error": turned(found.z, best),
        "credible": found.robust.credible,
        "recall": float(caught[false].mean()) if false.any() else 1.0,
        "precision": float(false[caught].mean()) if caught.any() else 1.0,
        "seconds": seconds,
    }


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    yield from graphs(60 if quick else 600)
    yield from loops(("CSAIL",) if quick else ("CSAIL", "intel"), SEEDS[:2] if quick else SEEDS)
