"""Applications translate: domain data into phase synchronization, and phases back. Loaded when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from angsync.applications import beam_optics, clocks, phase_linking, phase_retrieval, pose_graph, radio, ranking

__all__ = ["beam_optics", "clocks", "phase_linking", "phase_retrieval", "pose_graph", "radio", "ranking"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"angsync.applications.{name}")
    raise AttributeError(f"module 'angsync.applications' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
