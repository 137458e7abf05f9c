r"""The width of the loss that fits the noise at hand.

The phases of an M-estimator have the covariance :math:`V L_w^+` (:math:`L_w` the weighted Laplacian) with

.. math:: V(c) = \frac{E\, \psi_c(u)^2}{(E\, \psi_c'(u))^2},

(Huber, *Annals of Mathematical Statistics* 35, 1964), which can be estimated from the residuals for every c. Normal
noise asks for a wide loss, noise with a sharp peak and long tails for a narrow one; the c of the smallest V serves both
(Wang, Lin, Zhu and Bai, *Journal of Computational and Graphical Statistics* 16, 2007, for Huber's function).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.losses import Loss
from angsync.pipeline.robust.noise import FLOOR
from angsync.pipeline.robust.reweighting import Fit

_WIDTHS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0)  # in units of the noise scale
_LEAST_SLOPE = 0.05  # mean slope below which V is an estimate of nothing


def tuned(edges: Edges, fit: Fit) -> Loss:
    """The loss with the width (and the shape, where it is free) of the smallest variance.

    It stays as it is where good edges are exact or psi has jumps.
    """
    if not fit.loss.tunable or fit.noise.scale <= FLOOR:
        return fit.loss
    best = fit.loss
    least = variance(edges, fit, best)
    for exponent in (1.0, 2.0) if fit.loss.name == "adaptive" else (fit.loss.exponent,):
        for width in _WIDTHS:
            other = dataclasses.replace(fit.loss, width=width, exponent=exponent)
            found = variance(edges, fit, other)
            if found < least:
                best, least = other, found
    return best


def variance(edges: Edges, fit: Fit, loss: Loss) -> float:
    """V at the phases of the fit, for an edge of precision 1; infinite where it cannot be estimated."""
    sizes = edges.standardised(fit.z)
    c = loss.width * fit.noise.scale
    slope = float(np.mean(loss.slopes(sizes, c)))
    if slope < _LEAST_SLOPE * fit.noise.share:
        return math.inf
    square = float(np.sum((sizes * loss.weights(sizes, c)) ** 2)) / max(1, edges.freedom)
    return square / slope**2


def loss_efficiency(edges: Edges, fit: Fit) -> float:
    """What the variance of the phases is that of least squares on the trusted edges alone divided by."""
    if not fit.loss.tunable or fit.noise.scale <= FLOOR:
        return fit.loss.efficiency
    found = variance(edges, fit, fit.loss)
    trusted = float(np.mean(fit.noise.corruption <= 0.5))
    if not math.isfinite(found) or trusted == 0:
        return fit.loss.efficiency
    return fit.noise.scale**2 / (found * trusted)
