r"""Offsets without a period: which period to work with, and the whole turns afterwards.

Synchronization works on a circle, so offsets that do not wrap need a period T of our own choice. The offsets of all
clocks along a spanning tree are taken off first; what is left of a link is the sum of the noise around one cycle,
however far apart the clocks are. T is chosen so that the noise is a thousandth of a radian: then :math:`2 - 2\cos r`
and
:math:`r^2` differ by :math:`r^2 / 12`, one part in ten million, and the answer is that of least squares. A wrong
link may still be longer than T. It wraps, which makes it no less wrong, and is told by its whole turns.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from angsync.problem.pieces import piece_labels

NOISE = 1e-3
"""Radians: the noise of a link of our own period."""
LEAST_NOISE = 3e-5
"""Radians: with less the period was too long (wrong links in most cycles), and a shorter one is taken."""
_LARGEST = 0.03  # radians: of the largest residual, where no link may be given up
_QUANTILE, _OF_NORMAL = 0.25, 0.31864  # of the cycles: most may hold a wrong link; and of |x| for a normal x
_WIDEST = 20.0  # standard deviations of the least certain link in a period
_ROUNDING = 1e-13  # of the largest offset: noise below it is none


class Forest:
    """A spanning tree of every component, breadth first: for each clock the link to its parent."""

    def __init__(self, n: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> None:
        key, link = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True)
        labels = piece_labels(n, i, j)
        degree = np.bincount(np.concatenate([i, j]), minlength=n)
        by_degree = np.argsort(-degree, kind="stable")
        roots = by_degree[np.unique(labels[by_degree], return_index=True)[1]]
        rows = np.concatenate([key // n, np.full(roots.size, n)])  # one more node, which holds all the roots
        columns = np.concatenate([key % n, roots])
        graph = scipy.sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n + 1, n + 1))
        order, parent = breadth_first_order(graph, n, directed=False)
        self.order, self.parent = order[1:], parent[:n]
        child = np.flatnonzero(self.parent < n)
        at = np.searchsorted(key, np.minimum(child, self.parent[child]) * n + np.maximum(child, self.parent[child]))
        self.link = np.full(n, -1)
        self.link[child] = link[at]
        self._ahead = np.ones(n)  # 1 where the child is the first end of its link
        self._ahead[child] = np.where(i[self.link[child]] == child, 1.0, -1.0)

    def potential(self, difference: NDArray[np.float64]) -> NDArray[np.float64]:
        """x with ``x_i - x_j`` equal to the difference on every link of the tree, and 0 at the roots."""
        step = np.where(self.link >= 0, self._ahead * difference[self.link], 0.0)
        return self._summed(step)

    def along(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of a value of every link from the root to each clock."""
        return self._summed(np.where(self.link >= 0, value[self.link], 0.0))

    def _summed(self, step: NDArray[np.float64]) -> NDArray[np.float64]:
        total, steps, parents = [0.0] * (step.size + 1), step.tolist(), self.parent.tolist()
        for node in self.order.tolist():
            total[node] = total[parents[node]] + steps[node]
        return np.array(total[:-1])


def first_period(
    forest: Forest,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    offset: NDArray[np.float64],
    left: NDArray[np.float64],
    sigma: NDArray[np.float64],
    is_absolute: bool,
    robust: bool,
) -> float:
    """A period for these links, of which ``left`` is left beside the tree; sigma may be relative.

    The noise comes from the cycles that each link closes with the tree: a low quantile of them, since a wrong link is
    in many.
    """
    path = forest.along(sigma**2)
    outside = np.ones(offset.size, dtype=bool)
    outside[forest.link[forest.link >= 0]] = False
    reference = float(np.median(sigma))
    size = float(np.abs(offset).max())
    noise = 0.0
    if outside.any():
        closure = np.abs(left)[outside] / np.sqrt((path[i] + path[j] + sigma**2)[outside])
        noise = reference * float(np.quantile(closure, _QUANTILE)) / _OF_NORMAL
    noise = max(noise, _ROUNDING * size, reference if is_absolute else 0.0)
    period = 2 * np.pi * noise / NOISE
    if not robust:
        period = max(period, 2 * np.pi * float(np.abs(left).max()) / _LARGEST)
    if outside.any():
        period = max(period, _WIDEST * noise * float(sigma.max()) / reference)
    return period if period > 0 else 1.0


def is_exact(residual: NDArray[np.float64], offset: NDArray[np.float64]) -> bool:
    """Whether residuals are rounding: then no shorter period helps."""
    return float(np.abs(residual).max(initial=0.0)) <= _ROUNDING * float(np.abs(offset).max())
