r"""The Hessian on the torus in the gauge of z: a real matrix, and cheaper to multiply with than C.

Along :math:`z \circ e^{\mathrm{i}t}` the objective is :math:`f + 2 b^T t - t^T H t` to second order, with

.. math:: H = \mathrm{Diag}(s) - \Re(Z^H C Z), \qquad s = \Re(\bar z \circ Cz), \quad b = \Im(\bar z \circ Cz).

Where C is a sparse matrix the rotated entries :math:`w_{jl} = \Re(\bar z_j C_{jl} z_l)` are computed once for each z;
they share the index arrays of C, so the copy costs half of its entries, or a quarter in single precision.

Where C is a dense matrix, one triangle of these entries is computed, once a few products have been asked for at this z:
in 16 bits a number from the narrow copy (a sixteenth of C), otherwise in the precision of C (a quarter). From then on a
product reads half of what one with C, or with its copy, does.

The **edge Laplacian** :math:`M = \sum_{j<l} w^+_{jl} (e_j - e_l)(e_j - e_l)^T`, :math:`w^+ = \max(w, \epsilon |C|)`, is
H itself where all residual angles are below a right angle, because :math:`s_j = \sum_l w_{jl}`, and positive
semidefinite always. H is preconditioned with M.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.problem.operators import Operator
from angsync.problem.operators.sparse import EdgeList
from angsync.problem.residual import along_and_across

_SINGLE_FROM_ENTRIES = 500_000  # stored entries from which products with H are in single precision
_FORGET_FROM_ENTRIES = 10_000_000  # from which the rotated entries are not kept while a step is tried: 40 MB
_DEFINITE_SHARE = 2.0**-44  # of its degree, added to each node: keeps pivots positive where edges are below rounding
_NARROW_ACCURACY = 1e-8  # of products with the narrow copy of a dense C, and with the triangle made of it
# Products at one point after which the triangle of a dense C is made. From the narrow copy that costs as much as 1.2 to
# 1.9 products and saves 0.55 of each; from C itself it costs 2 to 3 and saves 0.35 to 0.5 (n = 1000 to 4000).
_TRIANGLE_AFTER = {True: 3, False: 9}
_SURELY_OFF = 6.0  # times the noise: 2e-9 of all measurements, none of a million
_VORTEX_ANGLE = np.pi / 3  # an outlier of 180 degrees turns its neighbors by less, a vortex by more
_FLOOR = 0.05  # least weight of an edge in the Laplacian, relative to |C_jl|


class TangentHessian:
    """H at one point: ``product(t)`` is H t. One product counts as one with C."""

    accuracy = 1e-11
    """Squared relative error of a product that is taken for granted."""

    def __init__(self, operator: Operator, z: NDArray, Cz: NDArray, *, narrow: bool = False) -> None:
        self.operator = operator
        self._narrow = operator.narrow_product() if narrow else None
        if self._narrow is not None:
            self.accuracy = _NARROW_ACCURACY
        self.z = z
        self.s, self.b = along_and_across(z, Cz)
        self.n = z.size
        self._sparse = operator.sparse()
        self._used = 0
        self._triangle: Callable[[NDArray], NDArray] | None = None

    @cached_property
    def _conjugate(self) -> NDArray:
        return np.conj(self.z)

    def forget(self) -> None:
        """Give back the rotated entries of a very large C; they are made again where they are needed again."""
        if self._sparse is not None and self._sparse.operator.matrix.nnz >= _FORGET_FROM_ENTRIES:
            self.__dict__.pop("rotated", None)

    @cached_property
    def rotated(self) -> scipy.sparse.csr_array | None:
        """The matrix of w_jl, where C is sparse; in single precision where it is large."""
        if self._sparse is None:
            return None
        base, exponent = self._sparse
        matrix = base.matrix
        if matrix.nnz >= _SINGLE_FROM_ENTRIES:
            # in single precision an inner solution is good to 1e-6: enough, because the gradient is not
            data: NDArray = kernels.rotate(matrix, self.z, 2.0**-exponent)
        else:
            row = np.repeat(self._conjugate, np.diff(matrix.indptr))
            data = np.ldexp((row * matrix.data * self.z[matrix.indices]).real, -exponent)
        return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)

    def product(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """H t."""
        if self._sparse is not None:
            self.operator.count(1)
            return kernels.hessian_apply(self.rotated, self.s, t)
        if self._used == _TRIANGLE_AFTER[self._narrow is not None]:
            self._triangle = self.operator.rotated_product(self.z, narrow=self._narrow is not None)
        self._used += 1
        if self._triangle is not None:
            return self.s * t - self._triangle(t)
        if self._narrow is not None:
            return self.s * t - (self._conjugate * self._narrow(self.z * t)).real
        return self.s * t - (self._conjugate * self.operator.apply(self.z * t.astype(self.z.real.dtype))).real

    def edge_weights(self) -> EdgeList:
        """Every edge once with its weight w^+ in the edge Laplacian; only where C is sparse."""
        assert self._sparse is not None
        base, exponent = self._sparse
        edges = base.edges
        w = (self._conjugate[edges.i] * edges.value * self.z[edges.j]).real
        return EdgeList(edges.n, edges.i, edges.j, np.ldexp(np.maximum(w, _FLOOR * np.abs(edges.value)), -exponent))

    def laplacian_weights(self) -> tuple[scipy.sparse.csr_array, EdgeList]:
        """The weights w^+ in single precision, both triangles with the pattern of C, and every edge once."""
        assert self._sparse is not None
        base, exponent = self._sparse
        matrix = base.matrix
        rotated = self.rotated
        assert rotated is not None
        moduli = base.moduli(exponent)
        floor = moduli * np.float32(_FLOOR)
        weights = np.where(moduli > 0, np.maximum(rotated.data, floor), 0).astype(np.float32)
        full = scipy.sparse.csr_array((weights, matrix.indices, matrix.indptr), shape=matrix.shape)
        edges = base.edges
        return full, EdgeList(self.n, edges.i, edges.j, weights[base.is_above_diagonal].astype(np.float64))


def reversed_share(operator: Operator, z: NDArray) -> float:
    """Share of the measurements that are more than a right angle off at z; 0 where C is not a sparse matrix."""
    sparse = operator.sparse()
    if sparse is None:
        return 0.0
    edges = sparse.operator.edges
    if edges.i.size == 0:
        return 0.0
    return float(((np.conj(z[edges.i]) * edges.value * z[edges.j]).real < 0).mean())


def misfits(edges: EdgeList, z: NDArray, factor: float, least: float = np.pi / 4) -> NDArray[np.bool_]:
    r"""The edges off by ``factor`` times what the others let expect, at least ``least`` and at most a right angle.

    The noise scale is the median of :math:`w r^2 \approx 2 (|C_{jl}| - \Re(\bar z_j C_{jl} z_l))`, w the weight, over
    0.455, the median of a chi-square of one degree of freedom. A vortex in a cycle of four measurements has residuals
    of 90 degrees each, less what noise takes off: those that are reversed are every other one at most.
    """
    return _beyond(edges, z, factor, least)[0]


def _beyond(edges: EdgeList, z: NDArray, factor: float, least: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The edges that are off, and those on which noise alone does not reach a right angle."""
    size = np.abs(edges.value)
    along = (np.conj(z[edges.i]) * edges.value * z[edges.j]).real
    scale = 2 / 0.455 * float(np.median(size - along)) if size.size else 0.0
    limit = factor * np.sqrt(max(scale, 0.0) / np.maximum(size, np.finfo(np.float64).tiny))
    return along < size * np.cos(np.clip(limit, least, np.pi / 2)), limit < np.pi / 2


def has_vortex(operator: Operator, z: NDArray) -> bool:
    """Whether two misfits, of six times the noise, meet at a node: around a vortex they do, single outliers do not.

    Where the noise is so high that it reaches a right angle by itself, nothing is said.
    """
    sparse = operator.sparse()
    if sparse is None:
        return False
    edges = sparse.operator.edges
    off, unexplained = _beyond(edges, z, _SURELY_OFF, _VORTEX_ANGLE)
    off &= unexplained
    ends = np.concatenate([edges.i[off], edges.j[off]])
    return bool((np.diff(np.sort(ends)) == 0).any())


def edge_sums(edges: EdgeList) -> NDArray[np.float64]:
    """The sum of the weights at every node: its degree."""
    sums: NDArray = np.bincount(edges.i, edges.value, edges.n)
    return sums + np.bincount(edges.j, edges.value, edges.n)


def edge_laplacian(edges: EdgeList, ground: float = 0.0) -> scipy.sparse.csc_array:
    """The weighted Laplacian of the edges; ``ground`` times its degree is added at the node of largest degree.

    Grounded, it is positive definite, in floating point too, and on vectors whose entries sum to 0 its inverse is, but
    for a relative 1e-13 of the degrees, that of the Laplacian up to a constant.
    """
    degrees = edge_sums(edges)
    if ground:
        strongest = int(np.argmax(degrees))
        degrees[strongest] *= 1 + ground
        # a node of far less weight than others is lost in the rounding of their mean: its inverse stays finite
        degrees = np.maximum(degrees * (1 + _DEFINITE_SHARE), (degrees[strongest] or 1.0) * 2.0**-60)
    nodes = np.arange(edges.n, dtype=np.int32)
    rows = np.concatenate([edges.i, edges.j, nodes])
    columns = np.concatenate([edges.j, edges.i, nodes])
    data = np.concatenate([-edges.value, -edges.value, degrees])
    return scipy.sparse.csc_array((data, (rows, columns)), shape=(edges.n, edges.n))
