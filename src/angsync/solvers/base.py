"""What a solver is: settings frozen in a dataclass, progress in a state, one step at a time, no loop.

:class:`Solver` and :class:`State` say what a solver of your own needs. :class:`SolverBase` and :class:`StateBase` say
everything that the loop and the pipeline ask, with the general answers; the solvers of this package derive from them.
A solver that only follows the protocol is wrapped by :func:`as_solver`, so that nobody has to ask which members it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy.typing import NDArray

from angsync.problem.operators import HermitianOperator
from angsync.problem.residual import objective_and_residual


@runtime_checkable
class State(Protocol):
    """A point whose product with C is known. Solvers may keep more in theirs."""

    @property
    def z(self) -> NDArray: ...

    @property
    def Cz(self) -> NDArray: ...

    @property
    def exhausted(self) -> bool:
        """True when the solver cannot improve this point in the precision at hand."""
        ...


@runtime_checkable
class Solver(Protocol):
    """Settings frozen in a dataclass, progress in a state, one step at a time, no loop."""

    def init(self, operator: HermitianOperator, z: NDArray) -> Any: ...

    def step(self, operator: HermitianOperator, state: Any) -> Any: ...


Measures = tuple[float, float, float]
"""Objective, residual and length of the step of one iterate."""


class StateBase:
    """A point, and all that the loop asks of it."""

    z: NDArray
    Cz: NDArray
    exhausted: bool = False
    intermediate: tuple[Measures, ...] = ()
    """The iterates between the last state and this one, both excluded, where a solver takes several steps at once."""
    last_step_length: float = 0.0
    """2-norm of the last step, where there are intermediate iterates. Without them the loop computes it."""
    ended_by: BaseException | None = None
    """What ended the work of a solver that takes several steps at once, at this state: the loop raises it."""

    def measured(self, floor: float) -> tuple[float, float]:
        """Objective and residual. A gradient below ``floor`` is rounding and counts as zero."""
        return objective_and_residual(self.z, self.Cz, floor)


class SolverBase(ABC):
    """A solver, and all that the loop and the pipeline ask of it."""

    finishes_light_rows: ClassVar[bool] = False
    """Whether the loop may ask for further steps until nodes of small weight fit as well. That takes Newton's method a
    few steps, a power method thousands."""
    starts: int | None = 1
    """How many starting points the pipeline tries. None: more than one where the first is not reliable."""
    takes_further_starts: ClassVar[bool] = False
    """Whether further starting points are given to this solver; otherwise they are given to Newton's method."""

    @abstractmethod
    def init(self, operator: HermitianOperator, z: NDArray) -> Any:
        """The state at the starting point."""

    @abstractmethod
    def step(self, operator: HermitianOperator, state: Any) -> Any:
        """The state after one more step."""

    def limited_to(self, most_steps: int, tolerance: float) -> SolverBase:
        """The solver to call next: its state is at most so many steps away, and need not go below this residual.

        Solvers that take several steps at once need it; every other solver answers with itself.
        """
        return self

    def describe(self) -> str:
        """The name of the method, with the settings that tell it from others of its kind."""
        return type(self).__name__


class _AdaptedState(StateBase):
    """A state that follows the protocol only."""

    def __init__(self, given: State) -> None:
        self.given = given
        self.z, self.Cz, self.exhausted = given.z, given.Cz, given.exhausted


class _AdaptedSolver(SolverBase):
    """A solver that follows the protocol only; it prints as the solver that was given."""

    def __init__(self, given: Solver) -> None:
        self.given = given

    def init(self, operator: HermitianOperator, z: NDArray) -> StateBase:
        return _as_state(self.given.init(operator, z))

    def step(self, operator: HermitianOperator, state: StateBase) -> StateBase:
        return _as_state(self.given.step(operator, state.given if isinstance(state, _AdaptedState) else state))

    def describe(self) -> str:
        return type(self.given).__name__

    def __repr__(self) -> str:
        return repr(self.given)

    def __str__(self) -> str:
        return str(self.given)


def _as_state(state: State | StateBase) -> StateBase:
    return state if isinstance(state, StateBase) else _AdaptedState(state)


def as_solver(solver: Solver | SolverBase) -> SolverBase:
    """The solver itself, or, where it only has ``init`` and ``step``, a wrapper with the general answers."""
    return solver if isinstance(solver, SolverBase) else _AdaptedSolver(solver)
