"""The starting points by name, without loading NumPy: what they are called, in words, and where they are made.

A new start takes one row here, beside its file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from angsync.problem.operators import Operator

    Make = Callable[[Operator, np.random.Generator], NDArray]

# starts that only "auto" takes
LEADING = "leading"
CAREFUL = "careful"


@dataclass(frozen=True)
class NamedStart:
    """One row of the table. Its functions take the operator and a generator, which many do not use, and give phases."""

    name: str
    words: str
    """How ``result.method`` names the start."""
    function: str
    """``"module.function"`` of this package."""
    quick_function: str | None = None
    """The same start, only as exact as a solver that follows needs it; None where ``function`` is that already."""
    offered: bool = True
    """Whether users may ask for it by name; if not, only ``solver="auto"`` takes it."""

    @property
    def make(self) -> Make:
        """The function that makes the phases, loaded now."""
        return _loaded(self.function)

    @property
    def make_quickly(self) -> Make:
        """The function for a start that ``solver="auto"`` goes on from."""
        return _loaded(self.quick_function or self.function)


def _loaded(function: str) -> Make:
    module, name = function.split(".")
    make: Make = getattr(importlib.import_module(f"angsync.solvers.starts.{module}"), name)
    return make


STARTS: dict[str, NamedStart] = {
    row.name: row
    for row in (
        NamedStart(
            "eigenvector", "the eigenvector estimator", "eigenvector.eigenvector", "eigenvector.quick_eigenvector"
        ),
        NamedStart(
            "normalized_eigenvector",
            "the degree-normalized eigenvector",
            "eigenvector.normalized_eigenvector",
            "eigenvector.quick_normalized_eigenvector",
        ),
        NamedStart(
            "connection_laplacian",
            "the lowest eigenvector of the connection Laplacian",
            "laplacian.connection_laplacian",
        ),
        NamedStart("spanning_tree", "a spanning tree", "tree.spanning_tree"),
        NamedStart("multilevel", "a multilevel start", "multilevel.multilevel"),
        NamedStart("random", "random phases", "chance.random_phases"),
        NamedStart(LEADING, "a rough leading eigenvector", "leading.leading_direction", offered=False),
        NamedStart("informed_power", "power steps from a breadth-first tree", "power.informed_power", offered=False),
        NamedStart(CAREFUL, "a careful multilevel start", "multilevel.careful_multilevel", offered=False),
    )
}
"""By name, in the order in which they are listed for users."""

OFFERED: tuple[str, ...] = tuple(row.name for row in STARTS.values() if row.offered)
"""The names that ``start=`` and ``--start`` take, beside ``"auto"``."""
