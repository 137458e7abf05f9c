"""How often 95 % intervals hold the truth after ``Robust()``: clean data and outliers, graphs with few cycles and many.

A corrupted angle is uniform on the circle; the corrupted measurements are drawn one by one. The other noise is normal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import angsync as ang
from angsync.errors import AngsyncWarning

from .coverage import Graph

SIGMA = 0.05
FIRST_SEED = 10_000
SHARES = (0.0, 0.1, 0.2, 0.3)


def tree_and(extra: int) -> Callable[[np.random.Generator], Graph]:
    """A random tree of 20 nodes (each node hangs on an earlier one) and further edges between random pairs."""

    def make(rng: np.random.Generator) -> Graph:
        n = 20
        first, second = (rng.integers(0, n, extra), rng.integers(1, n, extra))
        parents = np.array([int(rng.integers(0, k)) for k in range(1, n)])
        return n, np.r_[parents, first], np.r_[np.arange(1, n), (first + second) % n]

    return make


def grid(rng: np.random.Generator) -> Graph:
    node = np.arange(36).reshape(6, 6)
    return 36, np.r_[node[:, :-1].ravel(), node[:-1].ravel()], np.r_[node[:, 1:].ravel(), node[1:].ravel()]


def ring_with_chords(rng: np.random.Generator) -> Graph:
    n, chords = 24, 12
    ring, first = np.arange(n), rng.integers(0, n, chords)
    return n, np.r_[ring, first], np.r_[(ring + 1) % n, (first + rng.integers(2, n - 1, chords)) % n]


def complete(n: int) -> Callable[[np.random.Generator], Graph]:
    return lambda rng: (n, *np.triu_indices(n, 1))


def erdos_renyi(rng: np.random.Generator) -> Graph:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    i, j = np.triu_indices(30, 1)
    while True:
        kept = rng.random(i.size) < 0.2
        graph = coo_array((np.ones(kept.sum()), (i[kept], j[kept])), shape=(30, 30))
        if connected_components(graph, directed=False)[0] == 1:
            return 30, i[kept], j[kept]


KINDS: dict[str, Callable[[np.random.Generator], Graph]] = {
    "tree + 2": tree_and(2),
    "tree + 8": tree_and(8),
    "grid 6 x 6": grid,
    "ring with chords": ring_with_chords,
    "K15": complete(15),
    "K20": complete(20),
    "G(30, 0.2)": erdos_renyi,
}


def problem(kind: str, share: float, seed: int, sigma: float = SIGMA) -> tuple[ang.Measurements, NDArray, NDArray]:
    """Measurements, true phases, and which measurements are corrupted."""
    rng = np.random.default_rng([seed, sorted(KINDS).index(kind), int(1000 * share)])
    n, i, j = KINDS[kind](rng)
    theta = rng.uniform(-np.pi, np.pi, n)
    wrong = rng.random(i.size) < share
    angle = theta[i] - theta[j] + sigma * rng.standard_normal(i.size)
    angle[wrong] = rng.uniform(-np.pi, np.pi, int(wrong.sum()))
    return ang.Measurements(i, j, angle, n=n), np.exp(1j * theta), wrong


def draw(kind: str, share: float, seed: int, sigma: float = SIGMA) -> dict[str, float]:
    """One graph: share of the nodes whose interval holds the truth, and what goes with it."""
    m, truth, wrong = problem(kind, share, seed, sigma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)
        result = ang.synchronize(m, solver=ang.Robust(), rng=seed)
        interval = result.confidence_intervals(0.95)[1:]
    error = np.abs(np.angle(result.z * np.conj(truth) * truth[0]))[1:]
    half = (interval[:, 1] - interval[:, 0]) / 2
    assert result.robust is not None
    return {
        "covered": float(np.mean(error <= half)),
        "credible": float(result.robust.credible is True),
        "off by 10 degrees": float(np.mean(error > np.radians(10))),
        "half": float(np.median(half)),
        "scale": result.robust.scale / sigma,
        "efficiency": result.robust.efficiency,
        "caught": float(np.mean(result.robust.distrusted[wrong])) if wrong.any() else np.nan,
        "lost": float(np.mean(result.robust.distrusted[~wrong])),
    }


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per kind and share of outliers."""
    rows, draws = [], 10 if quick else 300
    for kind in KINDS:
        for share in SHARES:
            found = [draw(kind, share, seed) for seed in range(FIRST_SEED, FIRST_SEED + draws)]
            covered = np.array([one["covered"] for one in found])
            believed = np.array([one["credible"] for one in found]) > 0
            rows.append(
                {
                    "case": f"{kind}, {share:.0%} outliers, {draws} draws",
                    "method": "Robust",
                    "value": float(covered.mean()),
                    "status": "95 % intervals",
                    "standard error of the share": float(covered.std(ddof=1) / np.sqrt(draws)),
                    "value where credible": float(covered[believed].mean()) if believed.any() else float("nan"),
                    "credible": float(believed.mean()),
                    **{name: float(np.nanmean([one[name] for one in found] or [np.nan]))
                       for name in ("off by 10 degrees", "caught", "lost")},
                    "median half width (rad)": float(np.median([one["half"] for one in found])),
                    "median scale / sigma": float(np.median([one["scale"] for one in found])),
                    "largest efficiency": float(np.max([one["efficiency"] for one in found])),
                }
            )  # fmt: skip
    return rows
