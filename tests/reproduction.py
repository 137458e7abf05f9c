"""Small runs of ``angsync reproduce`` for tests: sizes that take no time."""

from __future__ import annotations

import signal

from angsync.study.reproduce import Size

TINY = Size(
    model_order=60, identities=6, property_cases=200, facts=21, critical=3, theorems=16, convergence=8, relaxations=1,
    figure_order=40, bound_runs=24, bound_order=150, efficiency_order=20, efficiency_runs=2, efficiency_large_runs=2,
    transition_orders=(20,), transition_runs=2,
)  # fmt: skip


ROW_OF_EXPERIMENT = {
    "M1": "measurement model", "M2": "objectives", "M3": "distances", "A1": "algorithm", "A2": "eigenvector",
    "A3": "relaxation", "F1": "estimators", "F3": "estimators", "F4": "critical points", "T1": "every iterate",
    "T2": "every iterate", "P1": "normalization", "P2": "one step", "C1": "Gaussian errors",
    "T3": "linear convergence", "P3": "linear convergence", "P5": "linear convergence", "P4": "critical distances",
    "C2": "Gaussian convergence", "B1": "efficiency bound",
}  # fmt: skip


def swallowed():
    """Stop early at Ctrl-C, as the solvers' loop does."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return
