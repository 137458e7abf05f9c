"""What the tests of the CUDA kernels and of their references share."""

import numpy as np
import pytest
from problems import coherence

from angsync.kernels.cuda import reference
from angsync.problem.array_libraries import cupy

needs_device = pytest.mark.skipif(cupy() is None, reason="needs CuPy and a CUDA device")
ORDERS = (1, 2, 3, 5, 8, 10, 11, 17, 20, 31, 32, 33, 47, 64, 65, 100, 127, 128)


def easy_stack(count, n):
    return coherence(n, count, 50, floor=0.5, decay=10, seed=2).astype(np.complex64)


def hard_stack(count, n):
    """Fast decay and few looks: some of these have a worse optimum near a start from two power steps."""
    return coherence(n, count, 20, floor=0.05, decay=3, seed=11, turned=False).astype(np.complex64)


def spoilt_stack(n):
    """101 problems, five of them special: not finite, tiny, huge, zero, and one that is not a full last group."""
    C = easy_stack(101, n)
    C[7, n // 2, 0] = np.nan
    C[8, 0, n - 1] = np.inf
    C[9] *= np.float32(1e-25)
    C[11] *= np.float32(1e20)
    C[100] = 0
    return C


def edges_of_the_tolerance(C, start, options):
    """Tolerances just above and just below the residual of iterate 4, and where each must stop."""
    residual = reference.gpm(C, start, tolerance=0.0, max_iterations=6, **options).residual
    assert residual[3] > residual[4] > residual[5]
    return ((residual[4] * (1 + 1e-6), 4), (residual[4] * (1 - 1e-6), 5))
