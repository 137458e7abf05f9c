"""Better sets than ascents find, and draws of the phases, by random walks on graphs of some hundred edges.

Walks that begin with a wide scale and end with a narrow one look for better sets, and for rivals: simulated
annealing. A walk that draws the scale says how probable other answers are.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from angsync.pipeline.robust.marginal.ascent import ascend, with_bonds
from angsync.pipeline.robust.marginal.model import Floats, Mask
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.pipeline.robust.marginal.search import Found, Task
from angsync.pipeline.robust.sampler import Sampler
from angsync.solvers.stopping import Clock

_BEGINNINGS = (0.3, 1.0)  # radians: scales at which annealing begins; it ends at each of those of the ladder
_SWEEPS = 90  # of one annealing walk; with 30 the best sets of rings with chords were missed
_DRAWS = 400  # sweeps of the last walk, each of which ends in a draw
_VISITED = 10  # sets that the last walk came by most often, which are judged as well
_MOST_WORK = 5e9  # multiplications, about two seconds
_BETTER = 1e-6  # nats


def explored(task: Task, found: Found, clock: Clock, rng: np.random.Generator) -> list[Floats]:
    """Add better sets and rivals to those found; then return draws of the phases, from the best set on."""
    ladders = list(itertools.product(_BEGINNINGS, task.rungs))
    idle, work = 0, 0
    while idle < len(ladders) and work < _MOST_WORK and not clock.expired:
        best = found.best
        walk = _walk(task, best, rng)
        for scale in np.geomspace(*ladders[idle], _SWEEPS).tolist():
            walk.sweep(scale)
        work += walk.work
        belief = _added(task, found, walk.state.good, best.x + walk.state.mean)
        if belief is not None:
            found.add(ascend(task.model, belief, task.released, scale=task.scale, clock=clock))
        idle = 0 if found.best.evidence > best.evidence + _BETTER else idle + 1
    best, draws, visited = found.best, list[Floats](), Counter[bytes]()
    walk = _walk(task, best, rng)
    while len(draws) < _DRAWS and work + walk.work < 2 * _MOST_WORK:
        if clock.expired:
            return []
        walk.sweep()
        draws.append(best.x + walk.phases())
        visited[np.array(walk.state.good, dtype=bool).tobytes()] += 1
    for good, _ in visited.most_common(_VISITED):
        _added(task, found, np.frombuffer(good, dtype=bool), best.x)
    return draws


def _walk(task: Task, best: Belief, rng: np.random.Generator) -> Sampler:
    model = task.model
    edges = model.measured
    assert model.kinds is not None
    scales = (model.least_scale, model.largest_scale)
    return Sampler(
        edges, np.exp(1j * best.x), best.believed, model.kinds, rng,
        scale=best.scale, scales=scales, is_known=task.scale is not None,
    )  # fmt: skip


def _added(task: Task, found: Found, good: Mask, x: Floats) -> Belief | None:
    """Add the set, with the edges that hold together what would fall apart without them; None if it is known."""
    held = with_bonds(task.model, np.array(good, dtype=bool), x)
    if any(np.array_equal(held, some.believed) for some in found.beliefs):
        return None
    return found.add(judged(task.model, held, x, task.scale))
