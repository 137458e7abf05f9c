"""Solvers: the methods that maximize f, their starting points, and the one loop. Loaded when first used.

What a solver is stands in :mod:`angsync.solvers.base`, the loop in :mod:`angsync.solvers.loop`, the solvers by name in
:mod:`angsync.solvers.names`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from angsync.solvers.names import SOLVERS

if TYPE_CHECKING:
    from angsync.solvers.accelerated import AcceleratedGPM
    from angsync.solvers.gpm import GPM
    from angsync.solvers.low_rank import LowRankSDP
    from angsync.solvers.newton import Newton

__all__ = ["GPM", "AcceleratedGPM", "LowRankSDP", "Newton"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = next(row for row in SOLVERS.values() if row.class_name == name).load()
        globals()[name] = value
        return value
    raise AttributeError(f"module 'angsync.solvers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
