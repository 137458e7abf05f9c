"""Outliers: where each method breaks. n = 200, edge probability 0.5; mean error in degrees after alignment.

``random``: a corrupted edge is uniform on the circle. ``self-consistent``: all corrupted edges agree with one other
hidden phase vector, so that they look as good as the others, only fewer; above one half nobody can tell which is which.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import angsync as ang
from angsync.errors import AngsyncWarning
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.message_passing import edge_scores

N, EDGE_PROBABILITY = 200, 0.5
EXACT = 0.01  # degrees
CASES = [("random", corruption) for corruption in (0.5, 0.8, 0.85, 0.87, 0.9)] + [
    ("self-consistent", corruption) for corruption in (0.3, 0.45, 0.48)
]
NOISE = (0.0, 0.1)


def problem(kind: str, corruption: float, noise: float, seed: int) -> tuple[ang.Measurements, np.ndarray]:
    """Measurements and the phases that the good ones come from."""
    base = ang.simulate.outliers(N, 1 - corruption, sigma=noise, edge_probability=EDGE_PROBABILITY, rng=seed)
    edges = base.measurements
    if kind == "random":
        return edges, base.z
    rng = np.random.default_rng([seed, 1])
    other = np.exp(2j * np.pi * rng.random(N))
    wrong = np.angle(other[edges.i] * np.conj(other[edges.j])) + noise * rng.standard_normal(len(edges))
    assert base.outlier is not None
    return ang.Measurements(edges.i, edges.j, np.where(base.outlier, wrong, edges.angle), n=N), base.z


def by_message_passing(edges: ang.Measurements) -> np.ndarray:
    """Least squares with the weights of cycle-edge message passing, and nothing else."""
    weights = edge_scores(Edges.of(edges), np.random.default_rng(0)).weights()
    return ang.synchronize(ang.Measurements(edges.i, edges.j, edges.angle, weights, edges.n), certify=False).z


METHODS: dict[str, Callable[[ang.Measurements], np.ndarray]] = {
    "least squares": lambda edges: ang.synchronize(edges, certify=False).z,
    "L1 reweighted": lambda edges: ang.synchronize(edges, solver=ang.Robust("l1", start="least_squares")).z,
    "CEMP alone": by_message_passing,
    "Robust": lambda edges: ang.synchronize(edges, solver=ang.Robust()).z,
}


def mean_error(z: np.ndarray, truth: np.ndarray) -> float:
    """Mean over the nodes of the angle between estimate and truth, in degrees."""
    return float(np.degrees(np.mean(np.abs(np.angle(ang.align(z, truth) * np.conj(truth))))))


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per method, kind and share of corrupted edges, and noise of the good ones."""
    rows, seeds = [], 2 if quick else 10
    for noise in NOISE:
        for kind, corruption in CASES:
            problems = [problem(kind, corruption, noise, seed) for seed in range(seeds)]
            for method, solve in METHODS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", AngsyncWarning)  # beyond the limit Robust says so
                    errors = [mean_error(solve(edges), truth) for edges, truth in problems]
                rows.append(
                    {
                        "method": method,
                        "corruption": corruption,
                        "kind": kind,
                        "noise": noise,
                        "median error (degrees)": statistics.median(errors),
                        "worst error (degrees)": max(errors),
                        "exact seeds": sum(error < EXACT for error in errors),
                        "seeds": seeds,
                    }
                )
    return rows
