r"""Robust losses, by the weights that they give to edges, and iteratively reweighted least squares with them.

Minimizing :math:`\sum \rho(u_k)` over standardized residuals u is the same, at a fixed point, as the weighted least
squares with :math:`w_k = \rho'(u_k) / u_k` (iteratively reweighted least squares; Holland and Welsch,
*Communications in Statistics* A6, 1977). With c the width of the loss:

====================  =======================================  ==============================
loss                  :math:`\rho(u)`                          weight, scaled to 1 at u = 0
====================  =======================================  ==============================
``l1``                :math:`|u|` (smooth within c)            :math:`\min(1, c / |u|)`
``huber``             Huber, *Annals of Math. Stat.* 35, 1964  :math:`\min(1, c / |u|)`
``geman_mcclure``     :math:`u^2 / (1 + u^2/c^2)`              :math:`(1 + u^2/c^2)^{-2}`
``truncated``         :math:`\min(u^2, c^2)`                   1 for :math:`|u| \le c`, else 0
====================  =======================================  ==============================

The last two give up an edge that is far off (they *redescend*); the first two only limit its pull.

Each round estimates the noise of good edges, weights the edges by the loss and solves the weighted least-squares
problem from the last phases. *Graduated non-convexity*: the width of the loss starts wide, where the problem is almost
that of least squares, and shrinks by a constant factor to its final value, so that a good optimum is followed instead
of the nearest (Blake and Zisserman, *Visual Reconstruction*, 1987; Yang, Antonante, Tzoumas and Carlone, *Graduated
non-convexity for robust spatial perception*, IEEE RA-L 5, 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.noise import Noise, estimate_noise
from angsync.problem.pieces import piece_count
from angsync.solvers.stopping import Clock

Solve = Callable[[NDArray[np.float64], NDArray | None], NDArray]
"""``solve(weights, start)``: phases of the least-squares problem with these weights, from a start or from none."""

_SHRINK_FACTOR = 0.6  # width of one round over that of the round before
_SETTLED_WIDTHS = 1e-2  # largest move of a phase, in units of the width of the loss
_LEAST_SLOPE = 0.05  # mean slope of psi below which the efficiency is an estimate of nothing


@dataclass(frozen=True)
class Loss:
    """A loss by name, with its width in units of the noise scale of good edges."""

    name: Literal["geman_mcclure", "truncated", "huber", "l1"]
    width: float
    """c over sigma."""
    efficiency: float
    r"""Variance of least squares over that of this loss if all edges are good and normal:
    :math:`(E u\psi)^2 / E\psi^2` with :math:`\psi = u w(u)`."""
    redescending: bool
    has_slopes: bool
    """Whether psi has no jumps and is not nearly a sign, so that the residuals show the efficiency."""

    def weights(self, sizes: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        """Weights in [0, 1] of residuals of these sizes, for a loss of width c."""
        ratio = sizes / max(c, 1e-300)
        if self.name == "geman_mcclure":
            return (1 + ratio**2) ** -2.0
        if self.name == "truncated":
            return (ratio <= 1).astype(float)
        return 1 / np.maximum(1.0, ratio)

    def slopes(self, sizes: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        r"""Derivative of :math:`\psi(u) = u\, w(u)`."""
        ratio = sizes / max(c, 1e-300)
        if self.name == "geman_mcclure":
            return (1 - 3 * ratio**2) / (1 + ratio**2) ** 3
        return (ratio <= 1).astype(float)

    def cost(self, sizes: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        """The loss of each residual over c^2: what the weights descend."""
        ratio = sizes / max(c, 1e-300)
        if self.name == "geman_mcclure":
            return 1 - 1 / (1 + ratio**2)
        if self.name == "truncated":
            return np.minimum(1.0, ratio**2)
        return np.where(ratio <= 1, ratio**2, 2 * ratio - 1)


# Widths: Huber's and the truncated one for an efficiency of 95 %; Geman-McClure's a little lower, because that is where
# searches start and the gain against outliers is worth the loss; l1 a tenth of sigma, where it is an absolute value.
LOSSES: dict[str, Loss] = {
    "l1": Loss("l1", 0.1, 0.6701, redescending=False, has_slopes=False),
    "huber": Loss("huber", 1.345, 0.95, redescending=False, has_slopes=True),
    "geman_mcclure": Loss("geman_mcclure", 3.0, 0.9083, redescending=True, has_slopes=True),
    "truncated": Loss("truncated", 2.8, 0.9506, redescending=True, has_slopes=False),
}


@dataclass(frozen=True, eq=False)
class Fit:
    """Phases, the weights that they were solved with, and the noise seen at them."""

    z: NDArray
    weights: NDArray[np.float64]
    noise: Noise
    loss: Loss
    rounds: int
    settled: bool


def reweight(
    edges: Edges,
    solve: Solve,
    z: NDArray,
    loss: Loss,
    *,
    first_width: float | None,
    scale: float | None,
    max_rounds: int,
    clock: Clock,
) -> Fit:
    """From the phases z down to the width that the noise asks for; ``first_width=None`` starts there at once."""
    noise = estimate_noise(edges, z, 0.3 if first_width is None else first_width / loss.width, fixed=scale)
    final = loss.width * noise.scale
    width = final if first_width is None else max(first_width, final)
    weights = loss.weights(edges.standardized(z), width)
    rounds, settled = 0, False
    while rounds < max_rounds and not clock.expired:
        weights = loss.weights(edges.standardized(z), width)
        last, z = z, solve(weights, z)
        rounds += 1
        noise = estimate_noise(edges, z, width / loss.width, noise.share, fixed=scale)
        final = loss.width * noise.scale
        if width <= final * 1.01:
            settled = float(np.abs(z - last).max(initial=0.0)) <= _SETTLED_WIDTHS * width
            if settled:
                break
        width = max(final, _SHRINK_FACTOR * width)
    return Fit(z, weights, noise, loss, rounds, settled)


def loss_efficiency(edges: Edges, fit: Fit) -> float:
    r"""What the variance of the phases is that of least squares on the trusted edges alone divided by; at most 1.

    Over the trusted edges, m of them and d phases, with the correction for few edges of Huber (*Annals of
    Statistics* 1, 1973, section 5),

    .. math:: V = K^2 \frac{\sum \psi^2 / (m - d)}{\overline{\psi'}^2}, \qquad
       K = 1 + \frac dm \frac{\mathrm{var}\, \psi'}{\overline{\psi'}^2} .

    The scale is that of all edges, so V may fall below sigma^2 by chance. No loss does better than least squares
    without its outliers, so the result is at most 1.
    """
    if not fit.loss.has_slopes or edges.are_rounded(fit.noise.scale):
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
