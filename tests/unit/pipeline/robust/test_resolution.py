"""Angles that were rounded: noise is not smaller than their steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.robust.resolution import rounding_of


@pytest.mark.parametrize(
    ("angle", "unit", "step"),
    [
        ([40, 95, 54, -22], "deg", math.radians(1)),
        ([0.25, 1.5, -0.75], "rad", 0.01),
        ([0.123, 0.25, 0.4], "turn", 2 * math.pi / 1000),
        ([0.3, 0.5], "rad", 0.0),
        ([0.1234567891, 0.9876543219, 0.3141592653], "rad", 0.0),
    ],
)
def test_steps_are_seen(angle, unit, step):
    m = ang.Measurements(range(len(angle)), range(1, len(angle) + 1), angle, unit=unit)
    assert rounding_of(m) == pytest.approx(step / math.sqrt(12), rel=1e-9)


def test_a_cycle_that_closes_by_rounding_is_no_exact_measurement():
    # One of the cycles of four closes exactly, all others by a degree or two: the noise is about a degree.
    links = ang.Measurements(
        [0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 0], [40, 95, 54, -22, -74, -19], unit="deg"
    )  # fmt: skip
    result = ang.synchronize(links, solver=ang.Robust())
    assert result.robust.scale >= math.radians(1) / math.sqrt(12)
    assert result.robust.credible is not True
    assert np.degrees(result.standard_errors()[1:]).min() > 0.1
    assert "rounding" in result.robust.note
