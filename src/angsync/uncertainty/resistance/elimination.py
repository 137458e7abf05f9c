r"""Elimination without subtraction, and the selected inverse that follows from it.

Eliminating node j of an electrical network with conductances c (star-mesh transformation) leaves

.. math:: c_{kl} \leftarrow c_{kl} + c_{jk} p_l, \qquad p_l = c_{jl} / s_j, \qquad s_j = \sum_{l} c_{jl}.

That is Gaussian elimination of the weighted Laplacian, :math:`L = (I - P) S (I - P)^T` with P strictly lower
triangular, but its pivots are sums of positive numbers: nothing cancels, and conductances over any number of orders
of magnitude keep all their digits (Grassmann, Taksar and Heyman 1985; Alfa, Xue and Ye, *Math. Comp.* 71, 2002).

Effective resistances come back in the opposite order. For the node j and any k that is eliminated after it

.. math:: R_{jk} = \frac1{s_j} + (p^T R)_k - \tfrac12\, p^T R\, p ,

which needs R only on the neighbors that j had when it was eliminated. This is the recursion of Takahashi, Fagan and
Chen (1973) for the entries of the inverse on the pattern of the factor, written for
:math:`R_{jk} = Z_{jj} + Z_{kk} - 2 Z_{jk}`. The difference is harmless: :math:`p_k p_l R_{kl} \le (p_k + p_l)/s_j`,
so the subtracted term is at most (number of neighbors) / s_j, while the answer is at least 1 / s_j. (Forming R from Z
would lose all digits where both ends are far from the anchor.)

Blocks of columns are treated together, as dense matrices (multifrontal method: Duff and Reid 1983).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import blas

from angsync.kernels.time_limit import check
from angsync.uncertainty.resistance.dissection import Dissection

_PANEL_COLUMNS = 16  # columns that are treated one by one between two matrix products
_NO_PANELS_UP_TO_ORDER = 64  # fronts up to this order are treated without panels
_WIDE_PANELS_ABOVE_ORDER = 512  # fronts above this order have wide panels


class Elimination:
    """The factor of a network with one anchor: ``graph`` holds the conductances between the other nodes.

    Memory: ``dissection.fill`` numbers, and the fronts of one branch of the elimination tree while it is made.
    """

    def __init__(self, graph: scipy.sparse.csr_array, to_anchor: NDArray[np.float64], dissection: Dissection) -> None:
        self.dissection = dissection
        order = dissection.order
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        permuted = graph[order]
        columns = place[permuted.indices]
        source = np.repeat(np.arange(order.size), np.diff(permuted.indptr))
        upper = columns > source  # every pair once, with the end that is eliminated first
        self._pointers = np.concatenate([[0], np.cumsum(np.bincount(source[upper], minlength=order.size))])
        self._sources, self._columns = source[upper], columns[upper]
        self._values = permuted.data[upper]
        self._to_anchor = to_anchor[order]
        self.pivots = np.empty(order.size)
        self.transitions: list[NDArray[np.float64]] = []
        self._factorize()

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Potentials (0 at the anchor) for these currents into the nodes, one column each."""
        form = self.dissection
        x = np.zeros((form.order.size + 1, *right.shape[1:]))
        x[:-1] = right[form.order]
        for block, transition in enumerate(self.transitions):
            begin, end = form.starts[block], form.starts[block + 1]
            within, beyond = transition[:, : end - begin], transition[:, end - begin :]
            x[begin:end] = _unit_solve(within, x[begin:end], transposed=False)
            x[form.rows[block]] += beyond.T @ x[begin:end]
        x[-1] = 0
        x[:-1] /= self.pivots.reshape(-1, *([1] * (right.ndim - 1)))
        for block in range(len(self.transitions) - 1, -1, -1):
            begin, end = form.starts[block], form.starts[block + 1]
            within, beyond = self.transitions[block][:, : end - begin], self.transitions[block][:, end - begin :]
            x[begin:end] += beyond @ x[form.rows[block]]
            x[begin:end] = _unit_solve(within, x[begin:end], transposed=True)
        potentials = np.empty_like(x[:-1])
        potentials[form.order] = x[:-1]
        return potentials

    def resistances(self) -> tuple[NDArray[np.float64], tuple[NDArray, NDArray, NDArray[np.float64]]]:
        """Resistance of every node to the anchor, and (node, node, resistance) of every pair in the graph."""
        form = self.dissection
        to_anchor = np.zeros(form.order.size + 1)
        pairs = np.empty(self._columns.size)
        waiting = np.bincount(form.parent[form.parent >= 0], minlength=len(form.rows))
        fronts: dict[int, NDArray[np.float64]] = {}
        for block in range(len(form.rows) - 1, -1, -1):
            check()
            begin, end = int(form.starts[block]), int(form.starts[block + 1])
            rows, width = form.rows[block], end - begin
            front = np.zeros((width + rows.size, width + rows.size))
            parent = int(form.parent[block])
            if parent >= 0:
                inside = _inside(rows, form, parent)
                front[width:, width:] = fronts[parent][inside[:, None], inside]
                waiting[parent] -= 1
                if not waiting[parent]:
                    del fronts[parent]
            _expand(front, self.transitions[block], self.pivots[begin:end])
            if waiting[block]:
                fronts[block] = front
            to_anchor[begin:end] = front[:width, -1]
            chosen = slice(self._pointers[begin], self._pointers[end])
            pairs[chosen] = front[self._sources[chosen] - begin, _inside(self._columns[chosen], form, block)]
        nodes = np.empty(form.order.size)
        nodes[form.order] = to_anchor[:-1]
        return nodes, (form.order[self._sources], form.order[self._columns], pairs)

    def _factorize(self) -> None:
        form = self.dissection
        updates: list[list[tuple[NDArray, NDArray[np.float64]]]] = [[] for _ in form.rows]
        for block, rows in enumerate(form.rows):
            check()
            begin, end = int(form.starts[block]), int(form.starts[block + 1])
            width = end - begin
            front = np.zeros((width + rows.size, width + rows.size))
            chosen = slice(self._pointers[begin], self._pointers[end])
            first, second = self._sources[chosen] - begin, _inside(self._columns[chosen], form, block)
            front[first, second] = self._values[chosen]  # above the diagonal: that is all that is read
            front[:width, -1] = self._to_anchor[begin:end]
            for child_rows, update in updates[block]:
                inside = _inside(child_rows, form, block)
                front[inside[:, None], inside] += update
            updates[block] = []
            transition = np.zeros((width, front.shape[0]))
            _eliminate(front, transition, self.pivots[begin:end])
            self.transitions.append(transition)
            parent = int(form.parent[block])
            if parent >= 0:
                updates[parent].append((rows, front[width:, width:].copy()))


def _inside(places: NDArray[np.int64], form: Dissection, block: int) -> NDArray[np.int64]:
    """Where these places are in the front of a block: its own nodes first, then its rows."""
    begin, end = form.starts[block], form.starts[block + 1]
    return np.where(places < end, places - begin, end - begin + np.searchsorted(form.rows[block], places))


def _panel(width: int, size: int) -> int:
    """Columns between two matrix products: more for large fronts, where a product takes long to read its matrix."""
    return width if size <= _NO_PANELS_UP_TO_ORDER else _PANEL_COLUMNS * (1 if size <= _WIDE_PANELS_ABOVE_ORDER else 4)


def _eliminate(front: NDArray[np.float64], transition: NDArray[np.float64], pivots: NDArray[np.float64]) -> None:
    """Eliminate the first nodes of a front in place. Its diagonal and what is below it hold nothing."""
    width, size = transition.shape
    step = _panel(width, size)
    for start in range(0, width, step):
        stop = min(start + step, width)
        for j in range(start, stop):
            row = front[j, j + 1 :]
            pivots[j] = total = np.add.reduce(row)
            shares = np.divide(row, total, out=transition[j, j + 1 :])
            if j + 1 < stop:
                front[j + 1 : stop, j + 1 :] += shares[: stop - j - 1, None] * row
        front[stop:, stop:] += transition[start:stop, stop:].T @ front[start:stop, stop:]


def _expand(front: NDArray[np.float64], transition: NDArray[np.float64], pivots: NDArray[np.float64]) -> None:
    """Resistances of the first nodes of a front to all its later ones, which are known among themselves."""
    width, size = transition.shape
    step = _panel(width, size)
    for start in range(((width - 1) // step) * step, -1, -step):
        stop = min(start + step, width)
        averages = transition[start:stop, stop:] @ front[stop:, stop:]
        for j in range(stop - 1, start - 1, -1):
            near, shares = stop - j - 1, transition[j, j + 1 :]
            known = shares[:near] @ front[j + 1 : stop, j + 1 :]
            known[near:] += averages[j - start]
            known[:near] += front[j + 1 : stop, stop:] @ shares[near:]
            known += 1 / pivots[j] - 0.5 * (shares @ known)
            front[j, j + 1 :] = known
            front[j + 1 :, j] = known


def _unit_solve(within: NDArray[np.float64], right: NDArray[np.float64], *, transposed: bool) -> NDArray[np.float64]:
    """Solve (I - P) x = b or its transpose; ``within`` is P^T, strictly upper triangular, inside a block."""
    # the transpose of a row-ordered array is what BLAS takes without a copy
    if right.ndim == 1:
        return blas.dtrsv(-within.T, right, lower=1, trans=int(transposed), diag=1)
    return blas.dtrsm(1.0, -within.T, right, lower=1, trans_a=int(transposed), diag=1)
