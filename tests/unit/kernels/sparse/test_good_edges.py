"""The walk over sets of good edges: compiled and in NumPy alike, and with the law that it promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import angsync.kernels as kernels
from angsync.kernels.sparse import good_edges_reference


def drawn(rng, n=12, extra=14, sigma=0.05):
    i = np.r_[np.arange(n - 1), rng.integers(0, n, extra)]
    j = np.r_[np.arange(1, n), rng.integers(0, n, extra)]
    i, j = i[i != j], j[i != j]
    angle = sigma * rng.standard_normal(i.size)
    angle[::5] = rng.uniform(-np.pi, np.pi, angle[::5].size)
    return n, i, j, rng.uniform(0.5, 2, i.size), angle


@pytest.mark.skipif(not kernels.COMPILED, reason="there is only one of the two")
def test_compiled_and_numpy_walk_the_same_way():
    n, i, j, weight, angle = drawn(np.random.default_rng(0))
    walks = [
        module.GoodEdges(n, i, j, weight, angle, np.ones(i.size, bool)) for module in (kernels, good_edges_reference)
    ]
    rng = np.random.default_rng(1)
    for _ in range(30):
        odds, numbers = rng.uniform(0.5, 9, i.size), rng.random(i.size)
        for walk in walks:
            walk.sweep(0.1, odds, numbers)
        first, second = walks
        assert first.good.tolist() == second.good.tolist()
        assert (first.flips, first.refreshes) == (second.flips, second.refreshes)
        assert first.sum_of_squares() == pytest.approx(second.sum_of_squares(), rel=1e-6)
        # phases of pieces that nothing ties drift by rounding over 1e-8: compare what edges see
        gaps = [(walk.mean[i] - walk.mean[j])[walk.good] for walk in walks]
        assert gaps[0] == pytest.approx(gaps[1], abs=1e-6)
    assert walks[0].refreshes > 1  # bridges were given up on the way


def test_the_walk_has_the_law_of_the_model():
    # four edges between three nodes: all 16 sets can be reckoned. pi(S) times the density of the angles of S with the
    # phases integrated out, sigma and odds given
    i, j = np.array([0, 1, 0, 0]), np.array([1, 2, 2, 1])
    angle, sigma, odds = np.array([0.0, 0.0, 0.25, 0.12]), 0.1, 1.5
    weight = np.ones(4)
    chances = {}
    grid = np.linspace(-np.pi, np.pi, 201)[:-1]
    a, b = np.meshgrid(grid, grid, indexing="ij")  # phases of nodes 1 and 2, node 0 is the reference
    phase = [np.zeros_like(a), a, b]
    for good in itertools.product([False, True], repeat=4):
        density = np.ones_like(a)
        for k in np.flatnonzero(good):
            miss = np.angle(np.exp(1j * (angle[k] - phase[i[k]] + phase[j[k]])))
            density = density * odds * math.sqrt(2 * math.pi) / sigma * np.exp(-0.5 * (miss / sigma) ** 2)
        chances[good] = density.mean()
    total = sum(chances.values())
    walk = kernels.GoodEdges(3, i, j, weight, angle, np.ones(4, bool))
    rng = np.random.default_rng(2)
    count = dict.fromkeys(chances, 0)
    sweeps = 4000
    for _ in range(sweeps):
        walk.sweep(sigma, np.full(4, odds), rng.random(4))
        count[tuple(walk.good.tolist())] += 1
    # a share has a standard error of at most 0.5 / sqrt(4000 / 5) = 0.018 with one independent sweep in five
    for good, chance in chances.items():
        assert count[good] / sweeps == pytest.approx(chance / total, abs=4 * 0.018)
