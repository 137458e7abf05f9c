r"""How much better another point can be where S is not semidefinite: its diagonal is raised until it is.

**Theorem.** Let y be any real numbers and :math:`e_j \ge 0` with
:math:`\mathrm{Diag}(y) - C \succeq -\mathrm{Diag}(e)`. Then :math:`f^* \le \sum_j (y_j + e_j)`.

*Proof.* For w in :math:`T^n`, :math:`f(w) = \sum_j y_j - w^H (\mathrm{Diag}(y) - C) w` and
:math:`w^H \mathrm{Diag}(e) w = \sum_j e_j`. QED.

With y = s the matrix is S, and is not semidefinite. With :math:`y_j = \sum_l |C_{jl}|` it is (its rows are dominated
by their diagonal), and the bound is the misfit. Between the two, y is raised most where measurements do not fit:

.. math:: y_j = s_j + q\, m_j (r_j / \max r)^{p-1}, \qquad m_j = \sum_l |C_{jl}| - s_j,\quad
          r_j = m_j / \sum_l |C_{jl}|.

S is negative around a few nodes that fit worst, so that little has to be paid elsewhere; p = 4 is better where these
are few, p = 2 where they are many. The least q is looked for by some factorizations, each of which is a proof with its
rounding accounted for (:mod:`angsync.certificate.bounds.anchored`, no node left out). The semidefinite relaxation says
what the best y would give, for a far larger price.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.anchored import AnchoredMatrix
from angsync.kernels.time_limit import OutOfTime, check

_POWERS = (4, 2)
_FIRST_FACTOR = 1.0  # q that is tried first
_LARGEST_FACTOR = 64.0  # beyond, the misfit itself is the better bound
_HALVINGS = 4  # of the range in which the least q lies: the gap is within a few per cent of the least one
_FEW_HALVINGS_FROM_NODES, _FEW_HALVINGS = 300_000, 2  # where a factorization takes seconds
_ROUNDED_UP = 1 + 1e-12  # sums of some million positive numbers, in any order


def raised_gap(matrix: AnchoredMatrix, sums: NDArray[np.float64]) -> float:
    """Proved: f* is at most this much above the sum of the s_j of the matrix; infinite where nothing was proved.

    ``sums``: the sums of |C| in every row, the diagonal with its sign. The order of elimination of the matrix is used.
    What is proved when the time is out counts.
    """
    misfits = np.maximum(sums - matrix.s, 0.0)
    shares = np.divide(misfits, sums, out=np.zeros_like(misfits), where=sums > 0)
    largest, best = float(shares.max(initial=0.0)), math.inf
    if not 0 < largest < math.inf:
        return best
    try:
        for power in _POWERS:
            for gap in _gaps(matrix, misfits * (shares / largest) ** (power - 1)):
                best = min(best, gap)
    except OutOfTime:
        pass
    return best


def _gaps(matrix: AnchoredMatrix, shape: NDArray[np.float64]) -> Iterator[float]:
    """The gaps that factorizations prove with the diagonal raised along ``shape``, less and less of it."""
    below, above = 0.0, _FIRST_FACTOR
    while (gap := _gap_at(matrix, matrix.s + above * shape)) == math.inf:
        below, above = above, 4 * above
        if above > _LARGEST_FACTOR:
            return
    yield gap
    for _ in range(_HALVINGS if matrix.order < _FEW_HALVINGS_FROM_NODES else _FEW_HALVINGS):
        factor = (below + above) / 2 if below else above / 4
        gap = _gap_at(matrix, matrix.s + factor * shape)
        yield gap
        below, above = (factor, above) if gap == math.inf else (below, factor)


def _gap_at(matrix: AnchoredMatrix, y: NDArray[np.float64]) -> float:
    """Sum of y_j + e_j - s_j, where the factorization at y runs to its end; infinite where it does not."""
    check()
    outcome = matrix.whole(y).at(0.0, keep=False)
    if outcome.run.failed >= 0:
        return math.inf
    lacking = float((np.maximum(-outcome.rows, 0.0) * matrix.weights).sum()) * _ROUNDED_UP
    return math.fsum(y) - math.fsum(matrix.s) + lacking
