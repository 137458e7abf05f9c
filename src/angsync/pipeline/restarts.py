r"""More starts where one run is not reliable, and what they found.

Above a noise level of about :math:`0.5\sqrt n` (:math:`C = zz^H + \sigma W`) the objective has several local maxima,
and one run ends in any of them. Then further starts follow, with the same solver, and the best point is kept:

1. **the witness** of the certificate, where it has one;
2. **where plain GPM goes**: the eigenvector estimator, to 1e-3, and thirty steps of the power method with about the
   shift of the paper's GPM. After thirty steps it is settled at which maximum plain GPM ends, so the answer is no worse
   than its answer (on 100 problems at 0.7 to 3 :math:`\sqrt n`: the same maximum in 98, a better one in 2);
3. **rank-two rows**: unit rows Y of :math:`\mathbb{C}^2`, random at first, moved by steps of the shifted power method
   :math:`Y \leftarrow \text{rows of } CY + \lambda Y \text{ scaled to length 1}`, then rounded to the phases of Y q, q
   the leading right singular vector. In :math:`\mathbb{C}^2` there are ways around the poorest maxima of
   :math:`T^n` (Burer and Monteiro's relaxation, at its smallest rank). The steps end before the rows converge: rows
   that have converged lead to the same few optima again and again.

Measured at a noise of :math:`\sqrt n` (``docs/choosing-a-solver.md``): a start like this, with the solver after it,
costs about what one from random phases does, and at n = 100 ends at the best optimum known in 58 % of the cases, where
random phases do in 21 %. Perturbations of the best point are cheaper and find little that is new; the full relaxation
takes ten times the products of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.verdict import Certificate, Verdict
from angsync.circle import normalize
from angsync.pipeline.call import Effort
from angsync.pipeline.regime import is_dense, is_drowned, is_noisy
from angsync.pipeline.search import FINISHED, Search
from angsync.pipeline.tried_starts import same_objective, times_found
from angsync.problem.operators import Operator
from angsync.problem.residual import norm
from angsync.solvers import Newton
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.chance import leave_the_real_line
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Clock


class RowSteps(NamedTuple):
    """Steps of rank-two rows: so many times sqrt n, and at most."""

    times_root: int
    most: int

    def of(self, n: int) -> int:
        return min(self.most, math.ceil(self.times_root * math.sqrt(n)))


_FEW_STEPS, _MANY_STEPS = RowSteps(3, 80), RowSteps(6, 240)


class Limits(NamedTuple):
    """How far to look where nobody says how many starts there are to be."""

    starts: int
    """At most, the first run included."""
    found: int
    """Starts that end at the best optimum, after which it is believed."""
    cost: int
    """Of all further starts together, in products of the first run."""
    row_steps: RowSteps
    """Of rank-two rows while all starts end at the same optimum: their ends are not worth much."""
    rugged_row_steps: RowSteps
    """The same once starts have ended at different optima. With the few steps above, sixteen starts at a noise of
    sqrt n and n = 1000 ended 2e-4 below what ten starts with these find."""


LIMITS: dict[Effort, Limits] = {
    "low": Limits(1, 1, 0, _FEW_STEPS, _MANY_STEPS),  # with starts where a solver asks for them
    "normal": Limits(10, 4, 20, _FEW_STEPS, _MANY_STEPS),
    "high": Limits(40, 8, 200, _MANY_STEPS, _MANY_STEPS),
}
_LOOSE_RESIDUAL = 1e-6  # residual to which a start is run: f is then known to 1e-12, and only the best needs more
_PLAIN_STEPS, _PLAIN_SHIFT = 30, 0.15  # of plain_start, whose docstring says why
_PLAIN_TOLERANCE = 1e-3  # of its eigenvector: thirty steps follow, in which the last digits do not matter
_ROW_SHIFT = 0.5  # of the mean length of the rows of C Y: enough for the ascent not to oscillate


def worth_more_starts(operator: Operator, outcome: Outcome, certificate: Certificate | None) -> bool:
    """Whether one run may have missed the optimum by an amount that matters, on a problem where starts are cheap.

    The certificate decides. CERTIFIED: nothing is better. Otherwise no start gains more than ``gap_bound``, so that it
    has to exceed what counts as the same objective. In the Gaussian model S(z) is positive semidefinite up to
    :math:`0.3 \\sqrt n`, so up to there one run is all. Sparse graphs have starts of their own.

    Without a certificate the noise decides: :func:`is_noisy`.
    """
    if outcome.status not in FINISHED:
        return False
    if certificate is None:
        sums = operator.abs_row_sums()
        if sums is None or not is_dense(operator):
            return False
        return is_noisy(float(sums.sum()), operator.n, outcome.objective)
    if certificate.verdict is Verdict.CERTIFIED:
        return False
    return certificate.gap_bound > same_objective(operator.dtype) * abs(outcome.objective) and is_dense(operator)


def restart(search: Search, solver: SolverBase) -> None:
    """Run further starts where the solver asks for them or one run is not reliable, and keep the best, polished.

    A solver that asks for ``starts`` gets as many, the first run included; otherwise :data:`LIMITS` says how many for
    the effort of the call, and the products are looked at between starts, so the last may exceed them. A start that
    does not converge is counted, but not taken. The callback sees the iterates of every start, each numbered from the
    end of the first run.
    """
    call, operator, first = search.call, search.operator, search.point
    asked = None if call.solver is None else solver.starts
    if asked is None:
        # where the caller chose the start, no other is tried unless the solver asks for it
        free = call.is_free_to_start_anywhere and call.effort != "low"
        wanted = free and worth_more_starts(operator, first, search.certificate)
    else:
        wanted = asked > 1 and first.status in FINISHED
    if not wanted or search.clock.expired:
        return
    witness = None if search.certificate is None else search.certificate.witness
    if asked is None and call.effort == "normal" and is_drowned(operator, first.objective):
        asked = 1 + 1 + (witness is not None)  # the first run, where plain GPM goes, the witness: no rank-two rows
    same = same_objective(operator.dtype)
    loose = replace(call.stopping, tolerance=max(call.stopping.tolerance_for(operator.dtype), _LOOSE_RESIDUAL))
    limits = LIMITS[call.effort]
    budget = (1 + limits.cost) * operator.products
    objectives = search.objectives = [first.objective]

    def enough() -> bool:
        if asked is not None:
            return len(objectives) >= asked
        often = times_found(objectives, same) >= limits.found
        return often or len(objectives) >= limits.starts or operator.products > budget

    def row_steps() -> int:
        rugged = times_found(objectives, same) < len(objectives)
        return (limits.rugged_row_steps if rugged else limits.row_steps).of(operator.n)

    own = solver if solver.takes_further_starts else Newton()
    # a solver given by name began at the eigenvector
    points = _points(search, witness, call.solver is None or not call.is_free_to_start_anywhere, row_steps)
    while not enough() and not search.clock.expired:
        outcome = search.run(own, next(points), loose, jump=True, after=first)
        objectives.append(outcome.objective)
        best = search.point.objective
        if outcome.status in FINISHED and outcome.objective > best + same * abs(best):
            search.take(outcome)
    improved = search.point is not first
    found = "a better point" if improved else "nothing better"
    search.method += f"; {len(objectives)} starts were tried, which found {found}"
    if improved:  # to a loose tolerance so far
        search.goes_on(Newton())


def _points(
    search: Search, witness: NDArray | None, eigenvector: bool, row_steps: Callable[[], int]
) -> Iterator[NDArray]:
    """Functions that make starting points, without end, in the order of the module's list."""
    operator, clock, rng = search.operator, search.clock, search.rng
    if witness is not None:
        yield witness.astype(operator.dtype)
    if eigenvector:
        yield plain_start(operator, clock, rng)
    while True:
        yield rank_two_start(operator, clock, rng, row_steps())


def plain_start(operator: Operator, clock: Clock, rng: np.random.Generator) -> NDArray:
    r"""Phases after thirty steps :math:`z \leftarrow w/|w|`, :math:`w = Cz + \lambda z`, from the eigenvector.

    The shift does not depend on the scale of C: 0.15 of the mean length of an entry of C z, which at these noise levels
    is about the n/4 of GPM's default in the Gaussian model.
    """
    z = leave_the_real_line(operator, eigenvector_estimator(operator, tolerance=_PLAIN_TOLERANCE, rng=rng), rng)
    product = _vector_product(operator)
    w = product(z)
    shift = _PLAIN_SHIFT * norm(w) / math.sqrt(operator.n)
    for _ in range(_PLAIN_STEPS):
        if clock.expired:
            break
        z = normalize(w + shift * z, z).astype(operator.dtype)
        w = product(z)
    return z


def rank_two_start(operator: Operator, clock: Clock, rng: np.random.Generator, steps: int | None = None) -> NDArray:
    """Phases from random unit rows of C^2 after some steps of the shifted power method, narrow where possible."""
    product = _block_product(operator)
    Y = _unit_rows(rng.standard_normal((operator.n, 2)) + 1j * rng.standard_normal((operator.n, 2)))
    for _ in range(_MANY_STEPS.of(operator.n) if steps is None else steps):
        if clock.expired:
            break
        W = product(Y)
        W += _ROW_SHIFT * float(np.linalg.norm(W)) / math.sqrt(operator.n) * Y
        Y = _unit_rows(W, Y)
    leading = np.linalg.svd(Y, full_matrices=False)[2][0].conj()
    z = Y @ leading
    return normalize(z, np.ones_like(z)).astype(operator.dtype)


def _vector_product(operator: Operator) -> Callable[[NDArray], NDArray]:
    narrow = operator.narrow_product()
    return operator.apply if narrow is None else narrow


def _block_product(operator: Operator) -> Callable[[NDArray], NDArray]:
    narrow = operator.narrow_product()
    if narrow is None:
        return lambda Y: operator.apply(Y.astype(operator.dtype)).astype(np.complex128)
    return narrow


def _unit_rows(W: NDArray, fallback: NDArray | None = None) -> NDArray:
    """Rows scaled to length 1; a row that vanishes keeps its old direction."""
    lengths = np.linalg.norm(W, axis=1, keepdims=True)
    scaled = W / np.where(lengths > 0, lengths, 1)
    return scaled if fallback is None else np.where(lengths > 0, scaled, fallback)
