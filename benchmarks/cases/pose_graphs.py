"""Rotations of 2-D pose graphs with known optima, and the whole graphs; GTSAM, pymanopt and plain GPM beside us."""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from peers import fast_sync, gtsam_graph, plain_gpm, trust_regions
from race import race

import angsync as ang
from angsync.applications import pose_graph

# optimum F = sum w (2 - 2 cos r), unit and kappa weights; and of the whole graph in the convention of SE-Sync
KNOWN: dict[str, tuple[float, float]] = {
    "noisyToyGraph": (0.0008211174538, 0.0008211174538),
    "MIT": (0.08220601864, 19.40546023),
    "intel": (0.01203576954, 1.819822985),
    "manhattan": (1.020561823, 3097.54971),
}
PUBLISHED = {"intel": "52.35", "manhattan": "6432"}


def folder() -> Path | None:
    """Where the data sets are, if they are there."""
    root = Path(os.environ.get("ANGSYNC_DATA", Path(__file__).parents[3] / "shared" / "data"))
    return root / "pose-graphs" if (root / "pose-graphs").is_dir() else None


def cost(measurements: ang.Measurements, z: np.ndarray) -> float:
    """F without cancellation: 2 - 2 cos r = 4 sin^2(r/2)."""
    r = measurements.angle - np.angle(z[measurements.i] * z[measurements.j].conj())
    return float(np.sum(measurements.weight * 4 * np.sin(r / 2) ** 2))


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per graph, weighting and method."""
    data = folder()
    if data is None:
        return []
    rows: list[dict[str, Any]] = []
    for name, optima in KNOWN.items():
        for weighting, optimum in zip(("unit", "kappa"), optima, strict=True):
            measurements = ang.read(data / f"{name}.g2o", weights=weighting)
            C = measurements.to_sparse()
            methods: dict[str, Any] = {"angsync": lambda m=measurements: ang.synchronize(m)}
            if importlib.util.find_spec("gtsam"):
                graph = gtsam_graph(measurements)
                methods["gtsam.fastSyncRot2"] = lambda g=graph, n=measurements.n: fast_sync(g, n)
            laps = race(methods, 3 if quick else 7)
            seconds = {method: lap.seconds for method, lap in laps.items()}
            answers = {method: lap.answer for method, lap in laps.items()}
            if importlib.util.find_spec("pymanopt"):
                start = ang.eigenvector_estimator(C)
                begin = time.perf_counter()
                answers["pymanopt, 60 s at most"] = trust_regions(C, start, 60.0)
                seconds["pymanopt, 60 s at most"] = time.perf_counter() - begin
            begin = time.perf_counter()
            answers["plain GPM, 2000 iterations"] = plain_gpm(C, 2000)
            seconds["plain GPM, 2000 iterations"] = time.perf_counter() - begin
            for method, answer in answers.items():
                z = answer.z if method == "angsync" else answer
                found = cost(measurements, z)
                row = {
                    "case": f"{name}, {weighting} weights (n = {measurements.n})",
                    "method": method,
                    "seconds": seconds[method],
                    "value": found,
                    "excess over the optimum": found / optimum - 1,
                }
                if method == "angsync":
                    row["certificate"] = answer.certificate.verdict.name
                if "gtsam.fastSyncRot2" in seconds:
                    row["time over fastSyncRot2"] = seconds[method] / seconds["gtsam.fastSyncRot2"]
                rows.append(row)
    rows += [_whole(data, name, printed) for name, printed in PUBLISHED.items()]
    return rows


def _whole(data: Path, name: str, printed: str) -> dict[str, Any]:
    begin = time.perf_counter()
    result = pose_graph.optimize(pose_graph.read(data / f"{name}.g2o"))
    return {
        "case": f"{name}, whole SE(2) graph (published {printed})",
        "method": "angsync",
        "seconds": time.perf_counter() - begin,
        "value": result.cost,
        "excess over the optimum": result.cost / float(printed) - 1,
        "certificate": result.sync.certificate.verdict.name if result.sync.certificate else "none",
    }
