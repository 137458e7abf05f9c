"""Ways out of points that are not optimal: negative curvature, the lift to rank two, and time."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.certificate.escape import ascend, find_better, smallest_curvature
from angsync.problem.objective import objective
from angsync.problem.operators import ScaledOperator
from angsync.solvers.stopping import Clock


def test_saddles_are_left_by_negative_curvature_where_the_lift_is_not_needed():
    # first-order critical, gradient 0: signs of a real matrix. The witness must come from the tangent Hessian alone.
    triangle = -(np.ones((3, 3)) - np.eye(3))
    operator = ScaledOperator(ang.as_operator(triangle), 0)
    for z in (np.array([1, 1, -1], dtype=complex), np.array([1, -1, 1], dtype=complex)):
        found = find_better(
            operator, z, operator.apply(z), margin=1e-9, direction=None, clock=Clock(), rng=np.random.default_rng(0)
        )
        assert found is not None
        assert objective(triangle, found) == pytest.approx(3)


def test_both_signs_of_a_curvature_direction_are_tried():
    triangle = -(np.ones((3, 3)) - np.eye(3))
    t, value, _ = smallest_curvature(
        ang.as_operator(triangle), np.array([1, 1, -1], dtype=complex), np.random.default_rng(0)
    )
    assert value < -0.5
    assert abs(t.sum()) < 1e-9


def test_an_ascent_takes_no_longer_than_the_clock_allows():
    C = ang.simulate.gaussian(40, 1.0, rng=0).C
    start = np.exp(1j * np.arange(40.0))
    operator = ang.as_operator(C)
    assert np.array_equal(ascend(operator, start, Clock(max_seconds=0.0)), start)
    assert objective(C, ascend(operator, start, Clock())) > objective(C, start)
