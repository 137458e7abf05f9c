"""The paper's claims, measured: ``angsync reproduce``.

An experiment is a pure function of a size and a seed that returns rows (:mod:`angsync.study.reproduce.rows`) and series
for the figures. :mod:`angsync.study.reproduce.engine` runs them, :mod:`angsync.study.reproduce.store` keeps what is
finished.
"""

from angsync.study.reproduce.engine import EXPERIMENTS, Experiment, lines, run_experiments, violated
from angsync.study.reproduce.rows import CLAIMS, Piece, Row
from angsync.study.reproduce.sizes import FULL, QUICK, Size

__all__ = [
    "CLAIMS",
    "EXPERIMENTS",
    "FULL",
    "QUICK",
    "Experiment",
    "Piece",
    "Row",
    "Size",
    "lines",
    "run_experiments",
    "violated",
]
