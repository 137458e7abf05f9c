"""Information of the edges, sigma from residuals, standard errors; the formulas are in :mod:`angsync.uncertainty`."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from angsync.errors import ErrorBarWarning, InputError, warn_user
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_labels
from angsync.uncertainty.cycle_labels import bridges_of
from angsync.uncertainty.doubts import doubts
from angsync.uncertainty.noise_models import AngleNoise, large_noise_factor, model_of, wrapped_residuals
from angsync.uncertainty.resistance import Method, collect_pairs, node_variances, pair_resistances, plan


def information_weights(measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
    """Information of each edge about its angle, in units of 1 / sigma^2 (see :mod:`angsync.uncertainty`)."""
    return model_of(measurements).information(measurements, z)


def laplacian(measurements: Measurements, information: NDArray[np.float64]) -> scipy.sparse.csr_array:
    """The weighted graph Laplacian; ``laplacian / sigma**2`` is the Fisher information."""
    i, j = measurements.i, measurements.j
    rows = np.concatenate([i, j, i, j])
    columns = np.concatenate([j, i, i, j])
    data = np.concatenate([-information, -information, information, information])
    return scipy.sparse.csr_array((data, (rows, columns)), shape=(measurements.n, measurements.n))


def estimate_sigma(measurements: Measurements, z: NDArray, components: NDArray[np.int64]) -> float:
    """Sigma from the residuals, with the degrees of freedom that the fit used up taken off."""
    return _sigma_and_freedom(measurements, z, components)[0]


def degrees_of_freedom(measurements: Measurements, z: NDArray, components: NDArray[np.int64]) -> float:
    """Degrees of freedom of the estimated sigma^2: measurements minus fitted phases.

    For complex values the effective number, which is smaller
    (:meth:`angsync.uncertainty.noise_models.ComplexNoise.sigma_and_freedom`).
    """
    return _sigma_and_freedom(measurements, z, components)[1]


def _sigma_and_freedom(measurements: Measurements, z: NDArray, components: NDArray[np.int64]) -> tuple[float, float]:
    information = information_weights(measurements, z)
    freedom = _freedom(measurements, information)
    if not np.any(information > 0):
        raise InputError("There are no error bars: no measurement has a positive weight, so nothing is known.")
    if freedom <= 0:
        raise InputError(
            "sigma cannot be estimated: there are no more measurements than phases, so the residuals are zero.",
            python="Pass sigma (an edge of weight w has angle variance sigma**2 / w).",
            command="Add --sigma NUMBER (an edge of weight w has angle variance NUMBER^2 / w).",
        )
    return model_of(measurements).sigma_and_freedom(
        measurements,
        wrapped_residuals(measurements, z),
        information,
        freedom,
        lambda: leverages(measurements, information, components),
    )


def _freedom(measurements: Measurements, information: NDArray[np.float64]) -> int:
    """Measurements minus fitted phases; a component may have fallen apart when weights were set to 0."""
    count = int(pieces(measurements, information).max()) + 1
    return int((information > 0).sum()) - (measurements.n - count)


def leverages(
    measurements: Measurements, information: NDArray[np.float64], components: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Share of each edge in its own fit: its information times the effective resistance between its ends."""
    return leverages_and_method(measurements, information, components)[0]


def leverages_and_method(
    measurements: Measurements, information: NDArray[np.float64], components: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Method]:
    """Leverages, and how they were computed. A bridge has exactly 1, an edge without information 0."""
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, information)
    resistance, method = pair_resistances(pairs, piece_labels(pairs.n, pairs.low, pairs.high))
    leverage = np.zeros(len(measurements))
    used = pairs.pair_of >= 0
    leverage[used] = np.clip(information[used] * resistance[pairs.pair_of[used]], 0.0, 1.0)
    leverage[bridges_of(measurements, information)] = 1.0
    return leverage, method


def standard_errors(
    measurements: Measurements,
    z: NDArray,
    components: NDArray[np.int64],
    *,
    sigma: float | None,
    references: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Standard error of each phase in radians.

    ``references`` holds one reference node a component (its own error is 0); None is the mean gauge. Where edges of
    weight 0 leave a component in pieces, nodes in another piece than the reference (the mean: than the largest piece)
    have an infinite error.

    Warns where the residuals say that the error bars cannot be right (:mod:`angsync.uncertainty.doubts`).
    """
    estimated, information = sigma is None, information_weights(measurements, z)
    freedom = _freedom(measurements, information)
    if sigma is None:
        sigma = estimate_sigma(measurements, z, components)
        if isinstance(model_of(measurements), AngleNoise):
            sigma *= large_noise_factor(wrapped_residuals(measurements, z), information, freedom)
    check_sigma(sigma)
    errors = sigma * np.sqrt(variances(measurements, information, components, references))
    for doubt in doubts(measurements, z, information, freedom, sigma=sigma, estimated=estimated):
        warn_user(f"Standard errors: {doubt}", ErrorBarWarning)
    return errors


def variances(
    measurements: Measurements,
    information: NDArray[np.float64],
    components: NDArray[np.int64],
    references: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Squares of the standard errors for sigma = 1; see :func:`standard_errors`."""
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, information)
    piece = piece_labels(pairs.n, pairs.low, pairs.high)
    # the piece that stands for its component: the piece of the reference node, or the largest piece
    if references is None:
        size = np.bincount(piece)[piece]
        order = np.lexsort((-size, components))
        leaders = order[np.unique(components[order], return_index=True)[1]]
        found, _ = node_variances(pairs, piece, None)
    else:
        leaders = references
        anchors = np.unique(piece, return_index=True)[1]
        anchors[piece[references]] = references
        found, _ = node_variances(pairs, piece, anchors)
    return np.where(piece == piece[leaders][components], found, np.inf)


def method_for(measurements: Measurements, information: NDArray[np.float64] | None = None) -> Method:
    """How standard errors and leverages of this graph are computed: by a selected inverse or by probing, and why.

    For probing the accuracy is not known before it is done (infinity here); it is chosen as
    :data:`angsync.uncertainty.resistance.sampling.ACCURACY`, 10 % of a variance, 5 % of a standard error.
    """
    weight = measurements.weight if information is None else information
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, weight)
    return plan(pairs, piece_labels(pairs.n, pairs.low, pairs.high))


def confidence_factor(
    measurements: Measurements,
    z: NDArray,
    components: NDArray[np.int64],
    *,
    level: float = 0.95,
    sigma: float | None = None,
) -> float:
    """Standard errors to each side that hold the truth with this probability.

    The quantile of the normal law where sigma is given (1.96 for 95 %), of Student's t with the degrees of freedom of
    the estimate where it is not: with few degrees of freedom the normal quantile promises too much (12.7 for one, 2.23
    for ten).
    """
    check_level(level)
    tail = (1 + level) / 2
    if sigma is not None:
        return float(ndtri(tail))
    return float(stdtrit(degrees_of_freedom(measurements, z, components), tail))


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, but it is {level}; 0.95 means 95 %.")


def check_sigma(sigma: float) -> None:
    if not (math.isfinite(sigma * sigma) and sigma >= 0):
        raise InputError(f"sigma must be finite and not negative, and so must its square, but it is {sigma}.")


def pieces(measurements: Measurements, information: NDArray[np.float64]) -> NDArray[np.int64]:
    """Label of the piece of each node in the graph of the edges that carry information."""
    used = information > 0
    return piece_labels(measurements.n, measurements.i[used], measurements.j[used])
