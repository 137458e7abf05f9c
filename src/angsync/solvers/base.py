"""What a solver is: settings frozen in a dataclass, progress in a state, one step at a time, no loop."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from angsync.problem.operators import HermitianOperator


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
