"""The walk over sets visits them as often as their evidence says."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged
from angsync.pipeline.robust.marginal.wander import Walk
from angsync.problem.pieces import piece_count
from angsync.solvers.stopping import Clock


def model_of(seed=0):
    rng = np.random.default_rng(seed)
    i, j = np.array([0, 1, 2, 0, 0, 1]), np.array([1, 2, 3, 3, 2, 3])
    theta = rng.uniform(0, 6, 4)
    angle = theta[i] - theta[j] + rng.normal(0, 0.3, 6)
    model = Rotations(Edges.of(ang.Measurements(i, j, angle, n=4)))
    model.kinds = np.full(6, -1)  # the prior is left out: during a sweep the walk takes the odds as constant
    return model, theta


def test_sets_are_visited_by_their_evidence():
    model, theta = model_of()
    scale = 0.8
    chances = {}
    for some in itertools.product([False, True], repeat=6):
        believed = np.array(some)
        if piece_count(4, model.i[believed], model.j[believed]) == 1:
            chances[some] = np.exp(judged(model, believed, theta, scale).evidence)
    total = sum(chances.values())
    start = judged(model, np.ones(6, dtype=bool), theta, scale)
    walk = Walk(model, start.believed.copy(), start.x, scale, scale, np.arange(6), 1.0, np.random.default_rng(1))
    seen = Counter()
    for _ in range(4000):
        walk.go(2, Clock(None))
        seen[tuple(walk.believed.tolist())] += 1
    assert set(seen) <= set(chances)
    # 4000 correlated looks, about 800 independent ones: a share p is known to sqrt(p / 800) < 0.02
    for some, chance in chances.items():
        assert abs(seen[some] / 4000 - chance / total) < 0.06


def test_the_updated_inverse_and_angles_are_those_of_the_set():
    model, theta = model_of(2)
    start = judged(model, np.ones(6, dtype=bool), theta, 0.3)
    walk = Walk(model, start.believed.copy(), start.x, 0.3, 0.3, np.arange(6), 2.0, np.random.default_rng(3))
    walk.go(200, Clock(None))
    weights = walk.believed.astype(float)
    np.testing.assert_allclose(walk._inverse, model.inverse(weights), atol=1e-9)
    np.testing.assert_allclose(model.residuals(walk.x), model.residuals(model.solve(weights, walk.x)), atol=1e-8)
