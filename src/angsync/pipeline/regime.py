"""What kind of problem it is, and what ``solver="auto"`` does about it: every such question is answered here.

:func:`choose` says which start and which solver, with the sentence that explains it; :func:`one_call_plan` whether one
compiled call can carry that plan out. Which proof is tried first is in :mod:`angsync.certificate.bounds.choice`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from angsync.problem.operators import (
    DenseOperator,
    HermitianOperator,
    augmented,
    has_dominant_diagonal,
    innermost,
    sparse_base,
)
from angsync.solvers import GPM, AcceleratedGPM, Newton
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import is_even
from angsync.solvers.preconditioner import kind_for
from angsync.solvers.starts.entries import readable_matrix
from angsync.solvers.starts.names import CAREFUL, LEADING

if TYPE_CHECKING:
    from angsync.pipeline.call import Call

_DENSE_SHARE = 0.1  # share of filled entries from which C counts as dense
_NOISY = 0.4  # times sqrt n: ratio of sum |C| and f from which one run is not reliable
_LARGE_NODES = 200_000  # from which an eigenvector is not computed, only approached
_PATIENCE_STEPS = 30  # further GPM steps that are thought worth waiting for
_WINDOW_STEPS = 6  # over which the rate of GPM is measured
_ONE_CALL_UP_TO_NODES = 5000  # above, a call would take too long for Ctrl-C, and the products are all that counts
ONE_CALL_MOST_STEPS = 400  # what one call may take; who allows fewer is served by the general loop
_ACCELERATED = AcceleratedGPM()


@dataclass(frozen=True)
class Plan:
    """Starting points to compare, the first solver, the one that takes over when it is slow, and another start."""

    starts: tuple[str, ...]
    solver: SolverBase
    successor: SolverBase | None
    reason: str
    alternative: str | None = None
    """A start to try as well where the point found has measurements that are more than a right angle off."""


def choose(operator: HermitianOperator, row_length: int) -> Plan:
    """The plan for one connected component; costs no product with C, and one search through the graph."""
    n = operator.n
    readable = readable_matrix(operator) is not None
    if augmented(operator) is not None:
        reason = f"C is the Schur complement of a sparse matrix (n = {n}), whose factorisation serves"
        return Plan(("eigenvector",), Newton(), None, reason)
    sparse = sparse_base(operator)
    if sparse is not None and n > 1 and sparse[0].edge_count == n - 1:
        return Plan(("spanning_tree",), Newton(), None, "the graph is a tree, on which every measurement can be met")
    if sparse is None and readable and n > 20:
        return Plan((LEADING,), _ACCELERATED, None, dense_reason(n))
    if sparse is None or has_many_pairs(sparse[0].edge_count, n) or n <= 20:
        reason = dense_reason(n) if readable else f"C is known by its products only (n = {n})"
        return Plan(("eigenvector",), GPM(alpha=math.inf), Newton(), reason)
    search = sparse[0].breadth_first
    kind = kind_for(operator)
    shape = f"n = {n}, at most {row_length} measurements a node, {search.depth} steps across"
    if kind == "direct":
        reason = f"the graph is sparse and mixes slowly ({shape}), and its factorisation is cheap"
        return Plan(("connection_laplacian", "spanning_tree", "multilevel"), Newton(), None, reason, CAREFUL)
    if kind == "multigrid":
        reason = f"the graph is sparse, large and mixes slowly ({shape})"
        return Plan(("multilevel",), Newton(), None, reason, CAREFUL)
    if n > _LARGE_NODES:
        reason = f"the graph is sparse, large and mixes well ({shape})"
        return Plan(("informed_power",), Newton(), None, reason)
    reason = f"the graph is sparse and mixes well ({shape})"
    return Plan(("eigenvector", "normalised_eigenvector", "spanning_tree"), Newton(), None, reason, CAREFUL)


def dense_reason(n: int) -> str:
    """Why the methods for full matrices are taken."""
    return f"C is dense or well connected (n = {n})"


def is_noisy(operator: HermitianOperator, objective: float) -> bool:
    r"""Whether f is so small beside :math:`\sum |C_{jl}|` that one run is not reliable.

    In the Gaussian model :math:`\sum |C_{jl}| \approx \frac{\sqrt\pi}{2} \sigma n^2` and f is about
    :math:`1.2\, n^2` at :math:`\sigma = 0.55 \sqrt n`, where several optima begin to matter: the ratio is then
    :math:`0.4 \sqrt n`.
    """
    sums = operator.abs_row_sums()
    return sums is not None and float(sums.sum()) > _NOISY * math.sqrt(operator.n) * objective


def is_dense(operator: HermitianOperator) -> bool:
    """Whether C is a dense matrix in memory, or a graph with a tenth of all pairs."""
    sparse = sparse_base(operator)
    if sparse is not None:
        return has_many_pairs(sparse[0].edge_count, operator.n)
    return isinstance(innermost(operator)[0], DenseOperator)


def has_many_pairs(pairs: int, n: int) -> bool:
    """Whether so many measured pairs of n nodes are best treated as a dense matrix."""
    return 2 * pairs >= _DENSE_SHARE * n**2


def is_mostly_zero(matrix: NDArray) -> bool:
    """Whether a full array has so few entries that it is a graph; a full matrix is recognised by a few rows."""
    n = matrix.shape[0]
    some = matrix[:: max(1, n // 16)]
    if np.count_nonzero(some) > 0.5 * some.size:
        return False
    return np.count_nonzero(matrix) < _DENSE_SHARE * n**2


def one_call_plan(operator: HermitianOperator, call: Call) -> Plan | None:
    """The plan where one compiled call carries it out, from start to gauge; None where it does not.

    That call knows one start and one solver, looks at no clock and tells no callback, and takes an ordinary matrix.
    """
    if (
        call.solver is not None
        or call.callback is not None
        or call.gauge != "first"
        or not call.is_free_to_start_anywhere
        or call.stopping.max_seconds is not None
        or call.stopping.max_iterations < ONE_CALL_MOST_STEPS
        or not call.stopping.tolerance_for(operator.dtype) > 0
        or not _is_ordinary(operator)
    ):
        return None
    plan = choose(operator, operator.n)
    return plan if plan.solver is _ACCELERATED and plan.starts == (LEADING,) else None


def _is_ordinary(operator: HermitianOperator) -> bool:
    """A dense complex128 matrix that was found good in one pass, whose first row is full, and not real.

    The diagonal does not drown the rest, and rows are not so uneven that the light ones have to be looked at.
    """
    if not isinstance(operator, DenseOperator) or not operator.is_inspected or operator.n > _ONE_CALL_UP_TO_NODES:
        return False
    row = operator.matrix[0]
    return bool(
        np.count_nonzero(row[1:]) == row.size - 1
        and np.count_nonzero(row.imag) > 0
        and is_even(operator.abs_row_sums())
        and not has_dominant_diagonal(operator)
    )


def is_slow(tolerance: float) -> Callable[[list[float], list[float]], bool]:
    """A rule for ``give_up``: GPM went down, or its rate promises more than a few dozen steps."""

    def rule(objectives: list[float], residuals: list[float]) -> bool:
        if len(objectives) < 3:
            return False
        if objectives[-1] < objectives[-2] - 1e-12 * abs(objectives[-2]):
            return True
        if len(residuals) <= _WINDOW_STEPS or residuals[-1] <= 0:
            return False
        rate = (residuals[-1] / residuals[-1 - _WINDOW_STEPS]) ** (1 / _WINDOW_STEPS)
        if rate >= 1:
            return True
        return math.log(max(tolerance, 1e-300) / residuals[-1]) / math.log(rate) > _PATIENCE_STEPS

    return rule
