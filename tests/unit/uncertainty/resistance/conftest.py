"""Networks of several kinds, with their pseudo-inverse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import angsync as ang
from angsync.uncertainty.resistance import collect_pairs


def _graphs():
    rng = np.random.default_rng(0)
    k = np.arange(1, 255)
    clique = np.triu_indices(40, 1)
    rim = np.arange(1, 120)
    a, b = rng.integers(0, 200, (2, 150))
    apart = a != b
    grid = ang.simulate.grid(17, 23, 0.1, rng=0).measurements
    chords = rng.integers(0, 150, (2, 60))
    chords = chords[:, chords[0] != chords[1]]
    ring = np.arange(150)
    return {
        "pair": (2, [0], [1]),
        "path": (90, np.arange(89), np.arange(1, 90)),
        "star": (90, np.zeros(89, int), np.arange(1, 90)),
        "binary tree": (255, k, (k - 1) // 2),
        "ring with chords": (150, np.r_[ring, chords[0]], np.r_[(ring + 1) % 150, chords[1]]),
        "wheel": (120, np.r_[np.zeros(119, int), rim], np.r_[rim, np.r_[rim[1:], 1]]),
        "lollipop": (100, np.r_[clique[0], np.arange(39, 99)], np.r_[clique[1], np.arange(40, 100)]),
        "grid": (391, grid.i, grid.j),
        "complete": (60, *np.triu_indices(60, 1)),
        "pieces and isolated nodes": (210, a[apart], b[apart]),
    }


@pytest.fixture(params=list(_graphs()))
def graph_name(request):
    """The name of one network after the other."""
    return request.param


@pytest.fixture(scope="session")
def network():
    """A function: pairs, components and the pseudo-inverse of the Laplacian of the network of this name."""

    def made(name):
        n, i, j = _graphs()[name]
        weight = np.random.default_rng(1).uniform(0.3, 3, len(i))
        pairs = collect_pairs(n, np.asarray(i), np.asarray(j), weight)
        components = connected_components(pairs.adjacency(), directed=False)[1].astype(np.int64)
        conductance = pairs.adjacency().toarray()
        return pairs, components, np.linalg.pinv(np.diag(conductance.sum(0)) - conductance, hermitian=True)

    return made
