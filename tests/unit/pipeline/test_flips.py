"""Single vortices are moved by turns of measurements."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline import flips
from angsync.pipeline.flips import doubt, flipped
from angsync.pipeline.region import nodes_around
from angsync.problem.objective import objective
from angsync.solvers.loop import iterate
from angsync.solvers.starts.multilevel import multilevel
from angsync.solvers.stopping import Clock, Stopping
from angsync.uncertainty import leverages


def base_of(C):
    return ang.as_operator(C).sparse().operator


def test_the_leverage_guessed_is_right_inside_a_lattice():
    C = ang.simulate.grid(30, 30, 0.1, rng=0).C
    edges = base_of(C).edges
    m = ang.Measurements(edges.i, edges.j, np.zeros(edges.i.size))
    exact = leverages(m, np.ones(edges.i.size), np.zeros(900, dtype=np.int64))
    guessed = 1 - flips._redundancy(edges)
    inside = (edges.i // 30 > 5) & (edges.j // 30 < 25) & (edges.i % 30 > 5) & (edges.j % 30 < 25)
    assert np.abs(guessed - exact)[inside].max() < 0.02
    assert guessed.sum() == pytest.approx(900, rel=0.01)  # Foster: 899


def test_a_point_short_by_one_vortex_is_mended():
    """The first seeds at 0.5 rad: wherever the plain start ends short, at least half of the points are mended."""
    short = mended = 0
    for seed in range(4):
        grid = ang.simulate.grid(40, 40, 0.5, rng=seed)
        base = base_of(grid.C)
        best = iterate(base, ang.Newton(), grid.z, Stopping()).objective
        for start in (multilevel(base, np.random.default_rng((seed, k))) for k in range(2)):
            found = iterate(base, ang.Newton(), start, Stopping())
            if not found.objective < best - 0.05:
                continue
            short += 1
            better = flipped(base, found.z, Clock())
            if better is None:
                continue
            assert objective(grid.C, better) > found.objective
            mended += iterate(base, ang.Newton(), better, Stopping()).objective > best - 0.05
    assert short >= 3
    assert mended >= short / 2


def test_edges_taken_together_have_neighborhoods_of_their_own():
    base = base_of(ang.simulate.grid(40, 40, 0.3, rng=0).C)
    places = np.random.default_rng(0).choice(base.edges.i.size, 60, replace=False)
    left, seen = places, []
    while left.size:
        taken, around = flips._far_apart(base, left, 3)
        assert taken.size > 0
        total = sum(int(nodes_around(base, np.array([one]), 3).sum()) for one in taken)
        assert total == around.sum()  # none is in two of them
        seen.extend(taken.tolist())
        left = np.setdiff1d(left, taken)
    assert sorted(seen) == sorted(places.tolist())


def test_an_optimum_at_low_noise_has_nothing_to_turn():
    grid = ang.simulate.grid(40, 40, 0.2, rng=0)
    z = ang.synchronize(grid.C, certify=False).z
    base = base_of(grid.C)
    assert not (doubt(base.edges, z) > flips._NEAR).any()
    assert flipped(base, z, Clock()) is None


def test_without_time_nothing_is_turned():
    grid = ang.simulate.grid(40, 40, 0.5, rng=0)
    base = base_of(grid.C)
    assert flipped(base, np.ones(1600, dtype=complex), Clock(0.0)) is None


def test_where_everything_is_near_to_everything_there_are_no_neighborhoods(monkeypatch):
    base = base_of(ang.simulate.erdos_renyi(3000, 8 / 3000, 0.5, rng=0).C)
    monkeypatch.setattr(flips, "Region", lambda *_: pytest.fail("a region of a whole random graph"))
    assert flipped(base, np.ones(3000, dtype=complex), Clock()) is None
