"""The demonstration's network: what is in it, and the story that it tells."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from angsync import Verdict
from angsync.errors import ErrorBarWarning
from angsync.study.demo import BAD_LINK_DEGREES, NOISE_DEGREES, run_network_demo, simulate_network


def apart(network):
    """Measured less true differences, degrees."""
    m, truth = network.measurements, np.radians(network.truth)
    return np.degrees(np.angle(np.exp(1j * (m.angle - truth[m.i] + truth[m.j]))))


@pytest.mark.parametrize("seed", range(4))
def test_every_link_is_noisy_and_one_is_wrong(seed):
    network = simulate_network(seed)
    error = apart(network)
    # five deviations: of 60 normal numbers one in thirty thousand draws has one outside
    others = np.delete(error, network.bad)
    assert np.abs(others).max() < 5 * NOISE_DEGREES
    assert abs(error[network.bad] - BAD_LINK_DEGREES) < 5 * NOISE_DEGREES
    assert np.bincount(np.r_[network.measurements.i, network.measurements.j]).min() >= 2
    assert network.truth[0] == 0


def test_the_bad_link_is_found_and_the_rest_is_proved():
    shown = run_network_demo(seed=0)
    assert shown.distrusted == [shown.network.bad]
    assert shown.result.certificate.verdict is Verdict.CERTIFIED
    assert shown.result.robust.credible is True
    assert shown.errors.max() < shown.plain_errors.max() / 1.5
    story = " ".join(shown.story())
    assert shown.network.link(shown.network.bad) in story
    assert "CERTIFIED" in story
    assert shown.numbers()["left_out"] == [shown.numbers()["bad_link"]]
    assert shown.rows()[1][1].split() == ["0.0", "reference"]


def test_the_story_does_not_claim_a_proof_that_is_not_there():
    shown = run_network_demo(seed=0)
    open_ = dataclasses.replace(shown.result.certificate, verdict=Verdict.UNDECIDED)
    other = dataclasses.replace(shown, result=dataclasses.replace(shown.result, certificate=open_))
    with pytest.warns(ErrorBarWarning, match="not proved"):
        last = other.story()[-1]
    assert "not proved" in last
    assert "UNDECIDED" in last
