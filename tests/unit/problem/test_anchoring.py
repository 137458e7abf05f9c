"""Anchors and priors: the same answer as the problem with them written out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError, NotFiniteError, UnitWarning
from angsync.problem.anchoring import GROUND, grounded


def test_measurements_between_anchors_are_dropped_and_the_others_are_moved():
    m = ang.Measurements([0, 1, 2], [1, 2, 3], [0.1, 0.2, 0.3], weight=[1.0, 2.0, 3.0])
    problem = grounded(m, {0: 1.0, 1: 2.0}, {3: (0.5, 7.0)})
    assert problem.kept.tolist() == [False, True, True]
    assert problem.ground == 2
    assert problem.measurements.labels == (2, 3, GROUND)
    assert problem.place.tolist() == [2, 2, 0, 1]
    inner = problem.measurements
    assert inner.i.tolist() == [2, 0, 1]
    assert inner.j.tolist() == [0, 1, 2]
    # theta_1 - theta_2 = 0.2 with theta_1 = ground + 2 is ground - theta_2 = -1.8
    assert inner.angle == pytest.approx([-1.8, 0.3, 0.5])
    assert inner.weight.tolist() == [2.0, 3.0, 7.0]
    assert "ground" in repr(GROUND)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"anchors": {7: 0.0}}, InputError, "anchor 7 is not a node: nodes are 0 to 2"),
        ({"anchors": {-1: 0.0}}, InputError, "not a node"),
        ({"anchors": {True: 0.0}}, InputError, "not a node"),
        ({"anchors": {0: "north"}}, InputError, "angle in radians"),
        ({"anchors": {0: np.nan}}, NotFiniteError, "must be finite"),
        ({"priors": {0: 1.0}}, InputError, r"\(angle, weight\)"),
        ({"priors": {0: (1.0, 2.0, 3.0)}}, InputError, r"\(angle, weight\)"),
        ({"priors": {0: (1.0, "heavy")}}, InputError, r"\(angle, weight\)"),
        ({"anchors": {0: 1e300}}, InputError, "node 0 is 1e.300 rad.*Wrap"),
        ({"priors": {0: (1e300, 1.0)}}, InputError, "node 0 is 1e.300 rad.*Wrap"),
        ({"priors": {0: (0.1, 1e308)}}, InputError, "prior of node 0 has weight 1e.308, too near to overflow"),
        ({"priors": {0: (np.inf, 1.0)}}, NotFiniteError, "must be finite"),
        ({"priors": {0: (1.0, 0.0)}}, InputError, "finite and positive"),
        ({"priors": {0: (1.0, np.inf)}}, InputError, "use anchors"),
        ({"anchors": {0: 1.0}, "priors": {0: (1.0, 1.0)}}, InputError, "an anchor and a prior"),
        ({"anchors": {0: 1.0}, "gauge": "mean"}, InputError, "fix the gauge"),
        ({"anchors": {0: 1.0}, "start": np.ones(2)}, InputError, "length 3"),
    ],
)
def test_bad_anchors_and_priors(arguments, error, message):
    m = ang.Measurements([0, 1], [1, 2], [0.1, 0.2])
    with pytest.raises(error, match=message):
        ang.synchronize(m, **arguments)


def test_anchors_in_degrees_are_heard_of():
    with pytest.warns(UnitWarning, match=r"2 of 2 anchors and priors exceed 2 pi.*np\.deg2rad"):
        ang.synchronize(ang.Measurements([0, 1], [1, 2], [0.1, 0.2]), anchors={0: 90.0}, priors={1: (45.0, 1.0)})


@pytest.mark.parametrize("exponent", [20, 200, 280, 295])
def test_priors_and_weights_over_hundreds_of_decades(exponent):
    """Raw OverflowErrors came out of the trust region, whose steps were as large as the weights are unlike."""
    ring = np.arange(60)
    edges = ang.Measurements(
        ring, (ring + 1) % 60, np.full(60, 2 * np.pi / 60), weight=np.r_[10.0**exponent, [1.0] * 59]
    )
    result = ang.synchronize(edges, priors={3: (0.1, 10.0**exponent)}, on_failure="ignore")
    assert result.angles[3] == pytest.approx(0.1)
    assert ang.synchronize(edges, on_failure="ignore").certificate.verdict.name == "CERTIFIED"
