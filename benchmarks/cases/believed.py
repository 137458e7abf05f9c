"""Outliers on sparse graphs: is the answer right, and where it is not, does it say so?

``python benchmarks/cases/believed.py graphs --graphs 600 --seed 1``: graphs of six kinds, 5 to 60 % random outliers,
three levels of noise. *Wrong* is a mean error above 10 degrees; *identifiable* where more than nine tenths of the nodes
hang together by good measurements; *right* is an error, on those nodes, of at most five times that of least squares on
the good measurements alone, or one degree.

``python benchmarks/cases/believed.py loops --seeds 100 101 102``: published pose graphs (rotations only) with random
false loop closures, odometry trusted and not. Errors are mean heading differences, in degrees, to the optimum of the
clean graph.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import networkx as nx
import numpy as np

import angsync as ang

KINDS = ("grid", "ring with chords", "geometric", "star of cliques", "path with loops", "dense")
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
NOISES = (0.01, 0.05, 0.2)


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
        "note": found.robust.note,
        "error": turned(found.z, truth),
        "oracle": oracle,
    }


def graphs(count: int, seed: int, verbose: bool, seconds: float) -> None:
    end = time.monotonic() + seconds
    rng = np.random.default_rng(seed)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for k in range(count):
        if time.monotonic() > end:
            print(f"stopped after {k} graphs: no time left")
            break
        kind, share, sigma = KINDS[k % len(KINDS)], SHARES[rng.integers(len(SHARES))], NOISES[rng.integers(len(NOISES))]
        case = one_graph(kind, share, sigma, rng)
        said = case["credible"] is True and case["silent"]
        for name in (kind, f"{share:.0%} wrong", f"noise {sigma}", "all"):
            row = table[name]
            row["graphs"] += 1
            row["credible"] += case["credible"] is True
            row["not judged"] += case["credible"] is None
            row["wrong"] += bool(case["wrong"])
            row["wrong, credible, silent"] += bool(case["wrong"] and said)
            row["the same, identifiable"] += bool(case["wrong"] and not case["right"] and said and case["identifiable"])
            row["right"] += bool(case["right"])
            row["right, not credible"] += bool(case["right"] and not case["wrong"] and case["credible"] is False)
            row["right, not judged"] += bool(case["right"] and not case["wrong"] and case["credible"] is None)
            row["ms"] += round(1000 * float(case["seconds"]))  # type: ignore[arg-type]
        if verbose and ((case["wrong"] and said) or (case["right"] and not case["wrong"] and not said)):
            print(k, kind, share, sigma, {a: b for a, b in case.items() if a != "seconds"})
    columns = list(table["all"])
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for name, row in table.items():
        print(f"| {name} | " + " | ".join(str(row[c]) for c in columns) + " |")


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


def loops(seeds: list[int], names: list[str], amounts: list[int | float]) -> None:
    from angsync.applications import pose_graph

    folder = Path(os.environ.get("ANGSYNC_DATA", "../shared/data")) / "pose-graphs"
    print(
        "| graph, false loops | odometry | error: worst, median | not credible | recall, precision: worst | seconds |"
    )
    print("|---|---|---|---|---|---|")
    for name in names:
        clean = pose_graph.read(folder / f"{name}.g2o").rotations()
        best = ang.synchronize(clean).z
        for amount in amounts:
            for trusted in (True, False):
                rows = []
                for seed in seeds if amount else seeds[:1]:
                    data, steps = with_false_loops(clean, amount, np.random.default_rng([seed, len(name)]))
                    begin = time.perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = ang.synchronize(data, solver=ang.Robust(trusted=steps if trusted else None))
                    seconds = time.perf_counter() - begin
                    false = np.arange(len(data)) >= len(clean)
                    caught = found.robust.distrusted
                    recall = caught[false].mean() if false.any() else 1.0
                    precision = false[caught].mean() if caught.any() else 1.0
                    rows.append((turned(found.z, best), found.robust.credible, recall, precision, seconds))
                errors = [row[0] for row in rows]
                amiss = [f"{row[0]:.2g}" for row in rows if row[1] is not True]
                words = amount if isinstance(amount, int) else f"{amount:.0%}"
                print(
                    f"| {name}, {words} | {'trusted' if trusted else 'as any'} | {max(errors):.3f}, "
                    f"{np.median(errors):.3f} | {len(amiss)} of {len(rows)} {' '.join(amiss)} | "
                    f"{min(row[2] for row in rows):.3f}, {min(row[3] for row in rows):.3f} | "
                    f"{min(row[4] for row in rows):.2f}-{max(row[4] for row in rows):.2f} |",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["graphs", "loops"])
    parser.add_argument("--graphs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 102, 103, 104, 105])
    parser.add_argument("--names", nargs="+", default=["CSAIL", "intel"])
    parser.add_argument("--amounts", nargs="+", default=["0", "10", "50", "100", "0.3", "0.5"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="graphs: stop after so long")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    if given.what == "graphs":
        graphs(given.graphs, given.seed, given.verbose, given.seconds)
    else:
        loops(given.seeds, given.names, [float(a) if "." in a else int(a) for a in given.amounts])


if __name__ == "__main__":
    main()
