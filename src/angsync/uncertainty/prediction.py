"""Error bars before anything is solved: the Cramer-Rao bound, for all phases together and for each phase."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, names_keywords
from angsync.problem.measurements import Measurements
from angsync.problem.nodes import first_nodes, gauge_node
from angsync.uncertainty.fisher import check_sigma, pieces, variances


def cramer_rao_bound(measurements: Measurements, sigma: float, reference: int | None = None) -> float:
    r"""Lower bound on the summed squared error of an unbiased estimator for small noise.

    Without ``reference`` it is about :math:`E\, d_2^2`, the error after the best global phase:
    :math:`\sigma^2 \mathrm{tr}(L_w^+)`. With a reference node, against which the phases are given, it is
    :math:`\sigma^2 \mathrm{tr}` of the inverse of :math:`L_w` without that node (the first node of every other
    component is its reference). See :func:`cramer_rao_variances` for single nodes.

    ``sigma`` as in :mod:`angsync.uncertainty`: for the complete graph in the Gaussian model of the paper the first form
    is :math:`\tfrac{\sigma_p^2}{2} \tfrac{n-1}{n}`. Weights are those given; a modulus of complex values is not a
    weight.
    """
    return float(np.sum(cramer_rao_variances(measurements, sigma, reference)))


def cramer_rao_variances(measurements: Measurements, sigma: float, reference: int | None = None) -> NDArray[np.float64]:
    """Smallest variance of each phase (radians squared, unbiased, small noise): known before anything is solved.

    ``reference``: a node against which phases are given; None is the mean of each component.
    """
    check_sigma(sigma)
    components = pieces(measurements, measurements.weight)
    references = None
    if reference is not None:
        if not 0 <= reference < measurements.n:
            raise InputError(f"reference must be a node, 0 to {measurements.n - 1}, but it is {reference}.")
        references = first_nodes(components)
        references[components[reference]] = reference
    return sigma**2 * variances(measurements, measurements.weight, components, references)


@names_keywords
def predicted_errors(
    measurements: Measurements, sigma: float, gauge: str | int | Hashable = "mean"
) -> NDArray[np.float64]:
    """Standard error of each phase in radians that these measurements can give, known before they are solved.

    Only the graph and its weights are used, so a measuring campaign can be planned with it: the angles may be zeros.
    It is the square root of the Cramer-Rao bound, which the least-squares answer attains for small noise.

    Parameters
    ----------
    measurements
        Pairs and weights.
    sigma
        An edge of weight w has angle variance ``sigma**2 / w``.
    gauge
        ``"mean"``: against the mean phase of each component. ``"first"``: against the first node of each component.
        Otherwise a node (a label, where nodes have labels) for its own component. The two words are words, also where
        a node has such a name.

    Examples
    --------
    >>> ring = ang.Measurements([0, 1, 2, 3], [1, 2, 3, 0], angle=[0, 0, 0, 0])
    >>> ang.predicted_errors(ring, sigma=0.1, gauge=0).round(4)
    array([0.    , 0.0866, 0.1   , 0.0866])
    """
    if gauge == "mean":
        return np.sqrt(cramer_rao_variances(measurements, sigma))
    n, labels = measurements.n, measurements.labels
    reference = 0 if gauge == "first" else gauge_node(gauge, n, labels, "'mean', 'first'")
    return np.sqrt(cramer_rao_variances(measurements, sigma, reference))
