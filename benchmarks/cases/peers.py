"""Other people's solvers, called as their documentation says. Each is optional; ``missing`` says what to install."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import angsync as ang


def missing() -> list[str]:
    """Names of the peers that are not installed."""
    return [name for name in ("gtsam", "pymanopt") if importlib.util.find_spec(name) is None]


def interleaved(methods: Mapping[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds and last answer of each method; taking turns, so that a noisy moment hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in methods}
    answers: dict[str, Any] = {}
    for _ in range(repeats):
        for name, method in methods.items():
            begin = time.perf_counter()
            answers[name] = method()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(spent) for name, spent in times.items()}, answers


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


def naive(C: Any, tolerance: float) -> np.ndarray:
    """What a reader of the paper writes first: eigsh with its default tolerance, then GPM with alpha = 4 in NumPy."""
    from scipy.sparse.linalg import eigsh

    n = C.shape[0]
    u = eigsh(C, k=1, which="LA", v0=np.ones(n, dtype=complex))[1][:, 0]
    z = u / np.abs(u)
    for _ in range(20_000):
        Cz = C @ z
        if np.linalg.norm((z.conj() * Cz).imag) <= tolerance * np.linalg.norm(Cz):
            break
        w = z + 4 / n * Cz
        z = w / np.abs(w)
    return z


def trust_regions(C: Any, start: np.ndarray, max_seconds: float) -> np.ndarray:
    """pymanopt's Riemannian trust regions from the same start."""
    import pymanopt
    from pymanopt.manifolds import ComplexCircle
    from pymanopt.optimizers import TrustRegions

    manifold = ComplexCircle(C.shape[0])

    @pymanopt.function.numpy(manifold)
    def cost(z):  # type: ignore[no-untyped-def]
        return -np.vdot(z, C @ z).real

    @pymanopt.function.numpy(manifold)
    def gradient(z):  # type: ignore[no-untyped-def]
        return -2 * (C @ z)

    @pymanopt.function.numpy(manifold)
    def hessian(z, w):  # type: ignore[no-untyped-def]
        return -2 * (C @ w)

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    size = 1e-10 * float(np.linalg.norm(C @ start))
    optimizer = TrustRegions(verbosity=0, min_gradient_norm=size, max_time=max_seconds)
    return optimizer.run(problem, initial_point=start).point
