r"""Robust losses, by the weights that they give to edges.

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
``adaptive``          Barron, CVPR 2019                        :math:`(1 + u^2/c^2)^{-e}`
====================  =======================================  ==============================

The last three give up an edge that is far off (they *redescend*); the first two only limit its pull. ``adaptive``
starts as Geman-McClure (e = 2) and ends with that or Cauchy's loss (e = 1), whichever suits the noise (:mod:`.tuning`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

LossName = Literal["adaptive", "geman_mcclure", "truncated", "huber", "l1"]


@dataclass(frozen=True)
class Loss:
    """A loss by name, with its width in units of the noise scale of good edges."""

    name: LossName
    width: float
    """c over sigma."""
    efficiency: float
    r"""Variance of least squares over that of this loss where all edges are good and normal:
    :math:`(E u\psi)^2 / E\psi^2` with :math:`\psi = u w(u)`."""
    redescending: bool
    tunable: bool
    """Whether psi is smooth enough to choose the width by the data, see
    :func:`angsync.pipeline.robust.tuning.tuned`."""
    exponent: float = 2.0
    """e, for the losses that have one."""

    @property
    def _smooth(self) -> bool:
        return self.name in ("adaptive", "geman_mcclure")

    def weights(self, sizes: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        """Weights in [0, 1] of residuals of these sizes, for a loss of width c."""
        ratio = sizes / max(c, 1e-300)
        if self._smooth:
            return (1 + ratio**2) ** -self.exponent
        if self.name == "truncated":
            return (ratio <= 1).astype(float)
        return 1 / np.maximum(1.0, ratio)

    def slopes(self, sizes: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        r"""Derivative of :math:`\psi(u) = u\, w(u)`."""
        ratio = sizes / max(c, 1e-300)
        if self._smooth:
            return (1 + (1 - 2 * self.exponent) * ratio**2) / (1 + ratio**2) ** (self.exponent + 1)
        return (ratio <= 1).astype(float)

    def cost(self, sizes: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        """The loss of each residual over c^2: what the weights descend."""
        ratio = sizes / max(c, 1e-300)
        if self._smooth:
            if self.exponent == 1:
                return np.log1p(ratio**2)
            return (1 - (1 + ratio**2) ** (1 - self.exponent)) / (self.exponent - 1)
        if self.name == "truncated":
            return np.minimum(1.0, ratio**2)
        return np.where(ratio <= 1, ratio**2, 2 * ratio - 1)


# Widths: Huber's and the truncated one for an efficiency of 95 %; Geman-McClure's a little lower, because that is where
# searches start and the gain against outliers is worth the loss; l1 a tenth of sigma, where it is an absolute value.
LOSSES: dict[str, Loss] = {
    "adaptive": Loss("adaptive", 3.0, 0.9083, redescending=True, tunable=True),
    "l1": Loss("l1", 0.1, 0.6701, redescending=False, tunable=False),
    "huber": Loss("huber", 1.345, 0.95, redescending=False, tunable=True),
    "geman_mcclure": Loss("geman_mcclure", 3.0, 0.9083, redescending=True, tunable=True),
    "truncated": Loss("truncated", 2.8, 0.9506, redescending=True, tunable=False),
}
