r"""A narrower noise than the one that evidence found, where wrong edges are off by a few deviations.

The evidence takes wrong edges for uniform on the circle. To give one up then costs the logarithm of
:math:`\sqrt{2\pi}/\sigma` and of the prior odds, 12 nats at 4e-4 rad, and edges off by 8 deviations are cheaper
to believe with a scale that is twice too wide. But errors may be of any size: of two beliefs with different scales the
one is taken that is more probable where a share q of the wrong edges has errors of log-uniform size, from some
deviations to half a turn, and the others are uniform,

.. math:: p(r) = \frac{1 - q}{2\pi} + \frac{q}{2 (1 + \log(\pi / c))\, \max(|r|, c)}, \qquad c = 3 \sigma / \sqrt{w},

or errors of *one* unknown size, uniform up to t,

.. math:: p(r) = \frac{1 - q}{2\pi} + \frac{q}{2 t}\, [|r| \le t],

which is what slips of a counter or a biased sensor look like, and costs each wrong edge less. q and t are unknown (some
values of them, equally likely). Where errors are uniform next to nothing is lost by that.
"""

from __future__ import annotations

import math

import numpy as np

from angsync.pipeline.robust.marginal.ascent import ascend, with_bonds
from angsync.pipeline.robust.marginal.doubt import margins
from angsync.pipeline.robust.marginal.ladder import settled
from angsync.pipeline.robust.marginal.model import Floats
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.pipeline.robust.marginal.search import Found, Task
from angsync.pipeline.robust.noise import small_errors
from angsync.solvers.stopping import Clock

_FACTORS = (0.5, 0.25, 0.1)  # of the scale of the best belief, from which gates are set anew
_ROUNDS = 4
_CLEANINGS = 8  # rounds in which single edges are given up
_FEW_EDGES = 1000  # up to which single edges are given up before a belief is compared; a tenth of a second each
_LEAST_REDUNDANCY = 1e-3  # edges below it are bridges, which nothing checks
_NARROWER = 0.9  # a scale that is smaller by less is the same one
_MORE_LIKELY = 3.0  # nats by which the narrower belief has to win, as in noise.py
_LEAST_DEVIATIONS = 3.0  # of a wrong edge
_SHARES = (0.05, 0.5, 0.95)  # q
# t in deviations: from 6, below which tails of the good ones would count as wrong, to half a turn at the least scale
_REACHES = tuple(6.0 * 2.0**k for k in range(20))
_ANY_SIZE = (0.5, None)
_LAWS = tuple((share, reach) for reach in (None, *_REACHES) for share in _SHARES)


def narrow(task: Task, found: Found, clock: Clock) -> None:
    """Put a belief of a narrower scale in the place of the best, with all that are wider, where it explains more."""
    model = task.model
    if task.scale is not None:
        return
    for _ in range(_ROUNDS):
        best = found.best
        worth = with_small_errors(model, best)
        won = best
        for factor in _FACTORS:
            rung = factor * best.scale
            if clock.expired or rung < model.least_scale or not best.cycles:
                break
            belief = settled(model, best.x, task.trusted, rung, None, clock)
            if model.edges <= _FEW_EDGES:
                belief = _without_small_errors(task, belief, clock)
            if with_small_errors(model, belief) < worth:
                continue
            belief = ascend(model, belief, task.released, scale=None, clock=clock, search_scale=belief.scale)
            other = with_small_errors(model, belief)
            if belief.scale < _NARROWER * best.scale and other > worth + (_MORE_LIKELY if won is best else 0.0):
                won, worth = belief, other
        if won is best:
            return
        won = _without_small_errors(task, won, clock)
        found.beliefs[:] = [won, *(b for b in found.beliefs if b.scale <= won.scale / _NARROWER)]
        found.beliefs.sort(key=lambda some: -some.evidence)


def with_small_errors(model: Rotations, belief: Belief) -> float:
    """The evidence where wrong edges may be off by little, from the residuals of those that are not believed."""
    gains = _gains(model, belief)
    return belief.evidence + float(np.logaddexp.reduce(gains)) - math.log(len(gains))


def _gains(model: Rotations, belief: Belief) -> list[float]:
    """Log of the probability of the residuals of wrong edges under every law, over the uniform one."""
    residual, outside = model.residuals(belief.x)[:, 0], ~belief.believed
    return [float(np.sum(_log_ratio(model, belief, residual, law)[outside])) for law in _LAWS]


def _log_ratio(model: Rotations, belief: Belief, whitened: Floats, law: tuple[float, float | None]) -> Floats:
    """Log of the density of a wrong edge with this residual over the uniform one."""
    share, reach = law
    size, deviation = np.abs(whitened) / model.root, belief.scale / model.root
    if reach is None:
        return np.log(small_errors(size, np.minimum(_LEAST_DEVIATIONS * deviation, math.pi), share))
    most = np.minimum(reach * deviation, math.pi)
    return np.log(1 - share + np.where(size <= most, share * math.pi / most, 0.0))


def _without_small_errors(task: Task, belief: Belief, clock: Clock) -> Belief:
    """The belief without edges that are more likely off by little than good, given all others."""
    model = task.model
    for _ in range(_CLEANINGS):
        law = _LAWS[int(np.argmax(_gains(model, belief)))] if not belief.believed.all() else _ANY_SIZE
        margin = margins(task, belief, clock)
        h = belief.factor.blocks(np.arange(model.edges)[:, None])[:, 0, 0]
        left = np.maximum(1 - h, _LEAST_REDUNDANCY)
        margin -= _log_ratio(model, belief, model.residuals(belief.x)[:, 0] / left, law)
        doubtful = np.flatnonzero(belief.believed & ~task.trusted & (1 - h > _LEAST_REDUNDANCY) & (margin < 0))
        believed, touched = belief.believed.copy(), set[int]()
        for k in doubtful[np.argsort(margin[doubtful])].tolist():  # one a node: the others may be right without it
            ends = {int(model.i[k]), int(model.j[k])}
            if not ends & touched:
                believed[k] = False
                touched |= ends
        if clock.expired or not touched:
            break
        other = judged(model, with_bonds(model, believed, belief.x, belief.believed), belief.x, None)
        if with_small_errors(model, other) <= with_small_errors(model, belief):
            break
        belief = other
    return belief
