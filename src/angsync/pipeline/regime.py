"""What kind of problem it is, and what ``solver="auto"`` does about it: every such question is answered here.

:func:`plan_for` says which start and which solver, with the sentence that explains the choice. Which proof is tried
first is in :mod:`angsync.certificate.bounds.choice`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from numpy.typing import NDArray

from angsync.problem.intake import has_many_pairs
from angsync.problem.operators import Operator
from angsync.solvers import GPM, AcceleratedGPM, Newton
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import is_even
from angsync.solvers.preconditioner import kind_for
from angsync.solvers.starts.names import CAREFUL, LEADING
from angsync.solvers.tangent import reversed_share

if TYPE_CHECKING:
    from angsync.pipeline.call import Call

_NOISY_RATIO = 0.4  # times sqrt n: ratio of sum |C| and f from which one run is not reliable
_DROWNED_RATIO = 0.495  # the same at a noise of 0.8 sqrt n, for n from 50 to 1000; noise alone has 0.51 to 0.54
_SMALL_NODES = 20  # up to which nothing is gained by the methods for full matrices
_LARGE_NODES = 200_000  # from which an eigenvector is not computed, only approached
# From which the lowest eigenvector of the connection Laplacian is no start for a mesh: it lives on a part of the graph,
# and the rest is full of vortices (grid of 300 x 300, 0.15 rad: f ends 2e-4 low, and a multilevel start leads to the
# optimum in a third of the time). With fewer edges a node a graph is nearly a tree, and a tree is the better start.
_MULTILEVEL_FROM_NODES, _MESHED_EDGES = 5_000, 1.5
FUSE_FROM_NODES = 2000
"""Nodes of a sparse graph from which points of several starts are compared region by region; below, as a whole: another
start is cheap, and a point has few defects."""
_LIFT_UP_TO_NODES = 30_000  # of a mesh up to which the lift to rank two takes a few seconds
_HARDLY_ANY_REVERSED = 0.03  # share of reversed measurements: a grid at 0.9 rad has 0.01, at 1.2 rad 0.03
_PATIENCE_STEPS = 30  # further GPM steps that are thought worth waiting for
_WINDOW_STEPS = 6  # over which the rate of GPM is measured


@dataclass(frozen=True)
class Plan:
    """How a component is solved: starting points to compare, a solver, and what follows where that is not enough."""

    starts: tuple[str, ...]
    solver: SolverBase
    successor: SolverBase | None
    reason: str
    alternative: str | None = None
    """A start to try as well where the point found has measurements that are more than a right angle off."""


def plan_for(operator: Operator) -> Plan:
    """The plan for one connected component; costs no product with C, and one search through the graph."""
    n = operator.n
    full = operator.is_dense_matrix or operator.is_on_device or operator.is_streamed
    if full and n > _SMALL_NODES:
        return Plan(("eigenvector" if operator.is_on_device else LEADING,), AcceleratedGPM(), None, dense_reason(n))
    sums = operator.abs_row_sums()
    if operator.is_known_by_products and n > _SMALL_NODES and (sums is None or is_even(sums)):
        return Plan((LEADING,), AcceleratedGPM(), None, products_reason(n))
    if operator.augmented() is not None:
        reason = f"C is the Schur complement of a sparse matrix (n = {n}), whose factorization serves"
        return Plan(("eigenvector",), Newton(), None, reason)
    sparse = operator.sparse()
    if sparse is not None and n > 1 and sparse.operator.edge_count == n - 1:
        return Plan(("spanning_tree",), Newton(), None, "the graph is a tree, on which every measurement can be met")
    if sparse is None or has_many_pairs(sparse.operator.edge_count, n) or n <= _SMALL_NODES:
        reason = dense_reason(n) if full or sparse is not None else products_reason(n)
        if sums is not None and not is_even(sums) and not operator.is_on_device:
            # the leading eigenvector sees the heaviest rows alone, and no power method gets to the others
            return Plan(("spanning_tree",), Newton(), None, "the weights of the nodes differ by orders of magnitude")
        return Plan(("eigenvector",), GPM(alpha=math.inf), Newton(), reason)
    search = sparse.operator.breadth_first
    kind = kind_for(operator)
    shape = f"n = {n}, at most {operator.row_length()} measurements a node, {search.depth} steps across"
    if kind == "direct":
        meshed = n > _MULTILEVEL_FROM_NODES and sparse.operator.edge_count > _MESHED_EDGES * n
        starts = ("multilevel",) if meshed else ("connection_laplacian", "spanning_tree", "multilevel")
        reason = f"the graph is sparse and mixes slowly ({shape}), and its factorization is cheap"
        return Plan(starts, Newton(), None, reason, CAREFUL)
    if kind == "multigrid":
        reason = f"the graph is sparse, large and mixes slowly ({shape})"
        return Plan(("multilevel",), Newton(), None, reason, CAREFUL)
    if n > _LARGE_NODES:
        reason = f"the graph is sparse, large and mixes well ({shape})"
        return Plan(("informed_power",), Newton(), None, reason)
    reason = f"the graph is sparse and mixes well ({shape})"
    return Plan(("eigenvector", "normalized_eigenvector", "spanning_tree"), Newton(), None, reason, CAREFUL)


def dense_reason(n: int) -> str:
    """Why the methods for full matrices are taken."""
    return f"C is dense or well connected (n = {n})"


def products_reason(n: int) -> str:
    """Why only methods that multiply with C are taken."""
    return f"C is known by its products only (n = {n})"


def is_noisy(moduli: float, n: int, objective: float) -> bool:
    r"""Whether f is so small beside ``moduli``, :math:`\sum |C_{jl}|`, that one run is not reliable.

    In the Gaussian model :math:`\sum |C_{jl}| \approx \frac{\sqrt\pi}{2} \sigma n^2` and f is about
    :math:`1.2\, n^2` at :math:`\sigma = 0.55 \sqrt n`, where several optima begin to matter: the ratio is then
    :math:`0.4 \sqrt n`.
    """
    return moduli > _NOISY_RATIO * math.sqrt(n) * objective


def is_drowned(operator: Operator, objective: float) -> bool:
    """Return True if noise is so large, in a dense C, that a better fit is no better estimate.

    From about 0.8 sqrt n on, phases that fit better are farther from the truth than the eigenvector is.
    """
    sums = operator.abs_row_sums()
    moduli = 0.0 if sums is None or not is_dense(operator) else float(sums.sum())
    return moduli > _DROWNED_RATIO * math.sqrt(operator.n) * objective


def is_dense(operator: Operator) -> bool:
    """Whether C is a dense matrix in memory, or a graph with a tenth of all pairs."""
    sparse = operator.sparse()
    if sparse is not None:
        return has_many_pairs(sparse.operator.edge_count, operator.n)
    return operator.is_dense_matrix or (operator.is_streamed and operator.narrow is not None)


def witness_search(operator: Operator, call: Call, z: NDArray) -> Literal["none", "short", "whole"]:
    """How far the certificate of z looks for a better point where it proves nothing.

    On dense problems further starts follow (:mod:`angsync.pipeline.restarts`). These find what the lift to rank two
    finds, for a tenth of its products at n = 4000, and the lift is left to those who ask for more. So it is on very
    large meshes with noise at which S is hardly ever semidefinite: other starts went before, region by region, and one
    lift takes as long as several of these. Where everything is near to everything there are no regions; where many
    measurements are reversed, the points of two starts have little in common: there the lift is what helps.
    """
    if call.effort == "low":
        return "none"
    other_starts = call.solver is None and call.is_free_to_start_anywhere
    other_starts &= is_dense(operator) or _is_large_noisy_mesh(operator, z)
    return "short" if call.effort == "normal" and other_starts else "whole"


def _is_large_noisy_mesh(operator: Operator, z: NDArray) -> bool:
    if operator.n <= _LIFT_UP_TO_NODES or operator.sparse() is None or kind_for(operator) == "jacobi":
        return False
    return 0 < reversed_share(operator, z) < _HARDLY_ANY_REVERSED


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
