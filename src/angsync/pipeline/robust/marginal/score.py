r"""The evidence of a set of believed edges.

Let the edges of S be normal around the nodes with whitened deviation s, all others uniform, and the nodes uniform too.
Integrated over the nodes (Laplace's method, exact where residuals are linear), and over the density of all edges
uniform, with :math:`\mu = |S| - n + 1` independent cycles and :math:`\chi^2 = \sum_S |r_k|^2` at the best nodes,

.. math:: E(S, s) = \sum_{S} \mathrm{peak}_k - D \mu \log s - \frac{\chi^2}{2 s^2} - \frac12 \log\det H_S
          + \mathrm{level}.

A spanning tree has E = 0, and an edge that alone holds a piece adds nothing. To this the logarithm of the prior is
added, in which the share of wrong edges is unknown (:meth:`.rotations.Rotations.log_prior`). Where s is not given it is
integrated out under the density 1/s between the least and the largest scale,
:math:`\int s^{-D\mu - 1} e^{-\chi^2 / 2 s^2} ds = \tfrac12 \Gamma(D\mu/2) (\chi^2/2)^{-D\mu/2}`, so that a set with few
cycles has to pay for a scale that was chosen to fit it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.marginal.model import Mask
from angsync.pipeline.robust.marginal.rotations import RotationFactor, Rotations


@dataclass(frozen=True, eq=False)
class Belief:
    """A set of believed edges, which holds all pieces together, with its best states and its evidence."""

    believed: Mask
    x: NDArray
    scale: float
    """s, the root of chi^2 / (D mu) unless given."""
    evidence: float
    cycles: int
    """mu."""
    factor: RotationFactor


def judged(model: Rotations, believed: Mask, x: NDArray, scale: float | None = None) -> Belief:
    """The set with the states next to x and its evidence; ``scale`` given or None."""
    weights = believed.astype(np.float64)
    x = model.solve(weights, x)
    factor = model.factor(weights, x)
    cycles = int(believed.sum()) - (model.nodes - model.pieces)
    square = float(np.sum(model.residuals(x)[believed] ** 2))
    s = _scale(model, square, cycles) if scale is None else max(scale, model.least_scale)
    return Belief(believed, x, s, evidence_of(model, believed, factor.log_det, square, scale), cycles, factor)


def evidence_of(model: Rotations, believed: Mask, log_det: float, square: float, scale: float | None) -> float:
    """E of a set with this log det H and sum of squared residuals; ``scale`` given or None."""
    cycles = int(believed.sum()) - (model.nodes - model.pieces)
    tree = float(model.peak[believed].sum()) - 0.5 * log_det + model.level + model.log_prior(believed)
    if cycles == 0:
        return tree
    if scale is None:
        return tree + _integrated(model, square, cycles)
    s = max(scale, model.least_scale)
    return tree - cycles * math.log(s) - square / (2 * s**2)


def _scale(model: Rotations, square: float, cycles: int) -> float:
    if cycles == 0:
        return model.largest_scale
    found = math.sqrt(square / (cycles))
    return min(max(found, model.least_scale), model.largest_scale)


def _integrated(model: Rotations, square: float, cycles: int) -> float:
    """Log of the integral over s, of a density that is 1/s between the two scales and 0 elsewhere."""
    half = cycles / 2
    floored = max(square, 2 * half * model.least_scale**2)
    width = math.log(model.largest_scale / model.least_scale)
    return math.lgamma(half) - half * math.log(floored / 2) - math.log(2 * width)
