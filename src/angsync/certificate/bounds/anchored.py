r"""S without one node, scaled by its degrees, and what its Cholesky factorization proves: deterministic.

Let D be positive and diagonal, its entries powers of four near the row sums of :math:`|C|`, so that the scaling is
exact, and :math:`\hat A` the stored matrix :math:`\mathrm{fl}(D^{-1/2} S D^{-1/2} - \mu I)` without row and column r.

**Lemma.** If a Cholesky factorization of :math:`\hat A` in floating point runs to its end, by fronts, in any order of
the sums, then :math:`\hat A + E = L L^H` with
:math:`|E_{ij}| \le \sqrt 2\, \gamma_{2 k_i + 8} (|L||L|^T)_{ij}`, where :math:`k_i` is the number of entries of row
i of L that are not 0. Hence

.. math:: \|E\|_2 \le \varepsilon := \max_i \sqrt 2\, \gamma_{2 k_i + 8} (|L||L|^T 1)_i
          \quad\text{and}\quad x^H D^{-1/2} S D^{-1/2} x \ge \nu \|x\|^2,\ x_r = 0, \quad
          \nu = \mu - \varepsilon - 3u \max_j \big(2(|s_j| + |C_{jj}|)/D_{jj} + |\mu|\big).

*Proof.* Entry (i, j), i >= j, of L is :math:`a_{ij} - \sum_k l_{ik} \bar l_{jk}`, divided by :math:`l_{jj}`, or its
root. Real and imaginary part are sums of at most :math:`2 k_{ij} + 1` real terms in some binary tree (inside BLAS, and
from front to front; a product with a stored zero is 0, and to add 0 is exact). Divide by the roundings that
:math:`a_{ij}` passes: every term is left with at most :math:`2 k_{ij}` of them and one of its own, the last one with
those of the division (or of the product with a rounded reciprocal) or of the root, four at the most (Higham, *Accuracy
and Stability of Numerical Algorithms*, 2nd ed., Lemma 8.4 and Theorem 10.3). As
:math:`|\Re l_{ik}||\Re l_{jk}| + |\Im l_{ik}||\Im l_{jk}| \le |l_{ik}||l_{jk}|`, and the same for the mixed products,
both parts of :math:`E_{ij}` are at most :math:`\gamma_{2k_{ij}+8} (|L||L|^T)_{ij}`. E is Hermitian,
:math:`k_{ij} \le \min(k_i, k_j)`, and a Hermitian matrix has no eigenvalue beyond its largest row sum.
(Row by row, as :math:`2 |x_i x_j| \le |x_i|^2 + |x_j|^2`, :math:`|x^H E x| \le \sum_i \varepsilon_i |x_i|^2`.)
:math:`L L^H \succeq 0`. Forming :math:`\hat A` takes two subtractions on the diagonal; all else is exact, but for
underflow, which is less than :math:`10^{-290}`. QED.

It is assumed, as for ``method="cholesky"``, that BLAS and LAPACK use conventional arithmetic: no Strassen, and inside
triangular solves at most reciprocals of single pivots. OpenBLAS does.

The factor itself is not needed: its row sums are complete when the last front is done. In the code row and column r
stay, as those of the identity, which changes nothing for the other rows.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.rounding import UNIT_ROUNDOFF
from angsync.kernels.sparse.fronts_reference import Entries, Plan, Run
from angsync.uncertainty.resistance.dissection import Dissection, dissect

_NEARLY_EQUAL = 16.0  # times the smallest degree: up to which the largest one may stand for all
_NOBODY = -1  # in place of a node that is left out
_UNDERFLOW = 1e-290  # more than all numbers that may have underflowed, together
_ROUNDED_UP = 1 + 1e-6  # for the rounding of the sums themselves, which have no negative terms: below gamma of 1e9


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one factorization at a shift shows."""

    value: float
    """Proved: x^H D^{-1/2} S D^{-1/2} x >= value for unit x with x_r = 0; -inf where a pivot was not positive."""
    run: Run
    rows: NDArray[np.float64]
    """Proved for the same x, by nodes: x^H D^{-1/2} S D^{-1/2} x >= sum rows_j |x_j|^2. At most nodes it is larger."""


class AnchoredMatrix:
    """D^{-1/2} S D^{-1/2} with one node left out, to be factorized at any shift. S is Diag(s) - C."""

    def __init__(self, C: scipy.sparse.csr_array, s: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
        """``sums``: about the row sums of |C|. Nodes beyond the length of s have an s of 0, and are never left out."""
        self.C, self.order, self.phases = C, int(C.shape[0]), s.size
        self.s = np.concatenate([s, np.zeros(self.order - s.size)])
        positive = sums[sums > 0]
        # powers of four: their roots are powers of two
        self.weights = 4.0 ** np.round(np.log2(np.where(sums > 0, sums, positive.min(initial=1.0))) / 2)
        if self.weights.max() <= _NEARLY_EQUAL * self.weights.min():
            # one for all: then the bound is one on the eigenvalues of S itself
            self.weights[:] = self.weights.max()
        self.root = np.sqrt(self.weights)
        self.forming = 0.0  # what else the entries of D^{-1/2} C D^{-1/2} lack, as a 2-norm
        self.form: Dissection | None = None
        self.left_out = 0

    def plan(self, *, largest_front: int) -> bool:
        """Order the elimination; False where a front would be too large."""
        self.form = dissect(self.C, largest=largest_front)
        if self.form is None:
            return False
        # Of the phases with the largest weights, held by which the rest moves least, the one that would be eliminated
        # last: a hub where there is one, otherwise a node in the middle.
        phases = self.form.order[self.form.order < self.phases]
        self.left_out = int(phases[self.weights[phases] == self.weights[: self.phases].max()][-1])
        return True

    @cached_property
    def _plan(self) -> Plan:
        form = self.form
        assert form is not None
        place = np.empty(self.order, dtype=np.int64)
        place[form.order] = np.arange(self.order)
        lengths = np.fromiter((rows.size for rows in form.rows), dtype=np.int64, count=len(form.rows))
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        return Plan(form.order, place, form.starts, bounds, np.concatenate(form.rows), form.parent)

    @cached_property
    def _entries(self) -> Entries:
        indptr, indices = (np.ascontiguousarray(x, dtype=np.int32) for x in (self.C.indptr, self.C.indices))
        return Entries(indptr, indices, np.ascontiguousarray(self.C.data), 1 / self.root, self.s, self.left_out)

    def at(self, shift: float, *, keep: bool) -> Outcome:
        """Factorize at this shift; with ``keep`` the factor stays, for :meth:`solve`."""
        entries = self._entries._replace(diagonal=self._diagonal(shift))
        run = kernels.fronts_factorize(entries, self._plan, keep=keep)
        if run.failed >= 0:
            return Outcome(-math.inf, run, np.full(self.order, -math.inf))
        own = self.C.diagonal().real
        terms = (2 * run.terms + 8) * UNIT_ROUNDOFF
        error = np.empty(self.order)
        error[self._plan.order] = math.sqrt(2) * terms / (1 - terms) * run.sums * _ROUNDED_UP
        size = float((2 * (np.abs(self.s) + np.abs(own)) / self.weights).max()) + abs(shift)
        forming = 3 * UNIT_ROUNDOFF * size + self.forming + _UNDERFLOW
        return Outcome(shift - float(error.max()) - forming, run, shift - error - forming)

    def _diagonal(self, shift: float) -> NDArray[np.float64]:
        diagonal: NDArray = (self.s / self.weights - self.C.diagonal().real / self.weights) - shift
        if self.left_out != _NOBODY:
            diagonal[self.left_out] = 1.0
        return diagonal

    def whole(self, s: NDArray[np.float64]) -> AnchoredMatrix:
        """The same with another s and no node left out, in the same order: the lemma holds as it stands.

        The result is there to be factorized, and for nothing else.
        """
        other = copy.copy(self)
        other.s, other.left_out = s, _NOBODY
        other.__dict__.pop("_entries", None)  # made for the node that was left out
        return other

    def solve(self, run: Run, b: NDArray) -> NDArray[np.complex128]:
        """The inverse of the matrix that was factorized on b (0 where the node is left out), by nodes."""
        assert run.kept is not None
        right = np.where(np.arange(self.order) == self.left_out, 0, b)[self._plan.order]
        x = np.empty(self.order, dtype=np.complex128)
        x[self._plan.order] = kernels.fronts_solve(self._plan, run.kept, right, self.order)
        return x

    def downwards(self, run: Run, plan: Plan | None = None) -> NDArray[np.complex128]:
        r"""A vector with :math:`x^H \hat A x \le 0`, but for rounding, where a pivot was not positive.

        With a the column of that pivot p above it, :math:`x = (-\hat A_{<p}^{-1} a, 1)` gives the pivot itself.
        ``plan``: that of the run, where it is a part of the whole one.
        """
        assert run.kept is not None
        plan = self._plan if plan is None else plan
        node = plan.order[run.failed]
        row = slice(self.C.indptr[node], self.C.indptr[node + 1])
        others = self.C.indices[row]
        column = np.zeros(plan.order.size, dtype=np.complex128)
        used = (others != self.left_out) & (others != node) & (plan.place[others] >= 0)
        scale = self.root[node] * self.root[others[used]]
        column[plan.place[others[used]]] = -np.conj(self.C.data[row][used]) / scale
        x = np.zeros(self.order, dtype=np.complex128)
        x[plan.order] = -kernels.fronts_solve(plan, run.kept, column, run.failed)
        x[node] = 1.0
        return x

    def downwards_again(self, shift: float, failed: int, *, most_numbers: int) -> NDArray[np.complex128] | None:
        """The same vector where the factor was not kept: what the failed pivot depends on is factorized once more.

        These are the blocks below its own in the tree of the elimination; on a graph with a local defect they are few.
        None where their factor is too large to keep, or where this time, by rounding, the pivot is positive.
        """
        plan = part_below(self._plan, int(np.searchsorted(self._plan.starts, failed, side="right")) - 1)
        if plan.offsets[-1] > most_numbers:
            return None
        run = kernels.fronts_factorize(self._entries._replace(diagonal=self._diagonal(shift)), plan, keep=True)
        return None if run.failed < 0 else self.downwards(run, plan)

    def image(self, x: NDArray) -> NDArray[np.complex128]:
        """D^{-1/2} S D^{-1/2} x; the entry of the node left out is set to 0."""
        y = x / self.root
        image = (self.s * y - self.C @ y) / self.root
        image[self.left_out] = 0
        return image


def part_below(plan: Plan, block: int) -> Plan:
    """The plan of this block and of all below it in the tree: columns and rows of nothing else; places count anew.

    No other block adds to these columns, so that the factor is the same there. Nodes elsewhere have the place -1.
    """
    inside = np.zeros(plan.parent.size, dtype=bool)
    inside[block] = True
    for b in range(block - 1, -1, -1):  # parents come after their children
        inside[b] = plan.parent[b] >= 0 and inside[plan.parent[b]]
    blocks = np.flatnonzero(inside)
    widths = np.diff(plan.starts)
    old = np.flatnonzero(np.repeat(inside, widths))
    new = np.full(plan.order.size + 1, -1, dtype=np.int64)  # the last one is for the anchor, which is nowhere here
    new[old] = np.arange(old.size)
    place = np.full(plan.place.size, -1, dtype=np.int64)
    place[plan.order[old]] = np.arange(old.size)
    rows = [new[plan.rows[plan.bounds[b] : plan.bounds[b + 1] - 1]] for b in blocks]
    rows = [np.append(one[one >= 0], old.size) for one in rows]
    bounds = np.concatenate([[0], np.cumsum([one.size for one in rows])])
    numbers = np.cumsum(inside) - 1
    parent = np.where(plan.parent[blocks] >= 0, numbers[plan.parent[blocks]], -1)
    parent[-1] = -1
    starts = np.concatenate([[0], np.cumsum(widths[blocks])])
    return Plan(plan.order[old], place, starts, bounds, np.concatenate(rows), parent)
