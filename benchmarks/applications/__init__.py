"""Each application on fixed seeds and named data, compared with its peers: a module each, with ``rows(quick)``."""

from __future__ import annotations

from dataclasses import dataclass


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
