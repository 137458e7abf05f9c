"""Problems of a stack that are too large for the batch kernels, or have one node."""

from __future__ import annotations

import numpy as np
from problems import gaussian_stack

import angsync as ang


def test_large_and_single_nodes(batch_solver):
    one = ang.synchronize(np.full((3, 1, 1), 2.0))
    np.testing.assert_array_equal(one.z, 1)
    np.testing.assert_array_equal(one.objective, 2)
    assert one.certified.all()
    C = gaussian_stack(130, 2, sigma=1.0)
    large = ang.synchronize(C)
    assert large.certified.all()
    np.testing.assert_array_equal(large.z[1], ang.synchronize(C[1]).z)
