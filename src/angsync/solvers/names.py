"""The solvers by the name that the command line gives them, without loading NumPy.

A new solver takes one row here, beside its file and its row in the table of public names (``angsync/__init__.py``).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NamedSolver:
    """One row of the table: enough to offer a solver, and to load it once it is chosen."""

    name: str
    """On the command line: ``--solver NAME``."""
    class_name: str
    """In Python: ``ang.CLASS_NAME()``."""
    words: str
    module: str

    def load(self) -> Any:
        """The class; its settings all have defaults."""
        return getattr(importlib.import_module(self.module), self.class_name)


SOLVERS: dict[str, NamedSolver] = {
    row.name: row
    for row in (
        NamedSolver(
            "accelerated",
            "AcceleratedGPM",
            "the power method, accelerated, for dense problems",
            "angsync.solvers.accelerated",
        ),
        NamedSolver("gpm", "GPM", "the generalized power method of the paper", "angsync.solvers.gpm"),
        NamedSolver("newton", "Newton", "a trust-region Newton method, for sparse graphs", "angsync.solvers.newton"),
        # Robust is no solver with init and step: it weighs the measurements and calls one, so it lives in the pipeline
        NamedSolver(
            "robust", "Robust", "phases that wrong measurements do not spoil", "angsync.pipeline.robust.settings"
        ),
        NamedSolver("sdp", "LowRankSDP", "the semidefinite relaxation by low-rank factors", "angsync.solvers.low_rank"),
    )
}
"""By name, in the order in which they are listed for users."""
