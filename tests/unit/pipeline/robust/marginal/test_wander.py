"""The walk over sets visits them as often as their evidence says, and finds what ascents miss."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.kernels.sparse import walk_reference
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal import wander
from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged
from angsync.pipeline.robust.marginal.search import Found, Task
from angsync.problem.pieces import piece_count
from angsync.solvers.stopping import Clock


def task_of(seed=0, scale=None, i=(0, 1, 2, 0, 0, 1), j=(1, 2, 3, 3, 2, 3), noise=0.3):
    rng = np.random.default_rng(seed)
    i, j = np.array(i), np.array(j)
    n, m = int(j.max()) + 1, i.size
    theta = rng.uniform(0, 6, n)
    angle = theta[i] - theta[j] + rng.normal(0, noise, m)
    model = Rotations(Edges.of(ang.Measurements(i, j, angle, n=n)))
    model.kinds = np.full(m, -1)  # the prior is left out: during a sweep the walk takes the odds as constant
    nothing, all_ = np.zeros(m, dtype=bool), single_edges(np.arange(m))
    return Task(model, nothing, nothing, scale, (0.3,), all_, all_), theta


def all_sets(task, theta):
    model = task.model
    for some in itertools.product([False, True], repeat=model.edges):
        believed = np.array(some)
        if piece_count(model.nodes, model.i[believed], model.j[believed]) == 1:
            yield some, judged(model, believed, theta, task.scale)


def test_sets_are_visited_by_their_evidence():
    task, theta = task_of(scale=0.8)
    chances = {some: np.exp(belief.evidence) for some, belief in all_sets(task, theta)}
    total = sum(chances.values())
    start = judged(task.model, np.ones(6, dtype=bool), theta, 0.8)
    walk = wander.Walk(task, np.arange(6), np.random.default_rng(1), start)
    seen = Counter()
    for _ in range(4000):
        walk.moves(2, 1.0)
        seen[tuple(walk.state.believed.tolist())] += 1
    assert set(seen) <= set(chances)
    # 4000 correlated looks, about 800 independent ones: a share p is known to sqrt(p / 800) < 0.02
    for some, chance in chances.items():
        assert abs(seen[some] / 4000 - chance / total) < 0.06


@pytest.mark.parametrize("kind", [walk_reference.WalkState, kernels.WalkState])
def test_the_updated_inverse_angles_and_evidence_are_those_of_the_set(monkeypatch, kind):
    monkeypatch.setattr(kernels, "WalkState", kind)
    task, theta = task_of(2)
    model = task.model
    start = judged(model, np.ones(6, dtype=bool), theta, 0.3)
    walk = wander.Walk(task, np.arange(6), np.random.default_rng(3), start).go(40, Clock(None), 2.0, 1.0)
    weights = walk.state.believed.astype(float)
    np.testing.assert_allclose(walk.state.inverse, model.inverse(weights)[0], atol=1e-9)
    np.testing.assert_allclose(
        model.residuals(walk.state.x), model.residuals(model.solve(weights, walk.state.x)), atol=1e-8
    )
    look = walk.seen[-1]
    assert look.evidence == pytest.approx(judged(model, look.believed, look.x).evidence, abs=1e-8)


def test_both_kernels_walk_the_same_way():
    rng = np.random.default_rng(5)
    i, j = np.r_[np.arange(19), rng.integers(0, 8, 15)], np.r_[np.arange(1, 20), rng.integers(10, 20, 15)]
    task, theta = task_of(5, None, i, j)
    start = judged(task.model, np.ones(i.size, dtype=bool), theta)
    ways = []
    for kind in (walk_reference.WalkState, kernels.WalkState):
        inverse, _ = task.model.inverse(start.believed.astype(float))
        m = task.model
        state = kind(m.i, m.j, m.angle, m.root, np.arange(i.size), start.believed.copy(), start.x.copy(), inverse)
        made, grown = state.walk(np.random.default_rng(6).random((300, 3)), m.peak, 0.2, 0.7, 0.3)
        ways.append((made, grown, state.believed, state.x))
    assert ways[0][0] == ways[1][0]
    assert ways[0][1] == pytest.approx(ways[1][1], abs=1e-9)
    assert np.array_equal(ways[0][2], ways[1][2])
    np.testing.assert_allclose(ways[0][3], ways[1][3], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_sets_is_found_and_its_rivals_too(seed):
    """Ten edges, 1024 sets: from a tree, whatever ascents do."""
    i, j = (0, 1, 2, 3, 0, 0, 1, 2, 0, 1), (1, 2, 3, 4, 2, 3, 3, 4, 4, 4)
    task, theta = task_of(seed, None, i, j, noise=0.02)
    model = task.model
    model.kinds = None
    rng = np.random.default_rng(seed)
    model.angle[rng.permutation(10)[:4]] += rng.uniform(1, 5, 4)
    # every set from the answers of all trees would be exact; around the truth and around the best is enough here
    tree = np.arange(10) < 4
    found = Found()
    found.add(judged(model, tree, model.along(tree)))
    wander.wander(task, found, Clock(None), np.random.default_rng(7))
    best = max(belief.evidence for start in (theta, found.best.x) for _, belief in all_sets(task, start))
    assert found.best.evidence >= best - 1e-6
