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
from angsync.pipeline.robust.reweighting import Fit
from angsync.problem.pieces import piece_count

_WIDTHS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0)  # in units of the noise scale
_LEAST_SLOPE = 0.05  # mean slope below which V is an estimate of nothing


def tuned(edges: Edges, fit: Fit) -> Loss:
    """The loss with the width (and the shape, where it is free) of the smallest variance.

    It stays as it is where good edges are exact but for rounding or psi has jumps.
    """
    if not fit.loss.tunable or edges.are_rounded(fit.noise.scale):
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
    sizes = edges.standardized(fit.z)
    c = loss.width * fit.noise.scale
    slope = float(np.mean(loss.slopes(sizes, c)))
    if slope < _LEAST_SLOPE * fit.noise.share:
        return math.inf
    square = float(np.sum((sizes * loss.weights(sizes, c)) ** 2)) / max(1, edges.freedom)
    return square / slope**2


def loss_efficiency(edges: Edges, fit: Fit) -> float:
    r"""What the variance of the phases is that of least squares on the trusted edges alone divided by; at most 1.

    Over the trusted edges, m of them and d phases, with the correction for few edges of Huber (*Annals of
    Statistics* 1, 1973, section 5),

    .. math:: V = K^2 \frac{\sum \psi^2 / (m - d)}{\overline{\psi'}^2}, \qquad
       K = 1 + \frac dm \frac{\mathrm{var}\, \psi'}{\overline{\psi'}^2} .

    The width was chosen for a small V and the scale by all edges, so V may fall below sigma^2 by chance: no loss does
    better than least squares without its outliers, and none is said to.
    """
    if not fit.loss.tunable or edges.are_rounded(fit.noise.scale):
        return fit.loss.efficiency
    trusted = fit.noise.corruption <= 0.5
    sizes = edges.standardized(fit.z)[trusted]
    phases = edges.n - piece_count(edges.n, edges.i[trusted], edges.j[trusted])
    freedom = sizes.size - phases
    if freedom <= 0:
        return fit.loss.efficiency
    c = fit.loss.width * fit.noise.scale
    slopes = fit.loss.slopes(sizes, c)
    slope = float(np.mean(slopes))
    if slope < _LEAST_SLOPE:
        return fit.loss.efficiency
    correction = 1 + phases / sizes.size * float(np.var(slopes)) / slope**2
    found = correction**2 * float(np.sum((sizes * fit.loss.weights(sizes, c)) ** 2)) / freedom / slope**2
    return min(1.0, fit.noise.scale**2 / found) if found > 0 else fit.loss.efficiency
