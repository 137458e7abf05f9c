"""Starting points. Each is a function of the operator; the pipeline chooses by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from angsync.circle import normalise
from angsync.errors import InputError
from angsync.operators import HermitianOperator, as_operator, is_real, to_dense
from angsync.randomness import random_generator

_DENSE_EIGENVECTOR = 60  # up to this order LAPACK is faster than ARPACK and needs no start vector


def eigenvector_estimator(C: Any, *, tolerance: float = 0.0, rng: Any = 0) -> NDArray:
    r"""The eigenvector estimator :math:`v_C` of the paper (equation (4)).

    .. math:: (v_C)_j = u_j / |u_j| \text{ if } u_j \ne 0, \quad a^H u / |a^H u| \text{ otherwise,}

    where u is an eigenvector of the largest (algebraic) eigenvalue of C. The choice of a: the unit vector of
    the entry of u that is largest in modulus (the first of them), so that :math:`a^H u \ne 0` always and a
    zero entry takes the phase of the most certain node. Entries below ``n * eps`` of the largest are
    rounding noise and count as zero.

    ``tolerance`` is that of the eigenvalue computation (0: machine precision).
    """
    operator = as_operator(C)
    u = leading_eigenvector(operator, tolerance, random_generator(rng))
    modulus = np.abs(u)
    strongest = int(np.argmax(modulus))
    negligible = operator.n * float(np.finfo(operator.dtype).eps) * modulus[strongest]
    fallback = u[strongest] / modulus[strongest] if modulus[strongest] > 0 else u.dtype.type(1)
    phases = normalise(np.where(modulus > negligible, u, 0), np.full_like(u, fallback))
    return phases.astype(operator.dtype)


def leading_eigenvector(operator: HermitianOperator, tolerance: float, rng: np.random.Generator) -> NDArray:
    """A unit eigenvector of the largest algebraic eigenvalue."""
    n = operator.n
    if n <= _DENSE_EIGENVECTOR:
        return scipy.linalg.eigh(to_dense(operator), subset_by_index=[n - 1, n - 1])[1][:, 0]
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


def _gershgorin_shift(operator: HermitianOperator) -> float:
    """A shift that makes C + shift I positive semidefinite where row sums are known."""
    sums = operator.abs_row_sums()
    return float(sums.max(initial=0.0)) if sums is not None else 0.0


def spanning_tree(operator: HermitianOperator) -> NDArray:
    """Phases along a maximum spanning tree of ``|C|``: exact where the measurements are consistent."""
    matrix = readable_matrix(operator)
    if matrix is None:
        raise InputError("a spanning tree needs the entries of C, but only its products are known; use 'eigenvector'.")
    matrix = scipy.sparse.csr_array(matrix)
    # csgraph finds minimum trees and treats 0 as absent, so an edge costs its rank, from the strongest (1) down; an
    # edge and its mirror image have the same modulus, hence neighbouring ranks, and either may stand for both
    rank = np.empty(matrix.nnz)
    rank[np.argsort(-np.abs(matrix.data), kind="stable")] = np.arange(1, matrix.nnz + 1)
    cost = scipy.sparse.csr_array((rank, matrix.indices, matrix.indptr), shape=matrix.shape)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(cost)
    order, parent = scipy.sparse.csgraph.breadth_first_order(tree, 0, directed=False)
    children = order[1:]
    links = np.asarray(matrix[children, parent[children]]).ravel()
    links = links / np.abs(links)
    z = np.ones(operator.n, dtype=complex)
    for child, link in zip(children.tolist(), links.tolist(), strict=True):
        z[child] = link * z[parent[child]]  # C[child, parent] ~ z_child conj(z_parent)
    return normalise(z, z).astype(operator.dtype)


def random_phases(operator: HermitianOperator, rng: np.random.Generator) -> NDArray:
    """Independent uniform phases."""
    return np.exp(2j * np.pi * rng.random(operator.n)).astype(operator.dtype)


def leave_the_real_line(operator: HermitianOperator, z: NDArray, rng: np.random.Generator) -> NDArray:
    """Turn every phase a little when C is real: every vector of signs is then a critical point for ever."""
    if operator.n > 1 and is_real(operator):
        z = z * np.exp(0.1j * rng.standard_normal(operator.n)).astype(z.dtype)
        return normalise(z, z)
    return z


def readable_matrix(operator: HermitianOperator) -> Any:
    """The matrix behind an operator, up to a scale, where entries can be read; None where only products are known."""
    base: Any = operator
    while hasattr(base, "base"):
        base = base.base
    return getattr(base, "matrix", None)


STARTS: dict[str, Callable[[HermitianOperator, np.random.Generator], NDArray]] = {
    "eigenvector": lambda operator, rng: eigenvector_estimator(operator, rng=rng),
    "spanning_tree": lambda operator, rng: spanning_tree(operator),
    "random": random_phases,
}
"""Starting points by name."""
