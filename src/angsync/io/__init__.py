"""Readers and writers, one format a file. Nothing in here solves or judges anything. Loaded when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from angsync.io.phases_file import read_phases
    from angsync.io.reading import read, write_matrix, write_measurements

__all__ = ["read", "read_phases", "write_matrix", "write_measurements"]

_HOME = {"read": "reading", "read_phases": "phases_file", "write_matrix": "reading", "write_measurements": "reading"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"angsync.io.{_HOME[name]}"), name)
    raise AttributeError(f"module 'angsync.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
