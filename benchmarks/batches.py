"""Many small problems beside batched eigh, a batched GPM and dolphin's phase linking, and how the cost grows.

    python benchmarks/batches.py [--quick] [--repeats K] [--seed S]
    python benchmarks/batches.py --sets

How to read the tables: docs/benchmarks.md. `benchmarks/results/batches.json` gets every figure. With
`--sets`: microseconds of CPU time per problem on one thread, with a certificate and without, for every instruction set
of this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
from cases.command import bench

from angsync import synchronize
from angsync.study.bench.problems import coherence_stack

ORDERS = (10, 20, 60, 124, 128, 129, 140)
ENTRIES = 2_000_000  # of a stack
REPEATS = 5


def seconds(stack: np.ndarray, certify: bool) -> float:
    """The least CPU time of a call."""
    laps = []
    for _ in range(REPEATS):
        begin = time.process_time()
        synchronize(stack, certify=certify, on_failure="ignore", effort="low")
        laps.append(time.process_time() - begin)
    return min(laps)


def one_set() -> None:
    """The table of the instruction set in use."""
    from angsync.kernels.library import INSTRUCTIONS

    for dtype in (np.complex64, np.complex128):
        for certify in (False, True):
            figures = []
            for n in ORDERS:
                stack = coherence_stack(n, ENTRIES // n**2, "easy", 0).astype(dtype)
                figures.append(f"{1e6 * seconds(stack, certify) / len(stack):8.2f}")
            proof = "certified" if certify else ""
            print(f"{INSTRUCTIONS:8}{np.dtype(dtype).name:12}{proof:10}", *figures)


if __name__ == "__main__":
    if "--one-set" in sys.argv:
        one_set()
    elif "--sets" in sys.argv:
        from angsync.kernels.library import AVAILABLE

        print(" " * 30, *(f"{f'n = {n}':>8}" for n in ORDERS), flush=True)
        for name in AVAILABLE:
            environment = os.environ | {"ANGSYNC_INSTRUCTIONS": name, "OMP_NUM_THREADS": "1"}
            subprocess.run([sys.executable, __file__, "--one-set"], env=environment, check=True)
    else:
        bench("batches.json", "batches", "growth")
