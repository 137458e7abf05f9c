r"""Candidates by graduated non-convexity on a ladder of scales.

Truncated least squares (Yang, Antonante, Tzoumas and Carlone, *IEEE RA-L* 5, 2020): with the gate :math:`c_k^2` beyond
which an edge is better called wrong, weights follow from the residuals for a parameter mu that grows until they are 0
or 1. What the scale of the noise is nobody knows at the start: every rung of the ladder gives a candidate, and the
evidence chooses.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from angsync.pipeline.robust.marginal.ascent import with_bonds
from angsync.pipeline.robust.marginal.model import Floats, Mask
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.solvers.stopping import Clock

_GROWTH = 2.0  # of mu; 1.4 is usual and takes twice the rounds
_MAX_ROUNDS = 60
_SETTLING_ROUNDS = 5
_NARROWEST_GATE = 0.01  # share of good edges that a gate may shut out
_LOWEST_WEIGHT = 1e-9  # so that every node is held by something


def gates(model: Rotations, scale: float) -> Floats:
    """Squares of the whitened residuals beyond which an edge of this scale counts as wrong."""
    price = 2 * (model.peak - math.log(scale))
    return scale**2 * np.maximum(price, chdtri(1, _NARROWEST_GATE))


def graduated(model: Rotations, x: NDArray, held: Mask, scale: float, clock: Clock) -> NDArray:
    """States of truncated least squares at this scale, from x, with the edges ``held`` at weight 1 throughout."""
    gate = gates(model, scale)
    ratio = np.sum(model.residuals(x) ** 2, axis=1) / gate
    worst = float(ratio[~held].max(initial=0.0))
    if worst <= 0.5:
        return model.solve(np.ones(model.edges), x)
    mu = 1 / (2 * worst - 1)
    for _ in range(_MAX_ROUNDS):
        if clock.expired:
            break
        weights = _weights(ratio, mu)
        weights[held] = 1.0
        x = model.solve(np.maximum(weights, _LOWEST_WEIGHT), x)
        ratio = np.sum(model.residuals(x) ** 2, axis=1) / gate
        if np.all((weights < 1e-6) | (weights > 1 - 1e-6)) and mu > 1:
            break
        mu *= _GROWTH
    return x


def _weights(ratio: Floats, mu: float) -> Floats:
    with np.errstate(divide="ignore"):
        between = np.sqrt(mu * (mu + 1) / np.maximum(ratio, 1e-300)) - mu
    return np.clip(between, 0.0, 1.0)


def settled(model: Rotations, x: NDArray, held: Mask, scale: float, given: float | None, clock: Clock) -> Belief:
    """The belief around these states: inside the gates or held; the scale follows, and the gates follow it."""
    best: Belief | None = None
    for _ in range(_SETTLING_ROUNDS):
        inside = np.sum(model.residuals(x) ** 2, axis=1) <= gates(model, scale)
        here = with_bonds(model, inside | held, x)
        belief = judged(model, here, x, given)
        if best is not None and belief.evidence <= best.evidence + 1e-6:
            break
        best, x, scale = belief, belief.x, belief.scale
        if clock.expired:
            break
    assert best is not None
    return best
