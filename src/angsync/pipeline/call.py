"""What the caller of ``synchronize`` asked for: every option, frozen, and checked once at the door."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from angsync.circle import as_phases
from angsync.errors import InputError
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.problem.anchoring import Anchors, Priors
from angsync.problem.array_libraries import is_foreign, to_numpy
from angsync.problem.randomness import random_generator
from angsync.solvers.base import Solver, SolverBase, as_solver
from angsync.solvers.names import SOLVERS
from angsync.solvers.starts.names import OFFERED
from angsync.solvers.stopping import Callback, Stopping

Hermitian = Literal["full", "upper", "lower"]
OnFailure = Literal["warn", "raise", "ignore"]
Effort = Literal["low", "normal", "high"]
EFFORTS: tuple[Effort, ...] = ("low", "normal", "high")


_DEFAULT_STOPPING = Stopping()  # made once: a frozen object that many calls share


class Seed:
    """Where the random numbers of one call come from: a generator, made when the first number is asked for."""

    def __init__(self, rng: Any = 0) -> None:
        self.is_any = rng is None
        """Whether any numbers will do: fresh ones, or those of a call that this one goes on from."""
        # a small whole number is a seed for certain; making a generator of anything else shows whether it can be used
        self._rng = rng if type(rng) is int and rng >= 0 else random_generator(rng)

    @property
    def is_usual(self) -> bool:
        """Whether nobody asked for other numbers than those of every call."""
        return type(self._rng) is int and self._rng == 0

    @cached_property
    def generator(self) -> np.random.Generator:
        return random_generator(self._rng)

    def from_the_beginning(self) -> Seed:
        """A source of the same numbers that shares nothing with this one; no number must have been drawn before."""
        return Seed(copy.deepcopy(self._rng))

    @property
    def told(self) -> int | None:
        """The whole number that was given; None for a generator."""
        return self._rng if type(self._rng) is int else None


@dataclass(frozen=True)
class Call:
    """The options of :func:`angsync.synchronize`, whose docstring says what each one means."""

    solver: SolverBase | None = None
    """None: chosen by :mod:`angsync.pipeline.regime`."""
    robust: Robust | None = None
    """Settings of a robust fit, which chooses its own solvers; then ``solver`` is None."""
    start: str | NDArray = "auto"
    """A name, or phases as a NumPy array whose length is not checked yet: see :meth:`start_for`."""
    stopping: Stopping = field(default_factory=Stopping)
    certify: bool = True
    gauge: Any = "first"
    callback: Callback | None = None
    on_failure: OnFailure = "warn"
    seed: Seed = field(default_factory=Seed)
    hermitian: Hermitian = "full"
    anchors: Anchors | None = None
    priors: Priors | None = None
    threads: int | None = None
    effort: Effort = "normal"
    memory: int | None = None
    """Bytes that a stack which is read in parts may take at once; None: half of what is free."""
    absent: str | None = None
    """What chunks are that a zarr store does not hold: ``"error"``, ``"empty"`` or ``"zeros"``; None: as is usual."""
    start_labels: tuple[Hashable, ...] | None = None
    """Of the nodes of an earlier result that is the start, until :meth:`about` has brought them into our order."""
    start_is_result: bool = False
    """Then phases may be NaN: in components that an earlier call had not reached."""

    @classmethod
    def checked(
        cls,
        *,
        solver: Any,
        start: Any,
        stopping: Any,
        certify: bool,
        gauge: Any,
        callback: Any,
        on_failure: Any,
        rng: Any,
        hermitian: Any,
        anchors: Any,
        priors: Any,
        threads: Any,
        effort: Any,
        memory: Any = None,
        absent: Any = None,
    ) -> Call:
        """The options as they were given; whatever is wrong with them is said here, before any work."""
        if stopping is None:
            stopping = _DEFAULT_STOPPING
        elif not isinstance(stopping, Stopping):
            raise InputError(f"stopping must be ang.Stopping(tolerance=...), but it is {stopping!r}.")
        if callback is not None and not callable(callback):
            raise InputError(f"callback must be a function of the progress, but it is {callback!r}.")
        if on_failure not in ("warn", "raise", "ignore"):
            raise InputError(f"on_failure must be 'warn', 'raise' or 'ignore', but it is {on_failure!r}.")
        if hermitian not in ("full", "upper", "lower"):
            raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {hermitian!r}.")
        if absent not in (None, "error", "empty", "zeros"):
            raise InputError(f"absent must be 'error', 'empty' or 'zeros', but it is {absent!r}.")
        check_effort(effort)
        own, robust = _solver_or_robust(solver)
        return cls(
            solver=own,
            robust=robust,
            start=_start(start),
            stopping=stopping,
            certify=bool(certify),
            gauge=gauge,
            callback=callback,
            on_failure=on_failure,
            seed=Seed(rng),
            hermitian=hermitian,
            anchors=_nodes(anchors, "anchors", "angle"),
            priors=_nodes(priors, "priors", "(angle, weight)"),
            threads=_threads(threads),
            effort=effort,
            memory=_memory(memory),
            absent=absent,
            start_labels=start.labels if isinstance(start, SyncResult) else None,
            start_is_result=isinstance(start, SyncResult),
        )

    @property
    def is_free_to_start_anywhere(self) -> bool:
        """Whether the start was left to us."""
        return isinstance(self.start, str) and self.start == "auto"

    def start_for(self, n: int) -> str | NDArray:
        """The name of the start, or the phases given, one for each of the n nodes."""
        if isinstance(self.start, str):
            return self.start
        unreached = np.isnan(self.start) if self.start_is_result else np.zeros(0, dtype=bool)
        if not unreached.any():
            return as_phases(self.start, n, name="start")
        return np.where(unreached, np.nan, as_phases(np.where(unreached, 1, self.start), n, name="start"))

    def about(self, n: int, labels: tuple[Hashable, ...] | None) -> Call:
        """The call for a problem of n nodes with these labels: the start in their order, the callback told of them."""
        if self.start_labels is None and self.callback is None:
            return self
        call = self
        if call.start_labels is not None and labels is not None and call.start_labels != labels:
            if set(call.start_labels) != set(labels):
                other = next(iter(set(labels).symmetric_difference(call.start_labels)))
                raise InputError(
                    f"start is a result about other nodes: {other!r} is in one of the two problems only. "
                    "Leave start out, or give a result about the same nodes."
                )
            place = {label: k for k, label in enumerate(call.start_labels)}
            order = [place[label] for label in labels]
            call = replace(call, start=np.asarray(call.start)[order])
        call = replace(call, start_labels=None)
        callback = call.callback
        if callback is None:
            return call
        return replace(call, callback=lambda progress: callback(replace(progress, n=n, labels=labels)))


def check_effort(effort: Any) -> None:
    """Refuse what is no name of an effort."""
    if effort not in EFFORTS:
        raise InputError(f"effort must be 'low', 'normal' or 'high', but it is {effort!r}.")


def _solver_or_robust(given: Any) -> tuple[SolverBase | None, Robust | None]:
    if isinstance(given, str):
        if given == "auto":
            return None, None
        if given not in SOLVERS:
            names = ", ".join(map(repr, ("auto", *SOLVERS)))
            raise InputError(f"solver must be one of {names}, or a solver such as ang.GPM(alpha=4.0), not {given!r}.")
        given = SOLVERS[given].load()()
    if isinstance(given, type):
        raise InputError(f"solver must be an instance: {given.__name__}() instead of {given.__name__}.")
    if isinstance(given, Solver):
        return as_solver(given), None
    if isinstance(given, Robust):
        return None, given
    raise InputError(f"solver must have init and step, which {given!r} has not.")


def _start(given: Any) -> str | NDArray:
    if isinstance(given, str):
        if given == "auto" or given in OFFERED:
            return given
        raise InputError(f"start must be 'auto', {', '.join(map(repr, OFFERED))}, phases or a result, not {given!r}.")
    phases = given.phases if isinstance(given, SyncResult) else given
    return to_numpy(phases) if is_foreign(phases) else phases


def _nodes(given: Any, name: str, value: str) -> Any:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{name} must be a dictionary {{node: {value}}}, but it is {given!r}.")
    return given or None


def _memory(given: Any) -> int | None:
    if given is None:
        return None
    from angsync.problem.memory import bytes_of

    return bytes_of(given)


def _threads(given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise InputError(f"threads must be a whole number, 1 or more, but it is {given!r}.")
    return int(given)
