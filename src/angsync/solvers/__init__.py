"""Solvers: frozen settings with ``init`` and ``step``. The loop is in :mod:`angsync.iteration`."""

from angsync.solvers.accelerated import AcceleratedGPM
from angsync.solvers.gpm import GPM
from angsync.solvers.low_rank import LowRankSDP
from angsync.solvers.newton import Newton
from angsync.solvers.robust import Robust

__all__ = ["GPM", "AcceleratedGPM", "LowRankSDP", "Newton", "Robust"]
