"""Which phase of each component is called 0."""

from __future__ import annotations

import pytest

import angsync as ang
from angsync.errors import (
    DisconnectedWarning,
    InputError,
)


def test_gauges():
    problem = ang.simulate.gaussian(20, 0.5, rng=0)
    first = ang.synchronize(problem.C)
    assert first.z[0] == 1
    mean = ang.synchronize(problem.C, gauge="mean")
    assert abs(mean.z.sum().imag) < 1e-12
    assert mean.z.sum().real > 0
    node = ang.synchronize(problem.C, gauge=7)
    assert node.z[7] == 1
    for other in (mean, node):
        assert ang.distance(first.z, other.z) < 1e-9
    labelled = ang.synchronize(ang.Measurements(["a", "b"], ["b", "c"], [0.1, 0.2]), gauge="b")
    assert labelled.angles == pytest.approx([0.1, 0, -0.2])
    assert labelled.labels == ("a", "b", "c")
    with pytest.warns(DisconnectedWarning):
        pieces = ang.synchronize(ang.Measurements([0, 2], [1, 3], [0.5, 0.5]), gauge=3)
    assert pieces.angles == pytest.approx([0, -0.5, 0.5, 0])


@pytest.mark.parametrize("gauge", ["last", 20, -1, 2.5])
def test_bad_gauges_are_found_before_the_work(gauge):
    calls = []
    with pytest.raises(InputError, match="gauge must be"):
        ang.synchronize(ang.simulate.gaussian(20, 0.5, rng=0).C, gauge=gauge, callback=calls.append)
    assert not calls
