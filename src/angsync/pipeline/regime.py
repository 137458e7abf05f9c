"""``solver="auto"``: which method for which problem, and the sentence that explains it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from angsync.problem.operators import HermitianOperator, augmented, sparse_base
from angsync.solvers import GPM, AcceleratedGPM, Newton
from angsync.solvers.base import Solver
from angsync.solvers.preconditioner import kind_for
from angsync.solvers.starts.start import readable_matrix

_DENSE_SHARE = 0.1  # share of filled entries from which C counts as dense
_LARGE = 200_000  # nodes from which an eigenvector is not computed, only approached
_PATIENCE = 30  # further GPM steps that are thought worth waiting for
_WINDOW = 6  # steps over which the rate of GPM is measured


@dataclass(frozen=True)
class Plan:
    """Starting points to compare, the first solver, the one that takes over when it is slow, and another start."""

    starts: tuple[str, ...]
    solver: Solver
    successor: Solver | None
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
        return Plan(("leading",), AcceleratedGPM(), None, dense_reason(n))
    if sparse is None or 2 * sparse[0].edge_count >= _DENSE_SHARE * n**2 or n <= 20:
        reason = dense_reason(n) if readable else f"C is known by its products only (n = {n})"
        return Plan(("eigenvector",), GPM(alpha=math.inf), Newton(), reason)
    search = sparse[0].breadth_first
    kind = kind_for(operator)
    shape = f"n = {n}, at most {row_length} measurements a node, {search.depth} steps across"
    if kind == "direct":
        reason = f"the graph is sparse and mixes slowly ({shape}), and its factorisation is cheap"
        return Plan(("connection_laplacian", "spanning_tree", "multilevel"), Newton(), None, reason, "careful")
    if kind == "multigrid":
        reason = f"the graph is sparse, large and mixes slowly ({shape})"
        return Plan(("multilevel",), Newton(), None, reason, "careful")
    if n > _LARGE:
        reason = f"the graph is sparse, large and mixes well ({shape})"
        return Plan(("informed_power",), Newton(), None, reason)
    reason = f"the graph is sparse and mixes well ({shape})"
    return Plan(("eigenvector", "normalised_eigenvector", "spanning_tree"), Newton(), None, reason, "careful")


def dense_reason(n: int) -> str:
    """Why the methods for full matrices are taken."""
    return f"C is dense or well connected (n = {n})"


def is_slow(tolerance: float) -> Callable[[list[float], list[float]], bool]:
    """A rule for ``give_up``: GPM went down, or its rate promises more than a few dozen steps."""

    def rule(objectives: list[float], residuals: list[float]) -> bool:
        if len(objectives) < 3:
            return False
        if objectives[-1] < objectives[-2] - 1e-12 * abs(objectives[-2]):
            return True
        if len(residuals) <= _WINDOW or residuals[-1] <= 0:
            return False
        rate = (residuals[-1] / residuals[-1 - _WINDOW]) ** (1 / _WINDOW)
        if rate >= 1:
            return True
        return math.log(max(tolerance, 1e-300) / residuals[-1]) / math.log(rate) > _PATIENCE

    return rule
