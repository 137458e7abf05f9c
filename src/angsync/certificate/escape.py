r"""Ways out of a point that is not optimal, in the order in which they are tried.

1. **The gradient**: where the point is not critical, ascend.
2. **Negative curvature**: a negative eigenvector t of the real tangent Hessian :math:`\Re(Z^H S Z)`, along
   :math:`z \circ e^{\mathrm{i} s t}`: leaves saddles.
3. **The lift to rank two**: rows :math:`(\cos s\, z_j, \sin s\, v_j)` with v a negative eigenvector of S.
   The objective :math:`\mathrm{tr}(Y^H C Y)` over unit rows of :math:`\mathbb{C}^2` rises along v at second
   order (by :math:`-s^2 v^H S v`) even where z is a strict local maximum on :math:`T^n`, such as the twisted
   state of a ring. Ascend there, then round back to rank one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync.certificate.bounds.lanczos import lanczos
from angsync.circle import normalize
from angsync.problem.criticality import SOperator, tangent_hessian
from angsync.problem.operators import Operator
from angsync.problem.residual import along_and_across
from angsync.solvers import LowRankSDP, Newton
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock, Stopping
from angsync.solvers.tangent import reversed_share

_DENSE_HESSIAN_UP_TO = 400  # order up to which LAPACK finds the smallest curvature faster than Lanczos
_LARGE_FROM_NODES = 200_000  # above, a hundred Lanczos steps take longer than the solve
_CURVATURE_STEPS = 120  # of Lanczos, which find any negative curvature that a step along it could use
_FEW_CURVATURE_STEPS = 30  # enough for the saddles that a run from a start without structure ends at, if ever
_LIFT_RADIANS = 1.0  # by which rows are turned from the phases toward the direction of negative curvature
_LIFT, _LIFT_RESIDUAL = LowRankSDP(rank=2, max_inner=40), 1e-4
# Phases are taken from rows twice: early rows lead to a better optimum near by (of grids at 0.9 rad), rows that have
# nearly converged to one far away (of a frustrated lattice, which only these prove).
_LIFT_STEPS = (20, 40)

Judge = Callable[[NDArray], NDArray | None]
"""A function that returns its candidate if that beats the point to be left, None otherwise."""


def find_better(
    operator: Operator,
    z: NDArray,
    Cz: NDArray,
    *,
    margin: float,
    direction: NDArray | None,
    clock: Clock,
    rng: np.random.Generator,
    whole: bool = True,
) -> NDArray | None:
    """A point whose objective exceeds that of z by more than ``margin``, or None if none was found.

    ``direction`` is a unit vector with negative :math:`v^H S v`, where one is known. Without ``whole``, negative
    curvature is looked for shortly, and there is no lift.
    """
    start_objective = float(along_and_across(z, Cz)[0].sum())

    def improves(candidate: NDArray) -> NDArray | None:
        s, _ = along_and_across(candidate, operator.apply(candidate))
        return candidate if float(s.sum()) > start_objective + margin else None

    critical = ascend(operator, z, clock)
    better = improves(critical)
    if better is None and not clock.expired:
        better = _along_negative_curvature(operator, critical, clock, rng, improves, whole)
    if better is None and whole and direction is not None and not clock.expired:
        better = _through_rank_two(operator, critical, direction, clock, improves)
    return better


def ascend(operator: Operator, z: NDArray, clock: Clock, max_iterations: int = 100) -> NDArray:
    """Newton from z: the objective never decreases."""
    stopping = Stopping(max_iterations=max_iterations, max_seconds=clock.left)
    return iterate(operator, Newton(), z, stopping).unless_interrupted().z


def _along_negative_curvature(
    operator: Operator, z: NDArray, clock: Clock, rng: np.random.Generator, improves: Judge, whole: bool
) -> NDArray | None:
    if operator.sparse() is not None and reversed_share(operator, z) == 0:
        # all weights of the edge Laplacian are positive and it is the Hessian: there is no negative curvature to find
        return None
    steps = _CURVATURE_STEPS if whole else _FEW_CURVATURE_STEPS
    t, curvature, size = smallest_curvature(operator, z, rng, steps)
    if curvature >= -1e-9 * size:
        return None
    t = t / np.abs(t).max()
    lengths = np.pi * 2.0 ** -np.arange(8)
    lengths = np.concatenate([lengths, -lengths])
    trial = z[:, None] * np.exp(1j * t[:, None] * lengths[None, :])
    best = _best_column(operator, trial)
    return improves(ascend(operator, best, clock))


def smallest_curvature(
    operator: Operator, z: NDArray, rng: np.random.Generator, most_steps: int = _CURVATURE_STEPS
) -> tuple[NDArray[np.float64], float, float]:
    """The direction of smallest curvature: an eigenvector of the tangent Hessian, orthogonal to the global phase.

    Returns the vector, its eigenvalue (an estimate from above) and the size of the Hessian.
    """
    n = z.size
    at = SOperator(operator, z)
    size = float(np.abs(at.s).max()) or 1.0
    if n <= _DENSE_HESSIAN_UP_TO:
        lifted = tangent_hessian(at) + 4 * size / n
        values, vectors = scipy.linalg.eigh(lifted, subset_by_index=[0, 0])
        return vectors[:, 0], float(values[0]), size
    conj_z = np.conj(z)
    run = lanczos(
        lambda t: at.s * t - (conj_z * operator.apply(z * t)).real,
        np.full(n, 1 / math.sqrt(n)),
        rng,
        max_steps=most_steps if n <= _LARGE_FROM_NODES else 20,
        enough=lambda k, low, high, _: low < -1e-3 * high and k >= 20,
    )
    return run.smallest_vector(), run.smallest, size


def _best_column(operator: Operator, trial: NDArray) -> NDArray:
    values = np.real(np.sum(trial.conj() * operator.apply(trial), axis=0))
    return np.ascontiguousarray(trial[:, int(np.argmax(values))])


def _through_rank_two(
    operator: Operator, z: NDArray, direction: NDArray, clock: Clock, improves: Judge
) -> NDArray | None:
    v = direction * math.sqrt(z.size)
    rows = np.stack([math.cos(_LIFT_RADIANS) * z, math.sin(_LIFT_RADIANS) * v], axis=1)
    best, value = z, -math.inf
    for steps in _LIFT_STEPS:
        stopping = Stopping(tolerance=_LIFT_RESIDUAL, max_iterations=steps, max_seconds=clock.left)
        rows = iterate(operator, _LIFT, rows, stopping).unless_interrupted().z
        settled = ascend(operator, _rounded(operator, rows), clock)
        reached = float(along_and_across(settled, operator.apply(settled))[0].sum())
        if reached > value:
            best, value = settled, reached
        if clock.expired:
            break
    return improves(best)


def _rounded(operator: Operator, rows: NDArray) -> NDArray:
    """Phases of Y q for the leading right singular vector q, and the best of a fan of other directions."""
    _, _, right = np.linalg.svd(rows, full_matrices=False)
    q = right.conj().T  # columns: leading and second direction
    fan = [q[:, 0]]
    for tilt in (np.pi / 8, np.pi / 4):
        for turn in np.arange(6) * (np.pi / 3):
            fan.append(math.cos(tilt) * q[:, 0] + math.sin(tilt) * np.exp(1j * turn) * q[:, 1])
    trial = rows @ np.stack(fan, axis=1)
    trial = normalize(trial, np.ones_like(trial))
    return _best_column(operator, trial)
