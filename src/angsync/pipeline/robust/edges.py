"""The measurements that count, in the form in which robust methods ask for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.pipeline.robust.resolution import least_noise
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_count, piece_labels

_MOST_PRECISION = 1e80  # and one over it the least: losses take roots of it, over widths of 1e-6, to the sixth power


@dataclass(frozen=True, eq=False)
class Edges:
    """Measurements of positive strength; ``used`` says where they stand among all."""

    n: int
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    turn: NDArray[np.complex128]
    """``exp(1j * angle)``."""
    strength: NDArray[np.float64]
    """Modulus that the edge adds to C."""
    precision: NDArray[np.float64]
    """Weight over ``unit``, with what rounding takes from it: the variance of a good edge is
    ``scale**2 / precision``."""
    unit: float
    """Median weight. In these units the typical edge has precision 1, whatever the user's units are."""
    used: NDArray[np.int64]
    components: int
    """Number of connected components, isolated nodes not counted."""
    freedom: int
    """Independent cycles: edges minus the phases that they determine. 0 for a forest."""
    floor: float
    """Radians: the least deviation of a good edge of median weight, from the steps of the angles."""
    rounding: NDArray[np.float64]
    """What the errors of rounding, which all edges share, multiply the weights by."""

    @classmethod
    def of(cls, measurements: Measurements) -> Edges:
        used = np.flatnonzero(measurements.strength > 0)
        i, j = measurements.i[used], measurements.j[used]
        weight = measurements.weight[used]
        unit = float(np.median(weight)) if used.size else 1.0
        present = np.zeros(measurements.n, dtype=bool)
        present[i] = present[j] = True
        touched = int(np.count_nonzero(present))
        pieces = piece_count(measurements.n, i, j) - (measurements.n - touched)
        return cls(
            n=measurements.n,
            i=i,
            j=j,
            turn=np.exp(1j * measurements.angle[used]),
            strength=measurements.strength[used],
            precision=np.clip(weight, unit / _MOST_PRECISION, unit * _MOST_PRECISION) / unit,
            unit=unit,
            used=used,
            components=pieces,
            freedom=used.size - (touched - pieces),
            floor=least_noise(measurements.angle[used]),
            rounding=np.ones(used.size),
        )

    def __len__(self) -> int:
        return int(self.i.size)

    def in_order(self) -> Edges:
        """The same edges from the lower node to the higher one and sorted, so that the order in which they were given,
        and their direction, change nothing."""
        turned = self.i > self.j
        low, high = np.minimum(self.i, self.j), np.maximum(self.i, self.j)
        turn = np.where(turned, np.conj(self.turn), self.turn)
        order = np.lexsort((self.strength, self.precision, np.angle(turn), high, low))
        return replace(
            self,
            i=low[order],
            j=high[order],
            turn=turn[order],
            strength=self.strength[order],
            precision=self.precision[order],
            used=self.used[order],
            rounding=self.rounding[order],
        )

    def rounded(self, noise: float) -> Edges:
        """Add the variance of rounding to ``noise**2 / precision``, and keep weight 1 as it is."""
        variance = noise**2 / self.precision + self.floor**2
        factor = (noise**2 * self.unit + self.floor**2) / variance / (self.precision * self.unit)
        precision = self.precision * factor
        middle = float(np.median(precision))
        return replace(
            self,
            precision=precision / middle,
            unit=self.unit * middle,
            strength=self.strength * factor,
            rounding=self.rounding * factor,
        )

    def everywhere(self, factors: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        """Return factors of the edges for all measurements: 1 for those that do not count."""
        found = np.ones(count)
        found[self.used] = factors
        return found

    def are_rounded(self, scale: float) -> bool:
        """Whether rounding makes a quarter of the variance or more. Then residuals lie in heaps, a narrow loss picks
        one of them, and least squares does better: errors of rounding are uniform."""
        return scale <= 2 * self.floor

    def residuals(self, z: NDArray) -> NDArray[np.float64]:
        """Measured minus fitted angle in (-pi, pi]."""
        return np.angle(self.turn * np.conj(z[self.i]) * z[self.j])

    def standardized(self, z: NDArray) -> NDArray[np.float64]:
        """Size of the residuals in units in which good edges have one and the same scale."""
        return np.abs(self.residuals(z)) * np.sqrt(self.precision)

    def matrix(self, weights: NDArray[np.float64]) -> scipy.sparse.csr_array:
        """C with every edge multiplied by its weight."""
        entry = weights * self.strength * self.turn
        rows, columns = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        entries = np.concatenate([entry, np.conj(entry)])
        return scipy.sparse.csr_array((entries, (rows, columns)), shape=(self.n, self.n))


def bonds(edges: Edges, kept: NDArray[np.bool_], doubt: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The least doubtful edges among those not kept that join what would fall apart without them.

    Phases of pieces without a measurement between them cannot be compared, so a piece that only doubtful edges hold
    is better held by the best of them than by none. They form a forest, so they fit exactly and pull at nothing.
    """
    return least_doubtful_forest(edges.n, edges.i, edges.j, kept, doubt)


def least_doubtful_forest(
    n: int, i: NDArray[np.int64], j: NDArray[np.int64], kept: NDArray[np.bool_], doubt: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """As :func:`bonds`, for edges between nodes i and j."""
    chosen = np.zeros(i.size, dtype=bool)
    if kept.all():
        return chosen
    piece = piece_labels(n, i[kept], j[kept])
    count = int(piece.max()) + 1
    a, b = piece[i], piece[j]
    candidates = np.flatnonzero(a != b)
    if candidates.size == 0:
        return chosen
    # one edge, the least doubtful, for every pair of pieces; then the forest of least total doubt
    low, high = np.minimum(a, b)[candidates], np.maximum(a, b)[candidates]
    order = np.lexsort((doubt[candidates], high, low))
    low, high, candidates = low[order], high[order], candidates[order]
    first = np.concatenate([[True], (low[1:] != low[:-1]) | (high[1:] != high[:-1])])
    low, high, candidates = low[first], high[first], candidates[first]
    # csgraph takes 0 for "no edge": ranks start at 1
    rank = np.empty(candidates.size)
    rank[np.argsort(doubt[candidates], kind="stable")] = np.arange(1, candidates.size + 1)
    ends = (low.astype(np.int32), high.astype(np.int32))  # csgraph of scipy 1.13 knows no other indices
    forest = scipy.sparse.csgraph.minimum_spanning_tree(
        scipy.sparse.coo_array((rank, ends), shape=(count, count)).tocsr()
    )
    by_rank = candidates[np.argsort(rank)]
    chosen[by_rank[forest.data.astype(np.int64) - 1]] = True
    return chosen
