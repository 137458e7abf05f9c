"""The benchmark that anybody can run again: ourselves and others on the same problems, taking turns in one process.

``angsync bench`` is its command, :func:`run_groups` the same for programs. Every method has its best number of BLAS
threads, methods that solve the same problem have to reach the same objective, and the read bandwidth of the machine
is measured beside every race, so that a time is also a fraction of what the machine could do.
"""

from angsync.study.bench.engine import GROUPS, Group, heading, run_groups
from angsync.study.bench.peers import table as peers_table
from angsync.study.bench.rows import Row
from angsync.study.bench.runner import Contestant, Lap, race
from angsync.study.bench.tables import table

__all__ = [
    "GROUPS",
    "Contestant",
    "Group",
    "Lap",
    "Row",
    "heading",
    "peers_table",
    "race",
    "run_groups",
    "table",
]
