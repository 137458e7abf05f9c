"""The search for the best robust fit: what it does when there is no time left."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

from angsync import Robust
from angsync.pipeline.robust import search as module
from angsync.pipeline.robust.edges import Edges
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
