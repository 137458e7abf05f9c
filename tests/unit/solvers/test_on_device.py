"""The generalized power method where the matrix lies."""

from __future__ import annotations

import numpy as np
import pytest
from stand_in import Array

import angsync as ang
from angsync.solvers.on_device import solve_on_device


@pytest.fixture(params=[np.complex64, np.complex128])
def C(request):
    return ang.simulate.gaussian(40, 0.8, rng=3).C.astype(request.param)


def test_the_loop_runs_there(device, C):
    found = solve_on_device(device(C), tolerance=1e-9, max_iterations=200)
    assert type(found.z) is Array
    assert found.objective[-1] == pytest.approx(ang.synchronize(C).objective, rel=1e-6)
