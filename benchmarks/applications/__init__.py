"""Every application on fixed seeds and named data, beside its peers: a module each, with ``rows(quick) -> list[Row]``.

``benchmarks/applications.py`` prints them as one table. A peer that is not installed is a row that says so; peers that
need other versions of shared libraries run in an environment of their own (``--peers-python``).
"""

from __future__ import annotations

from dataclasses import dataclass

NAMES = ("clocks", "ranking", "phase_retrieval", "phase_linking", "beam_optics", "radio", "pose_graphs")
"""The modules, in the order of the table."""


@dataclass(frozen=True)
class Row:
    """One figure: what was measured on which data, ours, the peer's, what was asked for, and whether it was met."""

    what: str
    ours: str
    peer: str = ""
    """Figures of others in the same run, named."""
    target: str = ""
    met: bool | None = None
    """None where nothing was asked for."""
    note: str = ""
    """Says "we do not win here" where that is so."""
