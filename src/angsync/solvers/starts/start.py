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
from angsync.kernels.superlu import factorise
from angsync.problem.operators import (
    HermitianOperator,
    SparseOperator,
    as_operator,
    count_products,
    inner_model,
    innermost,
    is_real,
    sparse_base,
    to_dense,
)
from angsync.problem.randomness import random_generator
from angsync.solvers.starts.multilevel import multilevel_phases

_SHIFT = 1e-6  # of the connection Laplacian, relative: definite also where the measurements are exact
_INVERSE_ITERATIONS = 12
_POWER_STEPS, _SETTLED = 15, 5e-4
_FAR_FROM_ONE = 60  # exponent of two beyond which squares, and single precision, may leave their range
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
    matrix = _needed_matrix(operator, "a spanning tree")
    # csgraph finds minimum trees and treats 0 as absent, so an edge costs its rank, from the strongest (1) down; an
    # edge and its mirror image have the same modulus, hence neighbouring ranks, and either may stand for both
    rank = np.empty(matrix.nnz)
    rank[np.argsort(-np.abs(matrix.data), kind="stable")] = np.arange(1, matrix.nnz + 1)
    cost = scipy.sparse.csr_array((rank, matrix.indices, matrix.indptr), shape=matrix.shape)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(cost)
    order, parent = scipy.sparse.csgraph.breadth_first_order(tree, 0, directed=False)
    return _along_tree(matrix, order[1:], parent[order[1:]]).astype(operator.dtype)


def breadth_first_tree(operator: HermitianOperator) -> NDArray:
    """Phases along shortest paths from one node: poor, but better than none, and quick on a million nodes."""
    sparse = sparse_base(operator)
    if sparse is None:
        raise InputError("a breadth-first tree needs the entries of C; use 'eigenvector'.")
    search = sparse[0].breadth_first
    return _along_tree(sparse[0].matrix, search.order[1:], search.parent[1:]).astype(operator.dtype)


def _along_tree(matrix: scipy.sparse.csr_array, children: NDArray, parents: NDArray) -> NDArray:
    """z_child = C[child, parent] / |.| z_parent down a tree, by pointer doubling: log2 of its depth rounds."""
    n = int(matrix.shape[0])
    if children.size == 0:  # SciPy gives a sparse array for no indices
        return np.ones(n, dtype=np.complex128)
    links = np.asarray(matrix[children, parents]).ravel().astype(np.complex128)
    z = np.ones(n, dtype=np.complex128)
    z[children] = links / np.abs(links)
    above = np.arange(n)
    above[children] = parents
    while True:
        further = above[above]
        if np.array_equal(further, above):
            return normalise(z, z)
        z = z * z[above]
        above = further


def connection_laplacian(operator: HermitianOperator, *, normalised: bool = False) -> NDArray:
    r"""Phases of the lowest eigenvector of the connection Laplacian :math:`D - C`, :math:`D_{jj} = \sum_l |C_{jl}|`.

    By inverse iteration with one sparse factorisation, started at the spanning tree, so that a few solves are enough.
    ``normalised`` takes :math:`D - C` relative to D (the leading eigenvector of :math:`D^{-1/2} C D^{-1/2}`), which is
    less drawn to nodes with few measurements. (Singer, *Angular synchronization by eigenvectors and semidefinite
    programming*, Appl. Comput. Harmon. Anal. 30 (2011); Singer and Wu for the connection Laplacian.)

    An eigenvector may live on a part of the graph only. Where it is rounding noise, the phases of the spanning tree
    are taken, turned to fit.
    """
    matrix = _needed_matrix(operator, "the connection Laplacian")
    tree = spanning_tree(operator).astype(np.complex128)
    degrees = np.asarray(abs(matrix).sum(axis=1)).ravel().astype(np.float64)
    size = float(degrees.max(initial=0.0)) or 1.0
    shifted = scipy.sparse.diags_array(degrees * (1 + _SHIFT) if normalised else degrees + _SHIFT * size) - matrix
    factor = factorise(shifted.astype(np.complex128))
    if factor is None:
        return tree.astype(operator.dtype)
    v = tree
    for _ in range(_INVERSE_ITERATIONS):
        w = factor.solve(degrees * v if normalised else v)
        w = w / np.linalg.norm(w)
        moved = 1 - abs(np.vdot(w, v / np.linalg.norm(v)))
        v = w
        if moved < 1e-4:
            break
    modulus = np.abs(v)
    present = modulus > operator.n * float(np.finfo(np.float64).eps) * modulus.max()
    fitted = np.vdot(tree[present], v[present] / modulus[present])
    turned = tree * (fitted / abs(fitted) if fitted != 0 else 1)
    return normalise(np.where(present, v, 0), turned).astype(operator.dtype)


def _needed_matrix(operator: HermitianOperator, what: str) -> scipy.sparse.csr_array:
    matrix = readable_matrix(operator)
    if matrix is None and innermost(operator).operator.is_on_device:
        where = "they lie on a device; use 'eigenvector', or give a copy of C in the memory of the host"
        raise InputError(f"{what} needs the entries of C, but {where}.")
    if matrix is None:
        raise InputError(f"{what} needs the entries of C, but only its products are known; use 'eigenvector'.")
    matrix = scipy.sparse.csr_array(matrix)
    data = _near_one(matrix.data, innermost(operator)[1])
    if data is not matrix.data:
        matrix = scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix


def _near_one(entries: NDArray, exponent: int) -> NDArray:
    """Entries of C in double precision and the units of the operator, where those are far from the given ones."""
    if abs(exponent) <= _FAR_FROM_ONE:
        return entries
    return np.ldexp(entries.astype(np.complex128).view(np.float64), -exponent).view(np.complex128)


def normalised_eigenvector(operator: HermitianOperator, rng: np.random.Generator, tolerance: float = 0.0) -> NDArray:
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


def informed_power(operator: HermitianOperator) -> NDArray:
    r"""Steps :math:`z \leftarrow Cz / |Cz|` from the breadth-first tree: about eight products, for millions of nodes.

    The tree agrees with the truth far better than a random vector, so the steps that would find the first trace of the
    leading eigenvector are saved. They end when the objective has settled, at the point where it is largest.
    """
    z = breadth_first_tree(operator)
    last = -np.inf
    for _ in range(_POWER_STEPS):
        w = operator.apply(z)
        share = float(np.vdot(z, w).real)
        if share - last < _SETTLED * abs(share):
            break
        last = share
        z = normalise(w, z)
    return z.astype(operator.dtype)


def strongest_column(operator: HermitianOperator) -> NDArray:
    """The phases that one node sees: those of the column of C with the largest row sum, 0 where it sees nothing."""
    matrix = _dense_or_csr(operator)
    sums = operator.abs_row_sums()
    column = matrix[int(np.argmax(sums)) if sums is not None else 0]
    column = np.conj(column.toarray().ravel() if scipy.sparse.issparse(column) else column)
    column = _near_one(column, innermost(operator)[1])
    return normalise(column, np.ones_like(column)).astype(operator.dtype)


def leading_direction(operator: HermitianOperator) -> NDArray:
    """The phases of a rough leading eigenvector: Lanczos from the strongest column, to a residual of 0.4.

    An exact one would be wasted work where iterations follow.
    """
    inner = inner_model(operator)
    column = strongest_column(operator)
    vector, products = inner.model.leading(column, ROUGH)
    if not inner.counted:
        count_products(operator, products)
    return normalise(vector, column.astype(np.complex128)).astype(operator.dtype)


def _dense_or_csr(operator: HermitianOperator) -> Any:
    matrix = readable_matrix(operator)
    if matrix is None:
        raise InputError("the columns of C are not known, only its products; use 'eigenvector'.")
    return matrix


def multilevel(operator: HermitianOperator, rng: np.random.Generator, *, careful: bool = False) -> NDArray:
    """Phases from coarse to fine (:mod:`angsync.solvers.starts.multilevel`)."""
    sparse = sparse_base(operator)
    # far from one, single precision would not do
    near = sparse is not None and abs(sparse[1]) <= _FAR_FROM_ONE
    base = sparse[0] if sparse and near else SparseOperator(_needed_matrix(operator, "a multilevel start"))
    z, aggregations = multilevel_phases(base, rng, careful=careful)
    if not careful and base.aggregations is None:
        base.aggregations = aggregations  # a multigrid preconditioner can use them again
    return z.astype(operator.dtype)


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
    return innermost(operator).operator.entries()


STARTS: dict[str, Callable[[HermitianOperator, np.random.Generator], NDArray]] = {
    "eigenvector": lambda operator, rng: eigenvector_estimator(operator, rng=rng),
    "normalised_eigenvector": normalised_eigenvector,
    "connection_laplacian": lambda operator, rng: connection_laplacian(operator),
    "spanning_tree": lambda operator, rng: spanning_tree(operator),
    "multilevel": multilevel,
    "random": random_phases,
}
"""Starting points by name."""

ROUGH = 0.4  # relative residual of the eigenvector that the accelerated method starts from
_LOOSE = 1e-2  # an accurate eigenvector is wasted work where iterations follow

AUTOMATIC_STARTS: dict[str, Callable[[HermitianOperator, np.random.Generator], NDArray]] = {
    **STARTS,
    "eigenvector": lambda operator, rng: eigenvector_estimator(operator, tolerance=_LOOSE, rng=rng),
    "normalised_eigenvector": lambda operator, rng: normalised_eigenvector(operator, rng, _LOOSE),
    "informed_power": lambda operator, rng: informed_power(operator),
    "leading": lambda operator, rng: leading_direction(operator),
    "careful": lambda operator, rng: multilevel(operator, rng, careful=True),
}
"""The same, as exact as an iteration that follows needs them, and three more for ``solver="auto"``."""

START_WORDS = {
    "eigenvector": "the eigenvector estimator",
    "normalised_eigenvector": "the degree-normalised eigenvector",
    "connection_laplacian": "the lowest eigenvector of the connection Laplacian",
    "spanning_tree": "a spanning tree",
    "multilevel": "a multilevel start",
    "random": "random phases",
    "leading": "a rough leading eigenvector",
    "informed_power": "power steps from a breadth-first tree",
    "careful": "a careful multilevel start",
}
