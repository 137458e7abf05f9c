"""Which phase of each component is called 0."""

from __future__ import annotations

import numpy as np
import pytest
from problems import phases

import angsync as ang
from angsync.errors import DisconnectedWarning, InputError
from angsync.pipeline.gauge import in_gauge, reference_nodes

PIECES = np.array([0, 1, 0, 2, 1, 1])


def test_every_component_has_a_reference():
    assert reference_nodes(PIECES, "first", None).tolist() == [0, 1, 3]
    assert reference_nodes(PIECES, 4, None).tolist() == [0, 4, 3]
    assert reference_nodes(PIECES, "e", tuple("abcdef")).tolist() == [0, 4, 3]
    assert reference_nodes(np.zeros(3, dtype=int), "first", None).tolist() == [0]


def test_a_label_comes_before_a_number():
    assert reference_nodes(np.zeros(3, dtype=int), 0, (2, 1, 0)).tolist() == [2]


@pytest.mark.parametrize("gauge", ["first", "mean", 5])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_gauge_turns_components_and_nothing_else(gauge, dtype):
    z = phases(6).astype(dtype)
    turned = in_gauge(z, PIECES, gauge, None)
    assert turned.dtype == dtype
    eps = np.finfo(dtype).eps
    assert np.abs(np.abs(turned) - 1).max() < 4 * eps
    for label in range(3):
        turns = (turned / z)[label == PIECES]
        assert np.abs(turns - turns[0]).max() < 8 * eps
        if gauge == "mean":
            total = turned[label == PIECES].sum()
            assert abs(total.imag) < 8 * eps
            assert total.real > 0
    if gauge != "mean":
        references = reference_nodes(PIECES, gauge, None)
        assert (turned[references] == 1).all()  # exactly, not up to rounding


def test_phases_that_add_up_to_nothing_are_turned_by_the_first_node():
    z = np.exp(1j * (0.3 + 2 * np.pi * np.arange(5) / 5))
    turned = in_gauge(z, np.zeros(5, dtype=int), "mean", None)
    assert turned[0] == pytest.approx(1)
    np.testing.assert_allclose(turned, z * np.exp(-0.3j), atol=1e-15)


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
    labeled = ang.synchronize(ang.Measurements(["a", "b"], ["b", "c"], [0.1, 0.2]), gauge="b")
    assert labeled.angles == pytest.approx([0.1, 0, -0.2])
    assert labeled.labels == ("a", "b", "c")
    with pytest.warns(DisconnectedWarning):
        pieces = ang.synchronize(ang.Measurements([0, 2], [1, 3], [0.5, 0.5]), gauge=3)
    assert pieces.angles == pytest.approx([0, -0.5, 0.5, 0])


@pytest.mark.parametrize("gauge", ["last", 20, -1, 2.5])
def test_bad_gauges_are_found_before_the_work(gauge):
    calls = []
    with pytest.raises(InputError, match="gauge must be"):
        ang.synchronize(ang.simulate.gaussian(20, 0.5, rng=0).C, gauge=gauge, callback=calls.append)
    assert not calls
