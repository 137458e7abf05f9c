"""The search for the best robust fit: what it does when there is no time left."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

from angsync import Robust
from angsync.kernels.time_limit import OutOfTime, until
from angsync.pipeline.robust import search as module
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.message_passing import edge_scores
from angsync.pipeline.robust.noise import estimate_noise
from angsync.solvers.stopping import Clock


@pytest.mark.parametrize("loss", ["geman_mcclure", "huber"])
def test_an_expired_clock_leaves_the_first_fit(monkeypatch, loss):
    problem = corrupted(good=0.9)
    fits = []
    original = module.reweight
    monkeypatch.setattr(module, "reweight", lambda *a, **o: fits.append(original(*a, **o)) or fits[-1])
    monkeypatch.setattr(module, "vote", lambda *_: pytest.fail("votes after the time limit"))
    found = module.search(
        Edges.of(problem.measurements),
        lambda _weights, _z: problem.z,
        Robust(loss=loss),
        given=None,
        clock=Clock(0.0),
        rng=np.random.default_rng(0),
    )
    assert len(fits) == 1
    assert found is fits[0]


class Slow(Clock):
    """A clock by which taking in the measurements has taken a second."""

    seconds = 1.0


@pytest.mark.parametrize(("limit", "begun"), [(2.0, False), (10.0, False), (None, True)])
def test_no_search_is_begun_that_could_not_end_in_time(limit, begun):
    problem = corrupted(good=0.9)
    asked = []

    def solve(_weights, _z):
        asked.append(True)
        return problem.z

    edges, rng, kept = Edges.of(problem.measurements), np.random.default_rng(0), []
    fit = module.search_in_time(edges, solve, Robust(loss="huber"), given=None, clock=Slow(limit), rng=rng, kept=kept)
    assert bool(asked) == begun
    assert (fit is not None) == begun


def test_message_passing_and_the_estimate_of_noise_look_at_the_clock():
    problem = corrupted(good=0.9)
    edges = Edges.of(problem.measurements)
    with until(Clock(0.0)):
        with pytest.raises(OutOfTime):
            edge_scores(edges, np.random.default_rng(0))
        with pytest.raises(OutOfTime):
            estimate_noise(edges, problem.z, 0.5)
