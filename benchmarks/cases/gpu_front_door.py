"""What users type, timed on a GPU: `ang.synchronize` of arrays on the device, beside the kernel that does the work.

Times are medians of the host's clock around calls that follow each other, the device idle before and after each. `of
kernel` is the rate of the front door over that of the bare kernel (C taken to be Hermitian and in one piece, nothing
checked, no certificate), timed in the same way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cupy as cp
import numpy as np

import angsync as ang
from angsync.batch.on_device import solve_batch_on_device
from cases.gpu_problems import coherence, dense_matrix

STACKS = {10: 4_000_000, 20: 1_000_000, 32: 500_000, 64: 120_000}
STACK_TARGETS = {False: 0.7, True: 0.4}  # of the kernel's rate at n = 20, without and with certificates
DENSE_TARGETS = {False: 35.0, True: 60.0}  # ms at n = 32768
Row = dict[str, Any]


def wall_milliseconds(call: Callable[[], Any], repeats: int = 9) -> float:
    """The median over calls, after two that are not counted."""
    times = []
    for k in range(repeats + 2):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        if k > 1:
            times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def stacks(share: float) -> Iterator[Row]:
    """Stacks of sample coherence matrices, `share` of the numbers above; their triangles differ by rounding."""
    for n, count in STACKS.items():
        stack = coherence(int(count * share), n, "easy", n)
        kernel = wall_milliseconds(partial(solve_batch_on_device, stack, tolerance=1e-5))
        for certify in (False, True):
            ms = wall_milliseconds(partial(ang.synchronize, stack, certify=certify))
            row: Row = {"what": "front door, stack" + ", certified" * certify, "n": n, "tolerance": 1e-5, "ms": ms,
                        "count": len(stack), "M/s": len(stack) / ms / 1e3, "of kernel": kernel / ms}  # fmt: skip
            if n == 20:
                row["met"] = "yes" if kernel / ms >= STACK_TARGETS[certify] else "no"
            if certify:
                row["certified"] = float((ang.synchronize(stack).verdict == 0).mean())
            yield row
        del stack
        cp.get_default_memory_pool().free_all_blocks()


def dense(n: int) -> Iterator[Row]:
    """One matrix of order n at three noise levels; half of the lower triangle is off by one unit in the last place."""
    for name, sigma in (("0.1", 0.1), ("n^(1/4)/2", n**0.25 / 2), ("0.3 sqrt n", 0.3 * n**0.5)):
        C = dense_matrix(n, sigma)
        C[n // 2 :, : n // 2] *= np.float32(1 + 2.0**-23)
        for certify in (False, True):
            ms = wall_milliseconds(partial(ang.synchronize, C, certify=certify), repeats=5)
            result = ang.synchronize(C, certify=certify)
            row: Row = {"what": f"front door, dense, sigma = {name}" + ", certified" * certify, "n": n, "ms": ms,
                        "iterations": float(result.iterations)}  # fmt: skip
            if n == 32768:
                row |= {"target": DENSE_TARGETS[certify]}
            if result.certificate is not None:
                row["certified"] = float(result.certificate.verdict is ang.Verdict.CERTIFIED)
            yield row
        del C
        cp.get_default_memory_pool().free_all_blocks()
