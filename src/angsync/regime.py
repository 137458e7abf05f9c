"""``solver="auto"``: which method for which problem, and the sentence that explains it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from angsync.iteration import Solver
from angsync.operators import HermitianOperator
from angsync.solvers import GPM, Newton
from angsync.start import readable_matrix

_DENSE_SHARE = 0.1  # share of filled entries in the fullest row from which C counts as dense
_PATIENCE = 30  # further GPM steps that are thought worth waiting for
_WINDOW = 6  # steps over which the rate of GPM is measured


@dataclass(frozen=True)
class Plan:
    """Starting points to compare, the first solver, and the one that takes over when it is slow."""

    starts: tuple[str, ...]
    solver: Solver
    successor: Solver | None
    reason: str


def choose(operator: HermitianOperator, row_length: int) -> Plan:
    """The plan for one connected component; costs no product with C."""
    n = operator.n
    readable = readable_matrix(operator) is not None
    if readable and row_length < _DENSE_SHARE * n and n > 20:
        return Plan(
            ("eigenvector", "spanning_tree"),
            Newton(),
            None,
            f"the graph is sparse (n = {n}, at most {row_length} measurements a node), where GPM is slow",
        )
    kind = "C is dense or well connected" if readable else "C is known by its products only"
    return Plan(("eigenvector",), GPM(alpha=math.inf), Newton(), f"{kind} (n = {n})")


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
