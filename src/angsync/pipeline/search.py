"""The search on one connected component: what was asked for, and the best point so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import Witness, certify_component
from angsync.certificate.verdict import Certificate, Verdict
from angsync.pipeline.call import Call
from angsync.pipeline.regime import FUSE_FROM_NODES, Plan, witness_search
from angsync.problem.operators import CountingOperator, Operator
from angsync.problem.residual import along_and_across
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.stopping import Callback, Clock, Status, Stopping
from angsync.solvers.tangent import has_vortex, reversed_share

FINISHED = (Status.CONVERGED, Status.STALLED)  # the solver ended by itself: nobody and no limit stopped it
_ROUNDING = 1e-14  # of f: a point that is better by less is the same one
_STOPPED = (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK)  # somebody asked for an end of the call


class Ended(Exception):
    """Ctrl-C or the callback ended a run. Always caught by :func:`angsync.pipeline.component.solve_component`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Search:
    """One component, in the order and the units of its operator, and the best point so far.

    The best point is valid at every moment, so that whatever ends the search is caught in one place.
    """

    operator: CountingOperator
    """C of the component as the solver sees it, counting its products."""
    certified: Operator
    """The same C, scaled as proofs need it. (A solver that was asked for by name may see C as it was given.)"""
    call: Call
    start: str | NDArray
    callback: Callback | None
    clock: Clock
    into_gauge: Callable[[NDArray], NDArray] = lambda z: z
    """Brings the phases of the component into the gauge and precision in which they are returned. The
    certificate is about the phases in that gauge: in single precision, turning moves every phase by 6e-8, and a gap
    can be smaller than that."""
    number: int = 0
    """Which component it is, for the callback."""
    best: Outcome | None = None
    certificate: Certificate | None = None
    """What is proved about the best point; None if nobody asked, or if that point is new."""
    method: str = ""
    """What was run and why, in words; what follows is added to the sentence."""
    objectives: list[float] = field(default_factory=list)
    """Of all starts, once there were several."""
    started_from: str | None = None
    """The name of the start of the first run; None if the caller chose it."""
    starting: NDArray | None = None
    """The best starting phases so far: what is left if the search ends before its first run."""
    witness_sought: bool = False
    """Whether the certificate comes with a look for a better point."""

    @property
    def rng(self) -> np.random.Generator:
        """Where the random numbers of the call come from."""
        return self.call.seed.generator

    @property
    def point(self) -> Outcome:
        """The best point, once there is one."""
        assert self.best is not None
        return self.best

    @property
    def is_certified(self) -> bool:
        """Whether the best point is proved."""
        return self.certificate is not None and self.certificate.verdict is Verdict.CERTIFIED

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to improve, or no time for it."""
        return self.is_certified or self.point.status not in FINISHED or self.clock.expired

    def run(
        self,
        solver: SolverBase,
        z: NDArray,
        stopping: Stopping | None = None,
        *,
        jump: bool = False,
        after: Outcome | None = None,
        give_up: Callable[[list[float], list[float]], bool] | None = None,
        silent: bool = False,
    ) -> Outcome:
        """Run the solver from z after the best point, or after another outcome, as one history.

        A ``jump`` to other phases is an iteration of its own. ``silent`` does not tell the callback. Where Ctrl-C or
        the callback ends the run, its end is kept if it is the best point.
        """
        before = self.best if after is None else after
        outcome = iterate(
            self.operator,
            solver,
            z,
            self.call.stopping if stopping is None else stopping,
            clock=self.clock,
            callback=None if silent else self.callback,
            give_up=give_up,
            first_iteration=0 if before is None else before.iterations + jump,
            component=self.number,
        )
        if before is not None:
            outcome = replace(outcome, history=before.history.followed_by(outcome.history, jump=jump))
        if outcome.status in _STOPPED:
            best = self.best
            if best is None or outcome.objective >= best.objective - _ROUNDING * abs(best.objective):
                self.take(outcome)
            raise Ended(outcome.status)
        return outcome

    def take(self, outcome: Outcome) -> None:
        """Make this the best point, of which nothing is proved yet."""
        self.best, self.certificate = outcome, None

    def goes_on(self, solver: SolverBase) -> None:
        """Go on from the best point with this solver."""
        self.take(self.run(solver, self.point.z))

    def improves(self, z: NDArray, solver: SolverBase, *, silent: bool = False) -> bool:
        """Run the solver from phases that are proposed; return True if that led to a better point, now the best."""
        outcome = self.run(solver, z.astype(self.operator.dtype), jump=True, silent=silent)
        better = outcome.objective > self.point.objective + _ROUNDING * abs(self.point.objective)
        if better:
            self.take(outcome)
        return better

    def prove(self, witness: Witness | None = None, clock: Clock | None = None, *, tighten: bool = False) -> None:
        """Find out what can be proved about the best point, if a proof was asked for.

        ``witness``: how far to look for a better point, unless that is to be decided by the problem. ``clock``:
        another one than that of the whole call. ``tighten``: spend some time on the gap of a point that stays open.
        """
        if not self.call.certify:
            return
        z = self.returned(self.point)
        if witness is None:
            witness = witness_search(self.operator.base, self.call, z)
        # the solvers of "auto" compute the product anew at every point they keep, with the operator that is certified
        known = self.call.solver is None and has_reusable_product(self.certified, self.point)
        self.certificate = certify_component(
            self.certified,
            z,
            tolerance=GAP_TOLERANCE,
            method="auto",
            clock=self.clock if clock is None else clock,
            rng=self.rng,
            turned_product=product_turned_to(self.point, z) if known else None,
            search=witness,
            tighten=tighten,
        )
        self.witness_sought = witness != "none"

    def returned(self, outcome: Outcome) -> NDArray:
        """The point that the caller will get, with unit modulus in double precision."""
        z = self.into_gauge(outcome.z).astype(np.complex128)
        return z / np.abs(z)

    def objective(self, z: NDArray) -> float:
        """f(z) in double precision, whatever the precision of the problem."""
        return float(along_and_across(z, self.operator.apply(z))[0].sum())


def product_turned_to(outcome: Outcome, z: NDArray) -> NDArray:
    """C z from the product that the outcome has: z is the point of the outcome, all phases turned by the same angle."""
    return outcome.Cz * (z * np.conj(outcome.z)).mean()


def has_reusable_product(operator: Operator, outcome: Outcome) -> bool:
    """Return True if the product of the outcome may be turned: of a dense C, or of products, in double precision."""
    dense = operator.is_dense_matrix or operator.is_known_by_products
    known = not math.isnan(outcome.objective)  # NaN: interrupted inside the first product
    return dense and operator.dtype == np.complex128 and known


def is_suspicious(search: Search, plan: Plan) -> bool:
    """Return True if a measurement is more than a right angle off: the usual sign of a point that is not the best.

    On a large graph with little noise there may be vortices without one. Where everything is near to everything, the
    plan has no other start, and nothing is suspected.
    """
    operator, z = search.operator.base, search.point.z
    return (
        plan.alternative is not None
        and search.point.status in FINISHED
        and search.call.is_free_to_start_anywhere
        and not search.clock.expired
        and (reversed_share(operator, z) > 0 or (operator.n > FUSE_FROM_NODES and has_vortex(operator, z)))
    )
