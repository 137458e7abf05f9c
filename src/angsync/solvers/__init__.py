"""Solvers: frozen settings with ``init`` and ``step``. The loop is in :mod:`angsync.iteration`."""

from angsync.solvers.gpm import GPM
from angsync.solvers.newton import Newton

__all__ = ["GPM", "Newton"]
