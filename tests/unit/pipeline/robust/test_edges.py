"""Measurements one by one, and the bonds that hold their graph together."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from problems import corrupted

import angsync as ang
from angsync.pipeline.robust.edges import Edges, bonds
from angsync.problem.pieces import piece_count


def test_bonds_hold_together_what_the_weights_let_go():
    problem = corrupted(seed=4)
    edges = Edges.of(problem.measurements)
    rng = np.random.default_rng(0)
    doubt = rng.random(len(edges))
    kept = rng.random(len(edges)) < 0.02
    chosen = bonds(edges, kept, doubt)
    assert not (chosen & kept).any()
    held = kept | chosen
    before = piece_count(edges.n, edges.i[kept], edges.j[kept])
    assert piece_count(edges.n, edges.i[held], edges.j[held]) == 1
    assert chosen.sum() == before - 1
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(edges.i, edges.j, np.where(kept, 0.0, doubt), strict=True))
    least = networkx.minimum_spanning_tree(graph).size(weight="weight")
    assert doubt[chosen].sum() == pytest.approx(least)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::angsync.errors.CorruptionWarning")
@pytest.mark.parametrize("exponent", [300, -300, 200, 0])
@pytest.mark.parametrize("mixed", [False, True])
def test_weights_of_any_size_overflow_nowhere(exponent, mixed):
    rng = np.random.default_rng(0)
    given = corrupted(n=30, seed=1).measurements
    sign = rng.choice([-1, 1], len(given)) if mixed else np.ones(len(given))
    weight = 10.0 ** (exponent * sign)
    measurements = ang.Measurements(given.i, given.j, given.angle, weight)
    result = ang.synchronize(measurements, solver=ang.Robust(), on_failure="ignore")
    assert np.isfinite(result.z).all()
    assert (Edges.of(measurements).precision > 0).all()
