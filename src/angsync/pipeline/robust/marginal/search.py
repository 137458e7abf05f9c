"""The best belief found: candidates from a ladder of scales, pursuit and given states, each taken uphill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import least_doubtful_forest
from angsync.pipeline.robust.marginal.ascent import ascend
from angsync.pipeline.robust.marginal.ladder import graduated, settled
from angsync.pipeline.robust.marginal.model import Mask, Places
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.solvers.stopping import Clock

_CLIMBING = 2  # candidates of the ladder that are taken uphill
_PURSUIT_CYCLES = 200  # up to so many cycles pursuit is worth its time whatever the ladder says


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked: edges, what is known about them, and how to search."""

    model: Rotations
    held: Mask
    """The backbone: believed during the search. It holds all pieces together."""
    trusted: Mask
    """Edges that are believed to the end; a part of ``held``."""
    scale: float | None
    """The whitened scale, where it is given."""
    rungs: Sequence[float]
    """Scales of the ladder."""
    groups: Places
    """Groups of edges outside the backbone (:mod:`.groups`)."""
    released: Places
    """Groups for the last ascent, in which nothing but the trusted edges is held."""
    starts: list[NDArray] = field(default_factory=list)
    """Further states to begin from, without a backbone."""


@dataclass(eq=False)
class Found:
    """Every belief that was taken uphill, the best first; kept up to date for an interruption."""

    beliefs: list[Belief] = field(default_factory=list)

    def add(self, belief: Belief) -> Belief:
        self.beliefs.append(belief)
        self.beliefs.sort(key=lambda some: -some.evidence)
        return belief

    @property
    def best(self) -> Belief:
        return self.beliefs[0]


def search(task: Task, clock: Clock, found: Found | None = None) -> Found:
    """All candidates, uphill. ``found`` is filled as the search goes on."""
    found = Found() if found is None else found
    model, scale = task.model, task.scale
    x0 = model.along(_forest(model, task.held))
    backbone = found.add(judged(model, task.held, x0, scale))
    rough: list[Belief] = []
    for rung in task.rungs:
        if clock.expired:
            return found
        x = graduated(model, backbone.x, task.held, rung, clock)
        rough.append(settled(model, x, task.held, rung, scale, clock))
    rough = distinct(rough)
    for belief in rough:
        found.add(belief)
    climbed = [found.add(ascend(model, b, task.groups, scale=scale, clock=clock)) for b in rough[:_CLIMBING]]
    agreed = len(distinct(climbed)) < 2
    if climbed and (found.best.cycles < _PURSUIT_CYCLES or not agreed):
        for s in sorted({max(task.rungs), climbed[0].scale}):
            pursued = ascend(model, backbone, task.groups, scale=scale, clock=clock, search_scale=s)
            found.add(ascend(model, pursued, task.groups, scale=scale, clock=clock))
    if not task.trusted[task.held].all():
        for belief in distinct(found.beliefs)[:_CLIMBING]:
            found.add(ascend(model, belief, task.released, scale=scale, clock=clock))
        nothing = task.trusted
        for x in task.starts:
            if clock.expired:
                break
            for rung in task.rungs:
                belief = settled(model, x, nothing, rung, scale, clock)
                rough.append(belief)
            best = max(rough[-len(task.rungs) :], key=lambda b: b.evidence)
            found.add(ascend(model, best, task.released, scale=scale, clock=clock))
    return found


def distinct(beliefs: Sequence[Belief]) -> list[Belief]:
    """The beliefs with different sets, the best first."""
    seen: set[bytes] = set()
    kept = []
    for belief in sorted(beliefs, key=lambda some: -some.evidence):
        key = np.packbits(belief.believed).tobytes()
        if key not in seen:
            seen.add(key)
            kept.append(belief)
    return kept


def _forest(model: Rotations, held: Mask) -> Mask:
    """A spanning forest of the edges held, the most certain first."""
    places = np.flatnonzero(held)
    forest = np.zeros(model.edges, dtype=bool)
    none = np.zeros(places.size, dtype=bool)
    forest[places] = least_doubtful_forest(model.nodes, model.i[places], model.j[places], none, -model.peak[places])
    return forest
