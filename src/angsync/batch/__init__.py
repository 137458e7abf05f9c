"""Stacks of small problems: ``ang.synchronize(stack)``, and :func:`synchronize_stack` with weights and masks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from angsync.batch.emi import emi_matrix
    from angsync.batch.result import BatchResult, BatchStatus
    from angsync.batch.stack import synchronize_stack

_HOME = {
    "BatchResult": "result",
    "BatchStatus": "result",
    "emi_matrix": "emi",
    "synchronize_stack": "stack",
}

__all__ = ["BatchResult", "BatchStatus", "emi_matrix", "synchronize_stack"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"angsync.batch.{_HOME[name]}"), name)
    raise AttributeError(f"module 'angsync.batch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
