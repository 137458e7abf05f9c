"""Robust phases of sparse graphs: the believed set of largest evidence (:mod:`angsync.pipeline.robust.marginal`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.time_limit import OutOfTime, until
from angsync.pipeline.robust.edges import Edges, least_doubtful_forest
from angsync.pipeline.robust.marginal.doubt import Doubt, doubts
from angsync.pipeline.robust.marginal.groups import edges_of_nodes, joined, loops_by_place, single_edges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.search import Found, Task, search
from angsync.pipeline.robust.marginal.wander import wander
from angsync.pipeline.robust.narrower import narrow
from angsync.pipeline.robust.report import RobustReport, not_checked
from angsync.pipeline.robust.settings import Robust, trusted_places
from angsync.solvers.stopping import Clock

_EDGES_A_NODE = 4  # fewer than this: triangles and votes are too few for the search that dense graphs have
# The same up to _FEW_EDGES, where random walks doubt the answer as well: six of 70 random geometric graphs, of 4 to 5
# edges a node with 30 to 50 % of wrong ones, were 14 to 36 degrees off and yet better than chance would let them be.
_EDGES_A_NODE_OF_FEW = 6
_LARGEST_EDGES = 30_000  # beyond, columns of the inverse of every edge take minutes
_CHAIN_SHARE = 0.9  # share of the steps k to k + 1 from which the numbering is that of a trajectory
_LONG_CHAIN_SHARE = 0.995  # the same for larger graphs: a grid numbered row by row has all steps but one a row
_RUNGS = (0.3, 0.1, 0.03, 0.01, 0.003)  # radians: half a turn of any edge down to a good star tracker
# Up to so many edges the search of dense graphs gives a start, the edges of a node move together, and a random walk
# over sets looks for doubts.
_FEW_EDGES = 600
_WALKED_EDGES = 10  # up to which the walks make more moves (1,800) than there are sets (1,024)
_MESH_EDGES = 3000  # the first two also up to here, in a mesh: on long loops they take seconds and find nothing
_MESH_CYCLES = 0.5  # a node, from which a graph is a mesh
# The search of larger graphs rests on their backbone. A grid of 45 x 45 at 0.05 rad was right with 10 % wrong ones and
# 18 to 55 degrees off with 20 %: it is believed only where few of the steps (of all, without steps) are wrong, and the
# noise is small.
_FEW_WRONG = 0.1
_LITTLE_NOISE = 0.2  # radians: where a tenth is wrong and believed, the fit is worse
_WIDER = 3.0  # a given scale is tried beside one that is wider by this factor


def takes(edges: Edges, settings: Robust) -> bool:
    """Whether evidence decides: where it was asked for, or the graph is sparse, or edges are trusted."""
    if settings.loss != "auto":
        return settings.loss == "evidence"
    if len(edges) > _LARGEST_EDGES:
        return False
    return settings.trusted is not None or is_sparse(edges)


def is_sparse(edges: Edges) -> bool:
    """Whether a loss of the residuals cannot tell wrong measurements from good ones of large leverage."""
    most = _EDGES_A_NODE_OF_FEW if len(edges) <= _FEW_EDGES else _EDGES_A_NODE
    return len(edges) < most * (len(edges) - edges.freedom + edges.components)


@dataclass(eq=False)
class Weighing:
    """The search as far as it has come, for an interruption."""

    task: Task | None = None
    found: Found = field(default_factory=Found)
    doubt: Doubt | None = None


def weigh(
    edges: Edges,
    settings: Robust,
    trusted: NDArray[np.bool_],
    starts: Callable[[bool], list[NDArray]],
    clock: Clock,
    rng: np.random.Generator,
    weighing: Weighing,
) -> None:
    """Find the believed set and doubt it. ``starts(thoroughly)`` gives phases to begin from, where no edge is known."""
    task = weighing.task = _task(edges, settings, trusted)
    try:
        with until(clock), np.errstate(all="ignore"):  # what is not finite is found by Rotations.solve
            if not trusted[task.held].all():
                thoroughly = _is_searched_thoroughly(edges) and len(edges) > _WALKED_EDGES
                task.starts.extend(np.angle(z) for z in starts(thoroughly))
            search(task, clock, weighing.found)
            few = len(edges) <= _FEW_EDGES and not trusted.all()
            drawn = wander(task, weighing.found, clock, rng) if few else []
            narrow(task, weighing.found, clock)
            doubt = doubts(task, weighing.found, clock, drawn)
            weighing.doubt = doubt if few else _with_weak_backbone(task, weighing.found, doubt)
    except OutOfTime:
        pass


def _with_weak_backbone(task: Task, found: Found, doubt: Doubt) -> Doubt:
    """A larger graph that nothing reliable holds together, where the search may fail: not judged."""
    if not doubt.credible or bool(task.trusted[task.held].all()):
        return doubt
    best = found.best
    assert task.model.kinds is not None
    first = task.model.kinds == 0  # steps of a trajectory, or all that are not trusted
    is_clear = best.scale <= _LITTLE_NOISE and float(np.mean(~best.believed[first])) <= _FEW_WRONG
    if is_clear:
        return doubt
    sentence = (
        f"beyond {_FEW_EDGES} measurements, with more than a tenth of them wrong (of the steps, in a trajectory) or "
        "with large noise, the search for the right set is not reliable; name some that can be trusted."
    )
    return replace(doubt, credible=None, sentences=(sentence,))


def _task(edges: Edges, settings: Robust, trusted: NDArray[np.bool_]) -> Task:
    model = Rotations(edges)
    scale = None if settings.scale is None else settings.scale / math.sqrt(edges.unit)
    rungs = sorted({max(rung, model.least_scale) for rung in _RUNGS}, reverse=True)
    if scale is not None:
        rungs = [_WIDER * max(scale, model.least_scale), max(scale, model.least_scale)]
    chain = steps(edges)
    held = trusted | least_doubtful_forest(
        model.nodes, model.i, model.j, trusted, np.where(chain, 0.0, 1.0) + 1 / (2 + edges.precision)
    )
    model.kinds = np.where(trusted, -1, np.where(chain, 0, 1) if chain.any() else 0)
    free = ~trusted
    released = single_edges(np.flatnonzero(free))
    if _is_searched_thoroughly(edges):
        released = joined(released, edges_of_nodes(model, free))
    groups = loops_by_place(model, np.flatnonzero(~held)) if chain.any() else single_edges(np.flatnonzero(~held))
    return Task(model, held, trusted, scale, rungs, groups, released)


def _is_searched_thoroughly(edges: Edges) -> bool:
    is_mesh = edges.freedom >= _MESH_CYCLES * edges.n
    return len(edges) <= (_MESH_EDGES if is_mesh else _FEW_EDGES)


def steps(edges: Edges) -> NDArray[np.bool_]:
    """The edges from a node k to k + 1, where the numbering is that of a trajectory; otherwise none.

    Of several edges of a step each is one: which of them is odometry must not depend on their order.
    """
    step = np.abs(edges.i - edges.j) == 1
    present = np.unique(np.minimum(edges.i, edges.j)[step]).size
    needed = len(edges) - edges.freedom
    share = _CHAIN_SHARE if len(edges) <= _FEW_EDGES else _LONG_CHAIN_SHARE
    return step if present >= share * needed else np.zeros_like(step)


def trusted_edges(settings: Robust, count: int, edges: Edges) -> NDArray[np.bool_]:
    """The trusted ones among the edges, from places or booleans over all ``count`` measurements."""
    if settings.trusted is None:
        return np.zeros(len(edges), dtype=bool)
    everywhere: NDArray[np.bool_] = trusted_places(settings.trusted, count)
    return everywhere[edges.used]


def evidence_report(everywhere: RobustReport, edges: Edges, weighing: Weighing, not_judged: str) -> RobustReport:
    """What was found, on all measurements; ``everywhere`` distrusts nothing."""
    best, doubt = weighing.found.best, weighing.doubt
    undecided = np.zeros(everywhere.distrusted.size, dtype=bool)
    everywhere.weights[edges.used] = best.believed
    everywhere.distrusted[edges.used] = ~best.believed
    everywhere.corruption[edges.used] = ~best.believed if doubt is None else doubt.corruption
    if doubt is not None:
        undecided[edges.used] = doubt.undecided
    return replace(
        everywhere,
        scale=best.scale * math.sqrt(edges.unit) if best.cycles else math.nan,
        trusted_share=float(best.believed.mean()),
        credible=None if doubt is None else doubt.credible,
        note=not_judged if doubt is None else _in_words(doubt),
        evidence=math.nan if doubt is None else doubt.evidence,
        rivals=() if doubt is None else doubt.rivals,
        undecided=undecided,
    )


def _in_words(doubt: Doubt) -> str:
    if doubt.credible is None:
        return f"Not judged: {' '.join(doubt.sentences)}"
    said = [some[:1].upper() + some[1:] for some in doubt.sentences]
    return " ".join([*said, not_checked(doubt.unchecked)] if doubt.credible else said).strip()
