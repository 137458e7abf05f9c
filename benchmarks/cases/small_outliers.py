"""Outliers of a few deviations: the share caught, and the scale.

Random graphs of 200 nodes, 5 % of the angles off by 8 or 20 deviations either way. A node with two good edges or fewer
cannot tell which of its edges is wrong, whatever its degree, so that shares are given for edges between nodes
of more than two edges, and of more than two good ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import angsync as ang

NODES, SHARE, FIRST_SEED = 200, 0.05, 20_000
DEGREES, SIGMAS, TIMES = (4, 6, 8, 12, 20), (4e-4, 4e-3, 0.04), (8, 20)


def graph(degree: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A random graph of this mean degree; nodes outside its largest piece get three edges to that piece."""
    i, j = np.triu_indices(NODES, 1)
    kept = rng.random(i.size) < degree / (NODES - 1)
    i, j = i[kept], j[kept]
    label = connected_components(coo_array((np.ones(i.size), (i, j)), shape=(NODES, NODES)), directed=False)[1]
    main = np.flatnonzero(label == np.bincount(label).argmax())
    for node in np.flatnonzero(label != label[main[0]]):
        i, j = np.r_[i, 3 * [node]], np.r_[j, rng.choice(main, 3, replace=False)]
    return i, j


def draw(degree: float, sigma: float, times: float, seed: int) -> tuple[NDArray, float, float]:
    """Per wrong edge: caught, least degree and good degree of its ends; then scale / sigma, and good edges lost."""
    rng = np.random.default_rng([seed, degree, int(1e6 * sigma), times])
    i, j = graph(degree, rng)
    theta = rng.uniform(-np.pi, np.pi, NODES)
    wrong = rng.random(i.size) < SHARE
    angle = theta[i] - theta[j] + sigma * rng.standard_normal(i.size)
    angle += wrong * times * sigma * rng.choice([-1, 1], i.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ang.errors.AngsyncWarning)
        report = ang.synchronize(ang.Measurements(i, j, angle, n=NODES), solver=ang.Robust(), rng=seed).robust
    assert report is not None
    count = [np.bincount(np.r_[i[some], j[some]], minlength=NODES) for some in (slice(None), ~wrong)]
    least = [np.minimum(c[i], c[j])[wrong] for c in count]
    return np.stack([report.distrusted[wrong], *least]), report.scale / sigma, float(report.distrusted[~wrong].mean())


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    seeds = range(FIRST_SEED, FIRST_SEED + (2 if quick else 30))
    for degree in DEGREES:
        for sigma in SIGMAS:
            for times in TIMES:
                found = [draw(degree, sigma, times, seed) for seed in seeds]
                edges = np.concatenate([one[0] for one in found], axis=1)
                scales = [one[1] for one in found]
                yield {
                    "degree": degree,
                    "sigma": sigma,
                    "times": times,
                    "caught, degree > 2": float(edges[0][edges[1] > 2].mean()),
                    "caught, good degree > 2": float(edges[0][edges[2] > 2].mean()),
                    "scale / sigma": float(np.mean(scales)),
                    "least": min(scales),
                    "largest": max(scales),
                    "good edges lost": float(np.mean([one[2] for one in found])),
                }
