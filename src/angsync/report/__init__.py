"""Figures, the HTML page and the certificate in words: draws what it is given, computes no answer.

Loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from angsync.report.network_plot import plot_network
    from angsync.report.page import render_page, write_page
    from angsync.report.plotting import plot
    from angsync.report.residuals_plot import plot_residuals
    from angsync.report.sentences import certificate_in_words
    from angsync.report.stack_plot import plot_stack

__all__ = [
    "certificate_in_words", "plot", "plot_network", "plot_residuals", "plot_stack", "render_page", "write_page",
]  # fmt: skip

_HOME = {
    "certificate_in_words": "sentences",
    "plot": "plotting",
    "plot_network": "network_plot",
    "plot_residuals": "residuals_plot",
    "plot_stack": "stack_plot",
    "render_page": "page",
    "write_page": "page",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"angsync.report.{_HOME[name]}"), name)
    raise AttributeError(f"module 'angsync.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
