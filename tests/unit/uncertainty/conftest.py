"""A weighted graph and its Laplacian, written out."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def weighted_graph():
    """A function: rows, columns and weights of a random connected graph."""

    def made(n=12, seed=0):
        rng = np.random.default_rng(seed)
        i, j = np.triu_indices(n, 1)
        keep = (rng.random(i.size) < 0.6) | (j == i + 1)
        return i[keep], j[keep], rng.uniform(0.5, 3, int(keep.sum()))

    return made


@pytest.fixture(scope="session")
def graph_laplacian():
    """A function: the dense weighted Laplacian."""

    def made(n, i, j, w):
        L = np.zeros((n, n))
        for a, b, x in zip(i, j, w, strict=True):
            L[a, a] += x
            L[b, b] += x
            L[a, b] -= x
            L[b, a] -= x
        return L

    return made
