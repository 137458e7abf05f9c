"""Other people's solvers, called as their documentation says. Each is optional; ``missing`` says what to install."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import angsync as ang
from angsync.study.bench.peers import naive, trust_regions
from angsync.study.bench.runner import Contestant, race

__all__ = ["fast_sync", "gtsam_graph", "interleaved", "missing", "naive", "plain_gpm", "trust_regions"]


def missing() -> list[str]:
    """Names of the peers that are not installed."""
    return [name for name in ("gtsam", "pymanopt") if importlib.util.find_spec(name) is None]


def interleaved(methods: Mapping[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds and last answer of each method, taking turns."""
    laps = race([Contestant(name, method) for name, method in methods.items()], repeats)
    return {name: lap.seconds for name, lap in laps.items()}, {name: lap.answer for name, lap in laps.items()}


def gtsam_graph(measurements: ang.Measurements) -> Any:
    """The factor graph of GTSAM: one between-factor a measurement, precision = weight (not part of what is timed)."""
    import gtsam

    graph = gtsam.NonlinearFactorGraph()
    for i, j, angle, weight in zip(
        measurements.i.tolist(),
        measurements.j.tolist(),
        measurements.angle.tolist(),
        measurements.weight.tolist(),
        strict=True,
    ):
        noise = gtsam.noiseModel.Isotropic.Precision(1, weight)
        # BetweenFactor(a, b, m) measures a^-1 b; ours is theta_i - theta_j
        graph.add(gtsam.BetweenFactorRot2(j, i, gtsam.Rot2(angle), noise))
    return graph


def fast_sync(graph: Any, n: int) -> np.ndarray:
    """``gtsam.fastSyncRot2``: approximate, no certificate."""
    import gtsam

    values = gtsam.fastSyncRot2(graph)
    return np.exp(1j * np.array([values.atRot2(k).theta() for k in range(n)]))


def plain_gpm(C: Any, iterations: int) -> np.ndarray:
    """Algorithm 1 of the paper from the leading eigenvector, so many iterations."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = C.shape[0]
    try:
        u = eigsh(C, k=1, which="LA", v0=np.ones(n, dtype=complex), tol=1e-4, maxiter=500)[1][:, 0]
    except ArpackNoConvergence as error:
        u = error.eigenvectors[:, 0] if error.eigenvectors.size else np.ones(n, dtype=complex)
    z = np.where(np.abs(u) > 0, u / np.where(np.abs(u) > 0, np.abs(u), 1), 1)
    shift = float(abs(C).sum(axis=1).max())
    for _ in range(iterations):
        w = C @ z + shift * z
        z = w / np.abs(w)
    return z
