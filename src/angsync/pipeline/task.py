"""One connected component as a task: its operator, what was asked for it, and one run of a solver on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import Search, certify_component
from angsync.certificate.verdict import Certificate, interrupted
from angsync.pipeline.call import Call
from angsync.pipeline.regime import witness_search
from angsync.problem.operators import CountingOperator, Operator
from angsync.problem.residual import along_and_across
from angsync.solvers import Newton
from angsync.solvers.base import SolverBase
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.stopping import Callback, Clock, History, Status, Stopping

if TYPE_CHECKING:
    from angsync.pipeline.journal import Entry, Part

_REUSE_FROM_NODES = 400  # order of a dense C from which a product that is known is turned, and not computed again
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
    rng: np.random.Generator
    into_gauge: Callable[[NDArray], NDArray] = lambda z: z
    """Brings the phases of the component into the gauge and precision in which they are returned. The
    certificate is about the phases in that gauge: in single precision, turning moves every phase by 6e-8, and a gap
    can be smaller than that."""
    number: int = 0
    """Which component it is, for the callback."""
    reached: list[Outcome] = field(default_factory=list)
    """The best outcome of all runs so far, alone in the list: what an interruption between two runs leaves."""

    part: Part | None = None
    """The journal of the component, where there is a checkpoint."""

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
        known, part, keep = None, self.part, None
        before = self.operator.products
        if part is not None:
            known, inside = part.recall("run", self.operator.n), part.inside(self.operator.n)
            if inside is not None:
                z, first_iteration = inside.z.astype(self.operator.dtype), max(first_iteration, inside.iterations)
                self.operator.products += inside.products

            def keep(iteration: int, z: NDArray) -> None:
                part.keep(iteration, z, self.operator.products - before)

        outcome = (
            self._recalled(known)
            if known is not None
            else iterate(
                self.operator,
                solver,
                z,
                self.call.stopping if stopping is None else stopping,
                clock=self.clock,
                callback=None if silent else self.callback,
                give_up=give_up,
                first_iteration=first_iteration,
                component=self.number,
                keep=keep,
            )
        )
        if part is not None and known is None and has_ended(outcome, limited=stopping is not None):
            part.add(
                "run", outcome.z, outcome.history,
                status=outcome.status.name, iterations=outcome.iterations, gave_up=outcome.gave_up,
                products=self.operator.products - before,
            )  # fmt: skip
        if outcome.z.ndim == 1 and not outcome.objective <= (self.reached[0].objective if self.reached else -math.inf):
            self.reached[:] = [outcome]
        return outcome

    def _recalled(self, entry: Entry) -> Outcome:
        """The end of a run that an earlier call has made: its phases, measured with the C at hand."""
        facts = entry.facts
        if (
            entry.z is None
            or facts.get("status") not in list(Status.__members__)
            or type(facts.get("iterations")) is not int
        ):
            assert self.part is not None
            raise self.part.damaged()
        before = self.operator.products
        found = iterate(self.operator, Newton(), entry.z.astype(self.operator.dtype), Stopping(max_iterations=0))
        history = found.history if entry.history is None else History(*entry.history)
        self.operator.products = before + int(facts["products"])  # as if the run had been made now
        return replace(
            found, status=Status[facts["status"]], iterations=int(facts["iterations"]), history=history,
            gave_up=bool(facts.get("gave_up")),
        )  # fmt: skip

    def remembered(self, make: Callable[[], NDArray | None], facts: dict[str, Any] | None = None) -> NDArray | None:
        """What ``make`` gives: phases that took long, or None. From the journal where an earlier call has made them.

        ``facts``: filled by ``make``, or from the journal.
        """
        facts = {} if facts is None else facts
        if self.part is None:
            return make()
        from angsync.pipeline.checkpoint_identity import rng_state, set_rng

        entry = self.part.recall("point", self.operator.n)
        if entry is not None:
            set_rng(self.rng, entry.facts.get("rng"))
            facts.update(entry.facts)
            self.operator.products += int(entry.facts["products"])
            return None if entry.z is None else entry.z.astype(self.operator.dtype)
        before = self.operator.products
        z = make()
        if not self.clock.expired:  # otherwise it may have ended early
            self.part.add("point", z, rng=rng_state(self.rng), products=self.operator.products - before, **facts)
        return z

    def remembered_phases(self, make: Callable[[], NDArray], facts: dict[str, Any] | None = None) -> NDArray:
        """The same where ``make`` always gives phases."""
        z = self.remembered(make, facts)
        if z is None:
            assert self.part is not None
            raise self.part.damaged()
        return z

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


def has_ended(outcome: Outcome, *, limited: bool) -> bool:
    """Whether the run came to its end. ``limited``: the limit of iterations is the pipeline's own, not the caller's."""
    return outcome.status in FINISHED or (limited and outcome.status is Status.ITERATION_LIMIT)


def product_turned_to(outcome: Outcome, z: NDArray) -> NDArray:
    """C z from the product that the outcome has: z is the point of the outcome, all phases turned by the same angle."""
    return outcome.Cz * (z * np.conj(outcome.z)).mean()


def has_reusable_product(operator: Operator, outcome: Outcome) -> bool:
    """Whether the product of the outcome is worth turning: C is a large dense matrix in double precision."""
    large = operator.is_dense_matrix and operator.dtype == np.complex128 and operator.n >= _REUSE_FROM_NODES
    return large and not math.isnan(outcome.objective)  # NaN: interrupted inside the first product
