"""The semidefinite relaxation from start to end: solved by low rank, bounded from above, rounded to phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.cholesky import smallest_eigenvalue_bound
from angsync.certificate.escape import ascend
from angsync.circle import normalize
from angsync.kernels.rounding import UNIT_ROUNDOFF
from angsync.problem.operators import Operator
from angsync.solvers import LowRankSDP
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.stopping import Callback, Clock, Stopping

_TIGHT = 1e-6  # second singular value of Y over the first, below which X has rank one
_DIRECTIONS = 24  # random directions tried in rounding, beside the leading one


@dataclass(frozen=True)
class Relaxation:
    r"""A point of :math:`\max \mathrm{tr}(CX)`, :math:`X \succeq 0`, :math:`\mathrm{diag} X = 1`, and its proof."""

    rows: NDArray
    """Y, with X = Y Y^H."""
    value: float
    """tr(C X): a lower bound on the optimum of the relaxation."""
    upper_bound: float
    """Proved upper bound on the optimum of the relaxation, hence on f*; deterministic."""
    tight: bool
    """Whether X has rank one, so that the relaxation is the problem itself."""
    z: NDArray
    """Phases by rounding, improved by Newton's method."""
    outcome: Outcome
    """How the ascent ended."""


def relax(
    operator: Operator,
    z: NDArray,
    *,
    solver: LowRankSDP,
    stopping: Stopping,
    clock: Clock,
    rng: np.random.Generator,
    callback: Callback | None = None,
    component: int = 0,
) -> Relaxation:
    """Solve the relaxation from a lift of ``z``. Any point gives a valid bound; a converged one gives the best."""
    outcome = iterate(
        operator,
        solver,
        solver.lift(z.astype(np.complex128), rng),
        stopping,
        clock=clock,
        callback=callback,
        component=component,
    )
    rows = outcome.z
    along = np.sum(rows.conj() * outcome.Cz, axis=1).real
    singular = np.linalg.svd(rows, compute_uv=False)
    return Relaxation(
        rows=rows,
        value=float(along.sum()),
        upper_bound=dual_bound(operator, along),
        tight=bool(singular.size == 1 or singular[1] <= _TIGHT * singular[0]),
        z=_best_rounding(operator, rows, clock, rng),
        outcome=outcome,
    )


def dual_bound(operator: Operator, dual: NDArray[np.float64]) -> float:
    r"""Proved: :math:`f^* \le \sum_j y_j - n \min(0, \lambda_{\min}(\mathrm{Diag}(y) - C))` for any real y."""
    S = -operator.to_dense().astype(np.complex128)
    S[np.diag_indices(operator.n)] += dual
    shortfall = max(0.0, -smallest_eigenvalue_bound(S))
    total = math.fsum(dual)
    return total + operator.n * shortfall * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF * abs(total)


def _best_rounding(operator: Operator, rows: NDArray, clock: Clock, rng: np.random.Generator) -> NDArray:
    """Phases of Y q for the leading right singular vector and random q; the three best are improved."""
    rank = rows.shape[1]
    leading = np.linalg.svd(rows, full_matrices=False)[2][0].conj()
    random = rng.standard_normal((rank, _DIRECTIONS)) + 1j * rng.standard_normal((rank, _DIRECTIONS))
    trial = rows @ np.column_stack([leading, random])
    trial = normalize(trial, np.ones_like(trial))
    values = np.sum(trial.conj() * operator.apply(trial), axis=0).real
    best: tuple[float, NDArray] | None = None
    for k in np.argsort(-values, kind="stable")[:3]:
        z = ascend(operator, np.ascontiguousarray(trial[:, k]), clock)
        value = float(np.vdot(z, operator.apply(z)).real)
        if best is None or value > best[0]:
            best = (value, z)
    assert best is not None
    return best[1]
