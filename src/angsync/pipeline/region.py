r"""A part of a large graph as a problem of its own: everything outside is one rigid node, the **ground**.

With P the matrix that spreads the phases of the part and of the ground over all nodes, in the gauge of the present z,
:math:`w^H (P^H C P) w` is a small problem of the same kind, and w = 1 is the present point. What its objective gains,
the whole problem gains too. Without the ground the part falls into pieces, which have no measurement between them: f is
a sum over the pieces, and of several solutions the best is taken piece by piece.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.problem.operators import ScaledOperator, SparseOperator, normalizing_exponent
from angsync.solvers import Newton
from angsync.solvers.hierarchy import Aggregation, contract
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock, Stopping

_SOLVE = Stopping(tolerance=1e-8, max_iterations=60)  # the whole problem is polished afterwards
_GAIN = 1e-9  # relative to f of a piece: more than rounding


class Region:
    """The nodes chosen, with the ground as the last node, in the gauge of z."""

    def __init__(self, base: SparseOperator, z: NDArray, chosen: NDArray[np.bool_]) -> None:
        count = int(chosen.sum())
        label = np.full(base.n, count, dtype=np.int32)
        label[chosen] = np.arange(count, dtype=np.int32)
        self.label = label
        self._spread = Aggregation(count + 1, label, z.astype(np.complex128))
        self.edges = contract(base.edges, self._spread)
        matrix = self.edges.to_csr()
        matrix.eliminate_zeros()
        inner = SparseOperator(scipy.sparse.csr_array(matrix))
        self.is_connected = inner.breadth_first.order.size == inner.n
        """Measurements that cancel may split the neighborhood: then nothing here holds."""
        self.operator = ScaledOperator(inner, normalizing_exponent(inner))
        self.pieces = scipy.sparse.csgraph.connected_components(abs(matrix[:count, :count]), directed=False)[1]
        # every edge has an end outside the ground
        self.owner = np.append(self.pieces, -1)[np.stack([self.edges.i, self.edges.j])].max(axis=0)
        self.best = np.ones(count + 1, dtype=np.complex128)
        self.value = self.present = self.values(self.best)

    def values(self, w: NDArray) -> NDArray[np.float64]:
        """What every piece adds to f."""
        edges = self.edges
        found: NDArray = np.bincount(self.owner, (np.conj(w[edges.i]) * edges.value * w[edges.j]).real)
        return found

    def solved_from(self, w: NDArray, clock: Clock) -> None:
        """Take the local optimum from these phases into account."""
        self.compare(iterate(self.operator, Newton(), w, _SOLVE, clock=clock).unless_interrupted().z)

    def compare(self, found: NDArray) -> None:
        """Keep the pieces that are better in these phases, turned so that the ground is where it was."""
        found = found * np.conj(found[-1])
        reached = self.values(found)
        better = reached > self.value + _GAIN * np.abs(self.present)
        self.value = np.where(better, reached, self.value)
        taken = np.append(better[self.pieces], False)
        self.best[taken] = found[taken]

    @property
    def improved(self) -> NDArray | None:
        """The phases of all nodes with the best of every piece; None where none is better than it was."""
        return self._spread.prolong(self.best) if (self.value > self.present).any() else None
