"""What is eliminated and what is sampled, and how much memory either takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import angsync as ang
from angsync.uncertainty.resistance import (
    choice,
    collect_pairs,
    node_variances,
    pair_resistances,
    plan,
    sampling,
)


def test_what_is_too_full_is_refused_before_it_is_factorized(network, monkeypatch):
    pairs, components, _ = network("complete")
    monkeypatch.setattr(choice, "LARGEST_FRONT", 20)
    assert plan(pairs, components).name == "probing"
    assert "no small separators" in plan(pairs, components).reason
    monkeypatch.setattr(choice, "LARGEST_FRONT", 2000)
    assert "the factor holds 3540 numbers" in plan(pairs, components).reason  # 59 columns of 60
    monkeypatch.setattr(choice, "LARGEST_FILL", 3539)
    assert "too many" in plan(pairs, components).reason


@pytest.mark.parametrize("probing", [False, True])
def test_memory_stays_far_below_a_square_matrix(probing, monkeypatch):
    # n = 10000: a square matrix takes 800 MB. The factor has about 52 numbers a node (4 MB), fronts and index arrays
    # some more; sampling holds blocks of 16 vectors (1.3 MB each).
    n = 10_000
    grid = ang.simulate.grid(100, 100, 0.1, rng=0).measurements
    pairs, one = collect_pairs(n, grid.i, grid.j, np.ones(len(grid))), np.zeros(n, dtype=np.int64)
    if probing:
        monkeypatch.setattr(choice, "LARGEST_NODES", -1)
        monkeypatch.setattr(sampling, "ACCURACY", 10.0)
    tracemalloc.start()
    try:
        _, method = node_variances(pairs, one, None)
        pair_resistances(pairs, one)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert method.name == ("probing" if probing else "selected inverse")
    assert peak < 60e6
