r"""Local repair: where a few measurements do not fit, solve their neighbourhoods again.

On a large graph a point may be optimal everywhere but for a handful of defects (on a grid: pairs of vortices), which
no local step removes. Everything further than some steps from the offending measurements is taken as one rigid node,
the **ground**: with P the matrix that spreads the phases of the neighbourhood and of the ground over all nodes, in the
gauge of the present z, the problem :math:`w^H (P^H C P) w` is a small one of the same kind, and w = 1 is the
present point. The small problem is solved from other starts; what its objective gains, the whole problem gains too.

Without the ground the neighbourhoods fall into pieces, which have no measurement between them: f is a sum over the
pieces, and of several solutions the best is taken piece by piece.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.problem.operators import (
    Operator,
    ScaledOperator,
    SparseOperator,
    normalising_exponent,
)
from angsync.solvers import Newton
from angsync.solvers.hierarchy import Aggregation, contract
from angsync.solvers.loop import iterate
from angsync.solvers.starts.laplacian import connection_laplacian
from angsync.solvers.starts.multilevel import careful_multilevel
from angsync.solvers.stopping import Clock, Stopping
from angsync.solvers.tangent import misfits

_OFF = 4.5  # times the noise: 7e-6 of all measurements, whose neighbourhoods are soon solved
_REACH = (6, 12, 24)  # steps around an offending measurement, one after the other
_LARGEST_SHARE = 0.1  # of all nodes; a larger neighbourhood is no longer local
_LARGEST_NODES = 100_000  # of a neighbourhood, however large the graph is
_SOLVE = Stopping(tolerance=1e-8, max_iterations=60)  # of a neighbourhood; the whole problem is polished afterwards


def repaired(operator: Operator, z: NDArray, rng: np.random.Generator, clock: Clock) -> NDArray | None:
    """A point with a larger objective, or None; z itself is not changed."""
    sparse = operator.sparse()
    if sparse is None:
        return None
    best: NDArray | None = None
    for reach in _REACH:
        if clock.expired:
            break
        here = z if best is None else best
        region = _affordable_region(sparse.operator, here, reach)
        if region is None:
            break
        better = _solved_again(sparse.operator, here, region, rng, clock)
        if better is not None:
            best = better
    return None if best is None else best.astype(operator.dtype)


def _affordable_region(base: SparseOperator, z: NDArray, reach: int) -> NDArray[np.bool_] | None:
    """What is around all misfits, or, where that is too much, around the reversed measurements; None without any."""
    for least in (np.pi / 4, np.pi / 2):
        region = _neighbourhood(base, misfits(base.edges, z, _OFF, least), reach)
        count = int(region.sum())
        if count <= min(_LARGEST_NODES, _LARGEST_SHARE * base.n):
            return region if count else None
    return None


def _neighbourhood(base: SparseOperator, off: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """The nodes within ``reach`` steps of the edges ``off``."""
    edges = base.edges
    region = np.zeros(base.n, dtype=bool)
    region[edges.i[off]] = region[edges.j[off]] = True
    indptr, indices = base.matrix.indptr, base.matrix.indices
    rim = np.flatnonzero(region)
    for _ in range(reach):
        # the neighbours of the rim: the entries of its rows
        lengths = indptr[rim + 1] - indptr[rim]
        offsets = np.repeat(indptr[rim] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        reached = np.unique(indices[offsets + np.arange(int(lengths.sum()))])
        rim = reached[~region[reached]]
        if rim.size == 0:
            break
        region[rim] = True
    return region


def _solved_again(
    base: SparseOperator, z: NDArray, region: NDArray[np.bool_], rng: np.random.Generator, clock: Clock
) -> NDArray | None:
    count = int(region.sum())
    label = np.full(base.n, count, dtype=np.int32)  # the ground is the last node
    label[region] = np.arange(count, dtype=np.int32)
    spread = Aggregation(count + 1, label, z.astype(np.complex128))
    edges = contract(base.edges, spread)
    matrix = edges.to_csr()
    matrix.eliminate_zeros()
    inner = SparseOperator(scipy.sparse.csr_array(matrix))
    if inner.breadth_first.order.size < inner.n:
        return None  # measurements that cancel split the neighbourhood
    pieces = scipy.sparse.csgraph.connected_components(abs(matrix[:count, :count]), directed=False)[1]
    owner = np.append(pieces, -1)[np.stack([edges.i, edges.j])].max(axis=0)  # every edge has an end outside the ground

    def values(w: NDArray) -> NDArray[np.float64]:
        found: NDArray = np.bincount(owner, (np.conj(w[edges.i]) * edges.value * w[edges.j]).real)
        return found

    part = ScaledOperator(inner, normalising_exponent(inner))
    best = np.ones(part.n, dtype=np.complex128)
    value = present = values(best)
    for make in (careful_multilevel, connection_laplacian):
        if clock.expired:
            break
        found = iterate(part, Newton(), make(part, rng), _SOLVE, clock=clock).unless_interrupted().z
        there = found * np.conj(found[-1])  # the ground stays where it is
        reached = values(there)
        better = reached > value + 1e-9 * np.abs(present)  # a gain beyond rounding
        value = np.where(better, reached, value)
        taken = np.append(better[pieces], False)
        best[taken] = there[taken]
    return spread.prolong(best) if (value > present).any() else None
