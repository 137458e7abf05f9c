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
which is :math:`1` on average in the Gaussian model and :math:`w` when weights were built into C.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.measurements import Measurements

_DENSE = 5000  # up to this order the Laplacian is inverted as a dense matrix: 200 MB, some seconds
_SOLVE_WIDTH = 256  # right-hand sides of a sparse solve at a time


@dataclass(frozen=True, eq=False)
class EdgeResiduals:
    """One entry a measurement, in the order of the input. Leverages are computed when they are first asked for."""

    wrapped: NDArray[np.float64] = field(repr=False)
    """Measured angle minus ``theta_i - theta_j``, in (-pi, pi]."""
    measurements: Measurements = field(repr=False)
    z: NDArray = field(repr=False)
    components: NDArray[np.int64] = field(repr=False)

    def __repr__(self) -> str:
        spread = float(np.sqrt(np.mean(self.wrapped**2))) if self.wrapped.size else 0.0
        return f"EdgeResiduals({self.wrapped.size} measurements, rms {spread:.3g} rad)"

    @cached_property
    def leverage(self) -> NDArray[np.float64]:
        """Share of the edge in its own fit, in [0, 1]; 1 for a bridge. They sum to n minus the components."""
        return leverages(self.measurements, information_weights(self.measurements, self.z), self.components)

    @cached_property
    def standardised(self) -> NDArray[np.float64]:
        """Residual over its standard error; NaN where the edge is a bridge and has no residual of its own."""
        m = self.measurements
        try:
            sigma = estimate_sigma(m, self.z, self.components)
        except InputError:
            return np.full(len(m), np.nan)
        information = information_weights(m, self.z)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = self.wrapped if m.modulus is None else m.strength * np.sin(self.wrapped) / information
            spread = sigma * np.sqrt(np.maximum(0.0, 1 - self.leverage) / information)
            return np.where((self.leverage < 1 - 1e-9) & (spread > 0), size / spread, np.nan)


def wrapped_residuals(measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
    """Measured angle minus fitted angle, wrapped."""
    fitted = z[measurements.i] * np.conj(z[measurements.j])
    return np.angle(np.exp(1j * measurements.angle) * np.conj(fitted))


def information_weights(measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
    """Information of each edge about its angle, in units of 1 / sigma^2 (see the module text)."""
    if measurements.modulus is None:
        return measurements.weight
    strength = measurements.strength
    cosines = np.cos(wrapped_residuals(measurements, z))
    mean_cosine = float(np.sum(strength * cosines) / max(float(np.sum(strength)), 1e-300))
    if mean_cosine <= 0:
        raise InputError("these phases do not fit the measurements at all, so no error bars can be given.")
    return strength * mean_cosine


def estimate_sigma(measurements: Measurements, z: NDArray, components: NDArray[np.int64]) -> float:
    """Sigma from the residuals, with the degrees of freedom that the fit used up taken off."""
    information = information_weights(measurements, z)
    used = information > 0
    freedom = int(used.sum()) - (measurements.n - int(components.max() + 1))
    if freedom <= 0:
        raise InputError(
            "sigma cannot be estimated: there are no more measurements than phases, so the residuals are zero. "
            "Pass sigma (an edge of weight w has angle variance sigma**2 / w)."
        )
    residual = wrapped_residuals(measurements, z)
    if measurements.modulus is None:
        return float(np.sqrt(np.sum(information * residual**2) / freedom))
    # E sum (w r)^2 = sigma^2 sum w (1 - leverage): the leverages matter where weights differ
    across = measurements.strength * np.sin(residual)
    leverage = leverages(measurements, information, components)
    return float(np.sqrt(np.sum(across**2) / np.sum(information * (1 - leverage))))


def leverages(
    measurements: Measurements, information: NDArray[np.float64], components: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Share of each edge in its own fit: its information times the effective resistance between its ends."""
    resistance = _resistances(laplacian(measurements, information), components, measurements.i, measurements.j)
    return np.clip(information * resistance, 0.0, 1.0)


def laplacian(measurements: Measurements, information: NDArray[np.float64]) -> scipy.sparse.csr_array:
    """The weighted graph Laplacian; ``laplacian / sigma**2`` is the Fisher information."""
    i, j = measurements.i, measurements.j
    rows = np.concatenate([i, j, i, j])
    columns = np.concatenate([j, i, i, j])
    data = np.concatenate([-information, -information, information, information])
    return scipy.sparse.csr_array((data, (rows, columns)), shape=(measurements.n, measurements.n))


def standard_errors(
    measurements: Measurements,
    z: NDArray,
    components: NDArray[np.int64],
    *,
    sigma: float | None,
    references: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Standard error of each phase in radians.

    ``references`` holds one reference node a component (its own error is 0); None is the mean gauge.
    """
    if sigma is None:
        sigma = estimate_sigma(measurements, z, components)
    if not (np.isfinite(sigma) and sigma >= 0):
        raise InputError(f"sigma must be finite and not negative, but it is {sigma}.")
    matrix = laplacian(measurements, information_weights(measurements, z))
    return sigma * np.sqrt(_variances(matrix, components, references))


def cramer_rao_bound(measurements: Measurements, sigma: float, reference: int | None = None) -> float:
    r"""Lower bound on the summed squared error of an unbiased estimator for small noise.

    Without ``reference`` it is about :math:`E\, d_2^2`, the error after the best global phase:
    :math:`\sigma^2 \mathrm{tr}(L_w^+)`. With a reference node, against which the phases are given, it is
    :math:`\sigma^2 \mathrm{tr}` of the inverse of :math:`L_w` without that node (the first node of every other
    component is its reference). See :func:`cramer_rao_variances` for single nodes.

    ``sigma`` as in the module text: for the complete graph in the Gaussian model of the paper the first form is
    :math:`\tfrac{\sigma_p^2}{2} \tfrac{n-1}{n}`. Weights are those given; a modulus of complex values is not
    a weight.
    """
    return float(np.sum(cramer_rao_variances(measurements, sigma, reference)))


def cramer_rao_variances(measurements: Measurements, sigma: float, reference: int | None = None) -> NDArray[np.float64]:
    """Smallest variance of each phase (radians squared, unbiased, small noise): known before anything is solved.

    ``reference``: a node against which phases are given; None is the mean of each component.
    """
    if not (np.isfinite(sigma) and sigma >= 0):
        raise InputError(f"sigma must be finite and not negative, but it is {sigma}.")
    matrix = laplacian(measurements, measurements.weight)
    components = scipy.sparse.csgraph.connected_components(matrix, directed=False)[1].astype(np.int64)
    references = None
    if reference is not None:
        if not 0 <= reference < measurements.n:
            raise InputError(f"reference must be a node, 0 to {measurements.n - 1}, but it is {reference}.")
        references = np.unique(components, return_index=True)[1].astype(np.int64)
        references[components[reference]] = reference
    return sigma**2 * _variances(matrix, components, references)


def edge_residuals(measurements: Measurements, z: NDArray, components: NDArray[np.int64]) -> EdgeResiduals:
    """Residual, standardised residual and leverage of every measurement."""
    return EdgeResiduals(wrapped_residuals(measurements, z), measurements, z, components)


def _variances(
    matrix: scipy.sparse.csr_array, components: NDArray[np.int64], references: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Diagonal of the inverse of L in the gauge asked for, component by component."""
    variances = np.zeros(matrix.shape[0])
    for component, nodes in enumerate(_nodes(components)):
        if nodes.size == 1:
            continue
        anchor = nodes[0] if references is None else references[component]
        inner = nodes[nodes != anchor]
        solve = _Grounded(matrix[inner][:, inner])
        diagonal = solve.entries(np.arange(inner.size), np.arange(inner.size))
        if references is not None:
            variances[inner] = diagonal
            continue
        # pseudo-inverse from the grounded inverse G (0 for the anchor): subtract row means, add the grand mean
        size = nodes.size
        means = np.zeros(size)
        full = np.zeros(size)
        position = np.flatnonzero(nodes != anchor)
        means[position] = solve.apply(np.ones(inner.size)) / size
        full[position] = diagonal
        variances[nodes] = full - 2 * means + means.sum() / size
    return np.maximum(variances, 0.0)


def _resistances(
    matrix: scipy.sparse.csr_array, components: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Effective resistance between the ends of every edge: G_ii + G_jj - 2 G_ij."""
    resistance = np.zeros(i.size)
    position = np.full(matrix.shape[0], -1)
    for component, nodes in enumerate(_nodes(components)):
        if nodes.size == 1:
            continue
        inner = nodes[1:]
        position[inner] = np.arange(inner.size)
        edges = np.flatnonzero(components[i] == component)
        a, b = position[i[edges]], position[j[edges]]
        solve = _Grounded(matrix[inner][:, inner])
        diagonal = np.append(solve.entries(np.arange(inner.size), np.arange(inner.size)), 0.0)  # -1: the anchor
        both = (a >= 0) & (b >= 0)
        cross = np.zeros(edges.size)
        cross[both] = solve.entries(a[both], b[both])
        resistance[edges] = diagonal[a] + diagonal[b] - 2 * cross
    return resistance


def _nodes(components: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(components, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(components[order])) + 1)


def _inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of a positive definite matrix by Cholesky; by LU where rounding spoils definiteness."""
    factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=True)
    if failed:
        return scipy.linalg.inv(matrix, check_finite=False)
    lower, _ = scipy.linalg.lapack.dpotri(factor, lower=True)
    return np.tril(lower) + np.tril(lower, -1).T


class _Grounded:
    """The inverse of a Laplacian without one node: dense for small orders, sparse solves otherwise."""

    def __init__(self, matrix: scipy.sparse.csr_array) -> None:
        self.order = int(matrix.shape[0])
        self.dense: NDArray[np.float64] | None = None
        if self.order <= _DENSE or matrix.nnz > 0.2 * self.order**2:
            self.dense = _inverse(matrix.toarray())
        else:
            # a symmetric ordering and no pivoting: the matrix is positive definite
            self.factor = scipy.sparse.linalg.splu(
                matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )

    def apply(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.dense @ x if self.dense is not None else self.factor.solve(x)

    def entries(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """G[rows, columns], solving only for the columns that occur."""
        if self.dense is not None:
            return self.dense[rows, columns]
        values = np.empty(rows.size)
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(0, self.order + _SOLVE_WIDTH, _SOLVE_WIDTH))
        for block, (begin, end) in enumerate(itertools.pairwise(starts)):
            if begin == end:
                continue
            first = block * _SOLVE_WIDTH
            width = min(_SOLVE_WIDTH, self.order - first)
            unit = np.zeros((self.order, width))
            unit[first + np.arange(width), np.arange(width)] = 1
            solved = self.factor.solve(unit)
            chosen = order[begin:end]
            values[chosen] = solved[rows[chosen], columns[chosen] - first]
        return values
