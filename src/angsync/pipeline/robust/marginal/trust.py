"""Are the trusted edges right? What the others say where one of them is left out."""

from __future__ import annotations

import numpy as np

from angsync.pipeline.robust.edges import least_doubtful_forest
from angsync.pipeline.robust.marginal.ascent import ascend
from angsync.pipeline.robust.marginal.groups import edges_of_nodes, joined, single_edges
from angsync.pipeline.robust.marginal.model import Places
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.pipeline.robust.marginal.search import Task
from angsync.solvers.stopping import Clock

_DOUBTED = 12  # trusted edges that are left out one by one: those that the others hold least
_STEPS_AWAY = 2  # edges that may change then: at the ends of the trusted one, and of their neighbors
_MOST_EDGES = 60


def gain_without(task: Task, best: Belief, clock: Clock) -> float:
    """What the evidence gains, at most, where one trusted edge is left out and those around it are chosen anew.

    A false edge that is trusted makes good ones be distrusted, and then nothing contradicts it any more.
    """
    model = task.model
    trusted = np.flatnonzero(task.trusted)
    outside = np.bincount(np.concatenate([model.i[~best.believed], model.j[~best.believed]]), minlength=model.nodes)
    # nothing is to be won at nodes without a distrusted edge
    trusted = trusted[outside[model.i[trusted]] + outside[model.j[trusted]] > 0]
    if not trusted.size:
        return 0.0
    blocks = best.factor.blocks(single_edges(trusted))
    leverage = np.einsum("gkk->g", blocks)
    gain = 0.0
    for edge in trusted[np.argsort(-leverage, kind="stable")][:_DOUBTED].tolist():
        if clock.expired:
            break
        without = best.believed.copy()
        without[edge] = False
        around = _around(task, edge)
        size = np.sum(model.residuals(best.x) ** 2, axis=1)
        size[edge] = np.inf
        held = without | least_doubtful_forest(model.nodes, model.i, model.j, without, size)
        if held[edge]:  # no other edge joins the two sides
            continue
        start = judged(model, held, best.x, task.scale)
        free = np.zeros(model.edges, dtype=bool)
        free[around] = True
        groups = joined(single_edges(around), edges_of_nodes(model, free))
        gain = max(gain, ascend(model, start, groups, scale=task.scale, clock=clock).evidence - best.evidence)
    return gain


def _around(task: Task, edge: int) -> Places:
    """Edges near this one that are not trusted."""
    model = task.model
    near = np.zeros(model.nodes, dtype=bool)
    near[[model.i[edge], model.j[edge]]] = True
    for _ in range(_STEPS_AWAY):
        touched = near[model.i] | near[model.j]
        near[model.i[touched]] = near[model.j[touched]] = True
    return np.flatnonzero((near[model.i] & near[model.j]) & ~task.trusted)[:_MOST_EDGES]
