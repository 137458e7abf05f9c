"""Random walks find what ascents miss, and say how probable other answers are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.annealing import explored
from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged
from angsync.pipeline.robust.marginal.search import Found, Task
from angsync.pipeline.robust.sampler import Sampler
from angsync.problem.pieces import piece_count
from angsync.solvers.stopping import Clock


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_sets_is_found(seed):
    """Ten edges, 1024 sets: from a tree, whatever ascents do."""
    i, j = np.array([0, 1, 2, 3, 0, 0, 1, 2, 0, 1]), np.array([1, 2, 3, 4, 2, 3, 3, 4, 4, 4])
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0, 6, 5)
    angle = theta[i] - theta[j] + rng.normal(0, 0.02, 10)
    angle[rng.permutation(10)[:4]] += rng.uniform(1, 5, 4)
    model = Rotations(Edges.of(ang.Measurements(i, j, angle, n=5)))
    model.kinds = np.zeros(10, dtype=np.int64)
    nothing, all_ = np.zeros(10, dtype=bool), single_edges(np.arange(10))
    task = Task(model, nothing, nothing, None, (0.3, 0.1, 0.03), all_, all_)
    tree = np.arange(10) < 4
    found = Found()
    found.add(judged(model, tree, model.along(tree)))
    explored(task, found, Clock(None), np.random.default_rng(7))
    # every set from the answers of all trees would be exact; around the truth and around the best is enough here
    best = -np.inf
    for some in itertools.product([False, True], repeat=10):
        believed = np.array(some)
        if piece_count(5, i[believed], j[believed]) == 1:
            best = max(best, *(judged(model, believed, x).evidence for x in (theta, found.best.x)))
    assert found.best.evidence >= best - 1e-6


def two_groups(sigma, wrong):
    """Two complete graphs of six nodes, joined by one edge; some of the edges inside are off by 1 to 2 rad."""
    i, j = np.triu_indices(6, 1)
    i, j = np.r_[i, i + 6, 0], np.r_[j, j + 6, 11]
    rng = np.random.default_rng(0)
    angle = sigma * rng.standard_normal(i.size)
    angle[[5, 6, 20, 21][:wrong]] += np.array([1.0, -1.3, 1.6, 2.0])[:wrong]
    return Edges.of(ang.Measurements(i, j, angle, n=12))


def turns(edges, sigma):
    """Differences between the mean phases of the groups, drawn."""
    nothing = np.zeros(len(edges), dtype=np.int64)
    walk = Sampler(edges, np.ones(12, dtype=complex), np.ones(len(edges), dtype=bool), nothing,
                   np.random.default_rng(1), scale=sigma, scales=(1e-6, 1.0), is_known=False)  # fmt: skip
    for _ in range(4000):
        walk.sweep()
        z = np.exp(1j * walk.phases())
        yield float(np.angle(z[:6].sum() * np.conj(z[6:].sum())))


def test_a_bridge_is_wrong_as_often_as_the_others():
    turn = np.abs(list(turns(two_groups(1e-3, wrong=4), 1e-3)))
    # 4 of the 30 others are wrong, with Beta(0.2, 2) before; a wrong bridge leaves any angle
    expected = 4.2 / 32.2
    assert np.mean(turn > 0.1) == pytest.approx(expected * (1 - 0.1 / np.pi), abs=0.03)


def test_noise_turns_the_phases():
    turn = np.array(list(turns(two_groups(0.3, wrong=0), 0.3)))
    # the bridge alone joins the groups: its error, and little of the others'
    usual = turn[np.abs(turn) < 1.5]
    assert np.std(usual) == pytest.approx(0.3 * np.sqrt(1 + 2 / 6), rel=0.4)
