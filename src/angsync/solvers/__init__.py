"""Solvers: frozen settings with ``init`` and ``step``. The loop is in :mod:`angsync.solvers.loop`."""

from angsync.solvers.accelerated import AcceleratedGPM
from angsync.solvers.gpm import GPM
from angsync.solvers.low_rank import LowRankSDP
from angsync.solvers.newton import Newton

__all__ = ["GPM", "AcceleratedGPM", "LowRankSDP", "Newton"]
