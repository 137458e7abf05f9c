"""One connected component as a task: its operator, what was asked for it, and one run of a solver on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import Search, certify_component
from angsync.certificate.verdict import Certificate, interrupted
from angsync.pipeline.call import Call
from angsync.pipeline.regime import witness_search
from angsync.problem.operators import CountingOperator, Operator
from angsync.problem.residual import along_and_across
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.stopping import Callback, Clock, Status, Stopping

FINISHED = (Status.CONVERGED, Status.STALLED)  # the solver ended by itself: nobody and no limit stopped it


@dataclass(frozen=True)
class Attempt:
    """A point, what is proved about it, and how it was found."""

    outcome: Outcome
    certificate: Certificate | None
    method: str
    """What was run and why, in words; further ways on are added to the sentence."""
    starts: tuple[float, ...] | None = None
    """Objectives of all starts; None where there was only one."""
    regions_compared: bool = False
    """Whether further starts were compared with it region by region."""

    def then(self, said: str, **changes: Outcome | Certificate | tuple[float, ...] | bool | None) -> Attempt:
        """The attempt after one more way on; ``said`` is added to its sentence."""
        return replace(self, method=self.method + said, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Task:
    """One component and what the caller of ``synchronize`` asked for, in the order and the units of its operator."""

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
    reached: list[Outcome] = field(default_factory=list)
    """The best outcome of all runs so far, alone in the list: what an interruption between two runs leaves."""

    @property
    def rng(self) -> np.random.Generator:
        """Where the random numbers of the call come from."""
        return self.call.seed.generator

    @property
    def best(self) -> Outcome | None:
        """The best outcome of all runs so far; None before the first."""
        return self.reached[0] if self.reached else None

    def run(
        self,
        solver: SolverBase,
        z: NDArray,
        stopping: Stopping | None = None,
        *,
        first_iteration: int = 0,
        give_up: Callable[[list[float], list[float]], bool] | None = None,
        silent: bool = False,
    ) -> Outcome:
        """The one loop with this solver from z; ``silent`` does not tell the callback."""
        outcome = iterate(
            self.operator,
            solver,
            z,
            self.call.stopping if stopping is None else stopping,
            clock=self.clock,
            callback=None if silent else self.callback,
            give_up=give_up,
            first_iteration=first_iteration,
            component=self.number,
        )
        if outcome.z.ndim == 1 and not outcome.objective <= (self.reached[0].objective if self.reached else -math.inf):
            self.reached[:] = [outcome]
        return outcome

    def continued(self, solver: SolverBase, z: NDArray, earlier: Outcome, *, jump: bool = False) -> Outcome:
        """Go on with another solver, as one history: from the same point, or after a jump (an iteration of its own)."""
        return self.joined(earlier, self.run(solver, z, first_iteration=earlier.iterations + (1 if jump else 0)), jump)

    def joined(self, earlier: Outcome, later: Outcome, jump: bool) -> Outcome:
        """The later outcome with the history of both; also as the best so far, which an interruption returns."""
        whole = replace(later, history=earlier.history.followed_by(later.history, jump=jump))
        if self.best is later:
            self.reached[:] = [whole]
        return whole

    def certify(
        self, outcome: Outcome, clock: Clock | None = None, search: Search | None = None, *, tighten: bool = False
    ) -> Certificate | None:
        """What can be proved about the point that is returned for this outcome; None where nobody asked.

        ``clock``: another one than that of the whole call. ``search``: how far to look for a witness, unless that
        is to be decided by the problem. ``tighten``: spend some time on the gap of a point that stays open.
        """
        if not self.call.certify:
            return None
        if outcome.status is Status.INTERRUPTED:
            return self.unproved()
        z = self.returned(outcome)
        # the solvers of "auto" compute the product anew at every point they keep, with the operator that is certified
        known = self.call.solver is None and has_reusable_product(self.certified, outcome)
        try:
            return certify_component(
                self.certified,
                z,
                tolerance=GAP_TOLERANCE,
                method="auto",
                clock=self.clock if clock is None else clock,
                rng=self.rng,
                turned_product=product_turned_to(outcome, z) if known else None,
                search=witness_search(self.operator.base, self.call, z) if search is None else search,
                tighten=tighten,
            )
        except KeyboardInterrupt:
            return self.unproved()

    def unproved(self) -> Certificate | None:
        """The certificate of a call that was interrupted."""
        return interrupted() if self.call.certify else None

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
    """Whether the product of the outcome may be turned with its phases: of a dense C, or products, in doubles."""
    dense = operator.is_dense_matrix or operator.is_known_by_products
    known = not math.isnan(outcome.objective)  # NaN: interrupted inside the first product
    return dense and operator.dtype == np.complex128 and known
