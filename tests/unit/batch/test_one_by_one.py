"""Problems of a stack that are too large for the batch kernels, or have one node."""

from __future__ import annotations

import numpy as np
import pytest
from problems import gaussian_stack, interrupt

import angsync as ang
from angsync.batch import one_by_one
from angsync.batch.result import BatchStatus
from angsync.errors import ConvergenceWarning
from angsync.kernels.batch.numbers import MAX_ORDER


def test_large_and_single_nodes(batch_solver):
    one = ang.synchronize(np.full((3, 1, 1), 2.0))
    np.testing.assert_array_equal(one.z, 1)
    np.testing.assert_array_equal(one.objective, 2)
    assert one.certified.all()
    C = gaussian_stack(MAX_ORDER + 1, 2, sigma=1.0)
    large = ang.synchronize(C)
    assert large.certified.all()
    np.testing.assert_array_equal(large.z[1], ang.synchronize(C[1]).z)


def test_a_large_problem_that_is_not_finite_is_flagged_and_alone():
    C = gaussian_stack(MAX_ORDER + 1, 2, sigma=1.0)
    C[0, 3, 4] = np.nan
    with pytest.warns(ConvergenceWarning, match="1 not finite"):
        result = ang.synchronize(C)
    assert result.status.tolist() == [BatchStatus.NOT_FINITE, BatchStatus.CONVERGED]
    assert np.isnan(result.z[0]).all()
    assert result.certified.tolist() == [False, True]


def test_limits_and_triangles_hold_for_large_problems():
    C = gaussian_stack(MAX_ORDER + 1, 1, sigma=1.0)
    options = {"stopping": ang.Stopping(max_iterations=0), "on_failure": "ignore", "certify": False}
    assert ang.synchronize(C, **options).status.tolist() == [BatchStatus.ITERATION_LIMIT]
    upper = ang.synchronize(np.triu(C), hermitian="upper", gauge="mean")
    assert ang.distance(upper.z[0], ang.synchronize(C[0]).z) < 1e-9
    assert abs(upper.z[0].sum().imag) < 1e-10


def test_ctrl_c_in_a_large_problem_ends_the_stack(monkeypatch):
    C = gaussian_stack(MAX_ORDER + 1, 3, sigma=1.0)
    usual, solved = one_by_one.plain.solve, []

    def second_is_interrupted(data, call):
        solved.append(data)
        return interrupt() if len(solved) == 2 else usual(data, call)

    monkeypatch.setattr(one_by_one.plain, "solve", second_is_interrupted)
    with pytest.warns(ConvergenceWarning, match="2 not reached|interrupted"):
        result = ang.synchronize(C)
    assert result.status.tolist() == [BatchStatus.CONVERGED, BatchStatus.INTERRUPTED, BatchStatus.INTERRUPTED]
    assert len(solved) == 2
