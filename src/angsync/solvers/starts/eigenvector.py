"""Eigenvector estimators: the phases of the leading eigenvector of C, or of C scaled by its row sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from angsync.circle import normalize
from angsync.errors import names_keywords
from angsync.problem.operators import Operator, as_operator
from angsync.problem.randomness import random_generator

_LAPACK_UP_TO = 60  # order up to which LAPACK is faster than ARPACK, and it needs no start vector
_LOOSE_TOLERANCE = 1e-2  # an accurate eigenvector is wasted work where iterations follow


@names_keywords
def eigenvector_estimator(C: Any, *, tolerance: float = 0.0, rng: Any = 0) -> NDArray:
    r"""The eigenvector estimator :math:`v_C` of the paper (equation (4)).

    .. math:: (v_C)_j = u_j / |u_j| \text{ if } u_j \ne 0, \quad a^H u / |a^H u| \text{ otherwise,}

    where u is an eigenvector of the largest (algebraic) eigenvalue of C. The choice of a: the unit vector of
    the entry of u that is largest in modulus (the first of them), so that :math:`a^H u \ne 0` always and a
    zero entry takes the phase of the most certain node. Entries below ``n * eps`` of the largest are
    rounding noise and count as zero.

    ``tolerance`` is that of the eigenvalue computation (0: machine precision).

    Examples
    --------
    >>> problem = ang.simulate.gaussian(100, 1.0, rng=0)
    >>> bool(ang.distance(ang.eigenvector_estimator(problem.C), problem.z) < 1)
    True
    """
    operator = as_operator(C)
    u = leading_eigenvector(operator, tolerance, random_generator(rng))
    modulus = np.abs(u)
    strongest = int(np.argmax(modulus))
    negligible = operator.n * float(np.finfo(operator.dtype).eps) * modulus[strongest]
    fallback = u[strongest] / modulus[strongest] if modulus[strongest] > 0 else u.dtype.type(1)
    phases = normalize(np.where(modulus > negligible, u, 0), np.full_like(u, fallback))
    return phases.astype(operator.dtype)


def leading_eigenvector(operator: Operator, tolerance: float, rng: np.random.Generator) -> NDArray:
    """A unit eigenvector of the largest algebraic eigenvalue."""
    n = operator.n
    if n <= _LAPACK_UP_TO:
        return scipy.linalg.eigh(operator.to_dense(), subset_by_index=[n - 1, n - 1])[1][:, 0]
    first = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(operator.dtype)
    as_scipy = LinearOperator((n, n), matvec=lambda v: operator.apply(v.ravel()), dtype=operator.dtype)
    try:
        # a deterministic start vector: the same input gives the same output
        return eigsh(as_scipy, k=1, which="LA", v0=first, tol=tolerance, maxiter=300)[1][:, 0]
    except ArpackNoConvergence:
        # slowly mixing graphs have no gap to speak of; a smoothed vector serves as well as any
        shift = _gershgorin_shift(operator)
        v = first
        for _ in range(100):
            v = operator.apply(v) + shift * v
            v = v / np.linalg.norm(v)
        return v


def _gershgorin_shift(operator: Operator) -> float:
    """A shift that makes C + shift I positive semidefinite where row sums are known."""
    sums = operator.abs_row_sums()
    return float(sums.max(initial=0.0)) if sums is not None else 0.0


def normalized_eigenvector(operator: Operator, rng: np.random.Generator, tolerance: float = 0.0) -> NDArray:
    r"""Phases of the leading eigenvector of :math:`D^{-1/2} C D^{-1/2}`, by products only.

    On graphs with a few nodes of very many measurements the leading eigenvector of C lives on those alone.
    """
    sums = operator.abs_row_sums()
    if sums is None:
        return eigenvector_estimator(operator, tolerance=tolerance, rng=rng)
    root = np.sqrt(np.where(sums > 0, sums, 1.0))
    scaled = LinearOperator(
        (operator.n, operator.n), matvec=lambda v: operator.apply(v.ravel() / root) / root, dtype=np.complex128
    )
    return eigenvector_estimator(scaled, tolerance=tolerance, rng=rng).astype(operator.dtype)


def eigenvector(operator: Operator, rng: np.random.Generator) -> NDArray:
    """The eigenvector estimator, to machine precision."""
    return eigenvector_estimator(operator, rng=rng)


def quick_eigenvector(operator: Operator, rng: np.random.Generator) -> NDArray:
    """The eigenvector estimator, as exact as a solver that follows needs it."""
    return eigenvector_estimator(operator, tolerance=_LOOSE_TOLERANCE, rng=rng)


def quick_normalized_eigenvector(operator: Operator, rng: np.random.Generator) -> NDArray:
    """The degree-normalized eigenvector, as exact as a solver that follows needs it."""
    return normalized_eigenvector(operator, rng, _LOOSE_TOLERANCE)
