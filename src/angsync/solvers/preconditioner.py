"""Approximate inverses of the tangent Hessian: its diagonal, a sparse factorization, or a multigrid cycle.

All are positive definite, so conjugate gradients and the trust region can measure with them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.superlu import Factor, estimated_entries, factorize
from angsync.problem.operators import Operator, SparseOperator
from angsync.problem.operators.sparse import EdgeList
from angsync.solvers.hierarchy import Aggregation, contract, pair_up
from angsync.solvers.tangent import TangentHessian, edge_laplacian

_DIRECT_ENTRIES = 1.5e7  # about a second for the factorization, 300 MB
_COARSEST_NODES = 30_000  # nodes that a multigrid cycle solves directly on its coarsest level
_NEARLY_A_TREE = 20  # times n: entries of the factor of a graph that is nearly a tree
_FACTORIZE_UP_TO_NODES = 500  # nodes up to which a factorization is cheap whatever the graph
_NARROW_LEVEL_SHARE = 0.1  # share of the nodes in the widest breadth-first level up to which information mixes slowly


class Preconditioner(Protocol):
    """An approximate inverse of H on vectors whose entries sum to 0; the next call may overwrite what it returned."""

    def solve(self, r: NDArray[np.float64]) -> NDArray[np.float64]: ...


class Jacobi:
    """The diagonal of H, near enough, where it is positive and not tiny, a floor elsewhere."""

    def __init__(self, s: NDArray[np.float64]) -> None:
        diagonal = np.abs(s)
        floor = 1e-3 * float(diagonal.mean()) if diagonal.size else 0.0
        self.weights = np.maximum(diagonal, floor if floor > 0 else 1.0)

    def solve(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return r / self.weights


class Direct:
    """The edge Laplacian, factorized; it is H itself where all residual angles are below a right angle."""

    def __init__(self, factor: Factor, n: int) -> None:
        self.factor = factor
        self.n = n

    def solve(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        t = self.factor.solve(np.concatenate([r, np.zeros(self.factor.order - self.n)]))[: self.n]
        return t - t.mean()


class Multigrid:
    """One symmetric cycle on the edge Laplacian: aggregates of about four nodes, a sparse factorization at the bottom.

    The corrections of plain aggregation are too short (Braess, *Towards algebraic multigrid for elliptic problems of
    second order*, Computing 55 (1995)), hence the factor on them.
    """

    damping = 2 / 3
    stretch = 1.8

    def __init__(self, weights: scipy.sparse.csr_array, edges: EdgeList, aggregations: list[Aggregation]) -> None:
        self.levels: list[kernels.Level] = []
        self._buffers: tuple[NDArray[np.float32], NDArray[np.float64]] | None = None
        for aggregation in aggregations:
            degrees = weights @ np.ones(edges.n, dtype=np.float32)
            self.levels.append(kernels.Level(weights, degrees, self.damping, aggregation.label, aggregation.count))
            edges = contract(edges, aggregation)
            weights = EdgeList(edges.n, edges.i, edges.j, edges.value.astype(np.float32)).to_csr()
        bottom = factorize(edge_laplacian(edges, ground=1.0))
        assert bottom is not None  # a grounded Laplacian of a connected graph is positive definite
        self.bottom = Direct(bottom, edges.n)

    def solve(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        # float32 is enough for a preconditioner, but r may be far below its range
        size = max(float(r.max(initial=0.0)), -float(r.min(initial=0.0)))
        if size == 0:
            return np.zeros_like(r)
        # buffers are kept: on a million nodes fresh memory costs as much as the arithmetic
        if self._buffers is None or self._buffers[0].size != r.size:
            self._buffers = np.empty(r.size, dtype=np.float32), np.empty(r.size)
        narrow, wide = self._buffers
        np.divide(r, size, out=narrow, casting="unsafe")
        t = self._cycle(0, narrow)
        np.subtract(t, np.float64(t.mean(dtype=np.float64)), out=wide)
        wide *= size
        return wide

    def _cycle(self, depth: int, r: NDArray) -> NDArray:
        if depth == len(self.levels):
            return self.bottom.solve(r.astype(np.float64)).astype(np.float32)
        level = self.levels[depth]
        t, coarse = level.down(r)
        return level.up(r, t, self._cycle(depth + 1, coarse), self.stretch)


def kind_for(operator: Operator) -> str:
    """Which preconditioner suits the graph of C: ``"jacobi"``, ``"direct"`` or ``"multigrid"``."""
    if operator.augmented() is not None:
        return "direct"
    sparse = operator.sparse()
    if sparse is None:
        return "jacobi"
    n, width = operator.n, sparse.operator.breadth_first.width
    if (
        width > _NARROW_LEVEL_SHARE * n
        and n > _FACTORIZE_UP_TO_NODES
        and _cycle_entries(sparse.operator) > _NEARLY_A_TREE * n
    ):
        # wide levels: everything is near to everything, and the diagonal is enough
        return "jacobi"
    return strongest_affordable(operator)


def strongest_affordable(operator: Operator) -> str:
    """The strongest kind that is affordable: a factorization where its factor is small enough, otherwise multigrid."""
    sparse = operator.sparse()
    if sparse is None:
        return "jacobi"
    entries = min(estimated_entries(operator.n, sparse.operator.breadth_first.width), _cycle_entries(sparse.operator))
    return "direct" if entries <= _DIRECT_ENTRIES else "multigrid"


def _cycle_entries(operator: SparseOperator) -> float:
    """A bound on the entries of the factor for graphs that are nearly trees.

    A tree has 4 n entries at most, and every pair of edges that close cycles may add one.
    """
    return 4.0 * operator.n + float(operator.edge_count - operator.n + 1) ** 2


def build(kind: str, hessian: TangentHessian) -> Preconditioner:
    """A preconditioner of this kind at the point of the Hessian; the diagonal where this kind is not possible."""
    if kind == "direct":
        factor = _factor(hessian)
        return Jacobi(hessian.s) if factor is None else Direct(factor, hessian.n)
    if kind == "multigrid" and hessian.operator.sparse() is not None:
        weights, edges = hessian.laplacian_weights()
        return Multigrid(weights, edges, aggregations(hessian.operator, edges))
    return Jacobi(hessian.s)


def aggregations(operator: Operator, edges: EdgeList) -> list[Aggregation]:
    """Two pairings a level, down to a size that is solved directly; made once for an operator."""
    sparse = operator.sparse()
    assert sparse is not None
    if sparse.operator.aggregations is None:
        found: list[Aggregation] = []
        while edges.n > _COARSEST_NODES:
            step = None
            before = edges.n
            for _ in range(2):
                pairs = pair_up(edges).unsigned()
                edges = contract(edges, pairs)
                step = pairs if step is None else step.followed_by(pairs)
            if step is None or edges.n > 0.8 * before:
                break
            found.append(step)
        sparse.operator.aggregations = found
    needed = []
    for aggregation in sparse.operator.aggregations:
        if aggregation.label.size <= _COARSEST_NODES:
            break
        needed.append(aggregation)
    return needed


def _factor(hessian: TangentHessian) -> Factor | None:
    """A factor of H or of a positive definite matrix near it; None where there is none."""
    if hessian.operator.augmented() is None:
        if hessian.operator.sparse() is None:
            return None
        return factorize(edge_laplacian(hessian.edge_weights(), ground=1.0))
    # H itself; where H is not definite, H without the negative s_j, which is: -C is positive semidefinite by itself
    for diagonal in (hessian.s, np.maximum(hessian.s, 0.0)):
        factor = factorize(_augmented_hessian(hessian, diagonal))
        if factor is not None and factor.positive:
            return factor
    return None


def _augmented_hessian(hessian: TangentHessian, diagonal: NDArray[np.float64]) -> scipy.sparse.csc_array:
    r"""The sparse real matrix whose Schur complement is :math:`\mathrm{Diag} - \Re(Z^H C Z)`, grounded at one node.

    With K as in :meth:`angsync.problem.operators.Operator.augmented`. The unknowns that were eliminated are complex,
    so they take two real columns each: for real t, :math:`2 \Re(t^T B p) = 2 t^T (\Re B\, p_r + \Im B\, p_i)` with
    :math:`p = p_r - \mathrm{i} p_i`.
    """
    found = hessian.operator.augmented()
    assert found is not None
    K, n = scipy.sparse.csr_array(found[0]), found[1]
    turn = scipy.sparse.diags_array(np.conj(hessian.z)).tocsr()
    H11 = (turn @ K[:n, :n] @ turn.conj()).real
    ground = np.zeros(n)
    ground[int(np.argmax(H11.diagonal()))] = float(H11.diagonal().max())
    across = turn @ K[:n, n:]
    K22 = K[n:, n:]
    return scipy.sparse.block_array(
        [
            [H11 + scipy.sparse.diags_array(diagonal + ground), across.real, across.imag],
            [across.real.T, K22.real, K22.imag],
            [across.imag.T, -K22.imag, K22.real],
        ],
        format="csc",
    )
