"""A start from coarse to fine: solve a small problem of aggregates, carry its phases up, smooth on every level."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.circle import normalize
from angsync.kernels import time_limit
from angsync.problem.operators import Operator, SparseOperator
from angsync.solvers.hierarchy import Aggregation, contract, pair_up, relaxed_vectors
from angsync.solvers.starts.entries import FAR_FROM_ONE, needed_matrix

_COARSEST_AGGREGATES = 64  # aggregates whose phases come from a dense eigenvector
_BOTH_WAYS_FROM_NODES = 60_000  # nodes from which on a large problem is solved both ways
_SMOOTHING = 4  # steps of the generalized power method on every level
_CAREFUL_SMOOTHING = 30  # the same, in the careful form
_SMOOTHED_AT_ONCE = 10  # smoothing steps between two looks at the clock: half a second on a million nodes
_VECTORS, _RELAXATION_STEPS = 16, 12  # careful form: within 2e-4 of the best objective known on grids at 0.6 rad


def multilevel(operator: Operator, rng: np.random.Generator, *, careful: bool = False) -> NDArray:
    """Phases from coarse to fine; ``careful`` where the noise is high (:func:`multilevel_phases`)."""
    sparse = operator.sparse()
    # far from one, single precision would not do
    near = sparse is not None and abs(sparse.exponent) <= FAR_FROM_ONE
    base = sparse.operator if sparse and near else SparseOperator(needed_matrix(operator, "a multilevel start"))
    z, aggregations = multilevel_phases(base, rng, careful=careful)
    if not careful and base.aggregations is None:
        base.aggregations = aggregations  # a multigrid preconditioner can use them again
    return z.astype(operator.dtype)


def careful_multilevel(operator: Operator, rng: np.random.Generator) -> NDArray:
    """The careful form of the multilevel start."""
    return multilevel(operator, rng, careful=True)


def multilevel_phases(
    operator: SparseOperator, rng: np.random.Generator, *, careful: bool = False
) -> tuple[NDArray, list[Aggregation]]:
    """Phases for the Hermitian sparse matrix of a connected graph, and the aggregates of every level.

    Two pairings a level (:mod:`angsync.solvers.hierarchy`), down to a few dozen aggregates, whose phases are those of
    the lowest eigenvector of their connection Laplacian. ``careful`` forms the aggregates from relaxed random vectors
    instead of single edges: several times the work, and far better where the noise is high. Without it a large graph
    is solved both ways from the level on where that is cheap: mistakes on coarse levels cannot be mended on fine ones.
    """
    matrix, edges = operator.matrix, operator.edges
    levels: list[tuple[scipy.sparse.csr_array, Aggregation]] = []
    large = edges.n > _BOTH_WAYS_FROM_NODES
    while edges.n > _COARSEST_AGGREGATES:
        if large and not careful and edges.n <= _BOTH_WAYS_FROM_NODES:
            break
        before, step = edges.n, None
        for _ in range(2):
            time_limit.check()
            vectors = relaxed_vectors(edges, _VECTORS, _RELAXATION_STEPS, rng) if careful else None
            pairs = pair_up(edges, vectors)
            edges = contract(edges, pairs)
            step = pairs if step is None else step.followed_by(pairs)
        if edges.n > 0.9 * before or step is None:
            break  # no two nodes pair any more: their measurements cancel
        levels.append((matrix, step))
        matrix = edges.to_csr()
    below: list[Aggregation] = []
    if large and not careful and matrix.shape[0] <= _BOTH_WAYS_FROM_NODES:
        coarse = SparseOperator(matrix)
        z, below = max(
            (multilevel_phases(coarse, rng, careful=choice) for choice in (False, True)),
            key=lambda found: float(np.vdot(found[0], matrix @ found[0]).real),
        )
    else:
        z = _coarsest_phases(matrix, rng)
    for matrix, step in reversed(levels):
        z = smooth(matrix, step.prolong(z), _CAREFUL_SMOOTHING if careful else _SMOOTHING)
    return z, [step.unsigned() for _, step in levels] + below


def _coarsest_phases(matrix: scipy.sparse.csr_array, rng: np.random.Generator) -> NDArray:
    n = int(matrix.shape[0])
    if n > 40 * _COARSEST_AGGREGATES:
        return smooth(matrix, np.exp(2j * np.pi * rng.random(n)), 100)
    dense = matrix.toarray()
    laplacian = np.diag(np.abs(dense).sum(axis=1)) - dense
    lowest = np.linalg.eigh(laplacian)[1][:, 0]
    return normalize(lowest, np.ones_like(lowest))


def smooth(matrix: scipy.sparse.csr_array, z: NDArray, steps: int) -> NDArray:
    """Steps of the generalized power method with half of each row sum as shift: the objective never decreases.

    C plus its row sums is positive semidefinite, which is what the paper's proof of monotonicity needs; half of them
    is twice as fast and has not been seen to decrease f.
    """
    shift = 0.5 * np.add.reduceat(np.append(np.abs(matrix.data), 0.0), matrix.indptr[:-1])
    shift[np.diff(matrix.indptr) == 0] = 0  # reduceat gives an empty row the next entry
    for done in range(0, steps, _SMOOTHED_AT_ONCE):
        time_limit.check()
        z = kernels.smooth(matrix, shift, z, min(_SMOOTHED_AT_ONCE, steps - done))
    return z
