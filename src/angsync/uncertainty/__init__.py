r"""Error bars: Fisher information, Cramer-Rao bound, standard errors of phases, residuals of edges.

**What sigma means here.** An edge of weight w has angle variance :math:`\sigma^2 / w` (radians squared). In
the Gaussian model of the paper, :math:`C = z z^H + \sigma_p W` with :math:`E|W_{jl}|^2 = 1`, only the part of
the noise across the phase matters, so :math:`\sigma^2 = \sigma_p^2 / 2` and every weight is 1.

For small noise the log-likelihood is quadratic in the phases and the Fisher information is the weighted graph
Laplacian, :math:`F = L_w / \sigma^2` (Boumal, Singer, Absil and Blondel, *Cramer-Rao bounds for
synchronization of rotations*, 2014). L has the global phase of each component as its null space, so an error
bar needs a gauge: against a reference node (the inverse of L without that node) or against the mean phase
(the pseudo-inverse).

**Weights of complex measurements.** When complex values (a matrix C) are given, their modulus is partly noise,
so it is not a statement of precision. The information of a pair is then taken as
:math:`|C_{jl}|\,\bar a` with :math:`\bar a = \sum |C_{jl}| \cos r_{jl} / \sum |C_{jl}|` (r the residual),
which is :math:`1` on average in the Gaussian model and :math:`w` when weights were built into C. The two models are
classes of :mod:`angsync.uncertainty.noise_models`.

**How it is computed.** The diagonal of the inverse and its entries on the edges come from a *selected inverse*: a
sparse elimination without subtraction and the recursion of Takahashi back through it
(:mod:`angsync.uncertainty.resistance.elimination`). They are exact up to rounding, whatever the range of the weights,
and nothing larger than the factor is formed. Where the factor would be too full (graphs without small separators, more
than about 6000 nodes) they are estimated by *probing*, with random potentials, to about 5 % of a standard error
(:mod:`angsync.uncertainty.resistance.sampling` derives it). :func:`method_for` says which.
"""

from angsync.uncertainty.fisher import (
    check_level,
    confidence_factor,
    degrees_of_freedom,
    estimate_sigma,
    information_weights,
    laplacian,
    leverages,
    method_for,
    standard_errors,
    variances,
)
from angsync.uncertainty.noise_models import wrapped_residuals
from angsync.uncertainty.prediction import cramer_rao_bound, cramer_rao_variances, predicted_errors
from angsync.uncertainty.residuals import EdgeResiduals, edge_residuals
from angsync.uncertainty.resistance import Method

__all__ = [
    "EdgeResiduals",
    "Method",
    "check_level",
    "confidence_factor",
    "cramer_rao_bound",
    "cramer_rao_variances",
    "degrees_of_freedom",
    "edge_residuals",
    "estimate_sigma",
    "information_weights",
    "laplacian",
    "leverages",
    "method_for",
    "predicted_errors",
    "standard_errors",
    "variances",
    "wrapped_residuals",
]
