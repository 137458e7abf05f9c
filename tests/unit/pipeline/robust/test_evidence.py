"""Whether a fit is better than chance."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

import angsync as ang
from angsync.errors import CorruptionWarning
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.evidence import bound_on_chance
from angsync.pipeline.robust.losses import LOSSES
from angsync.pipeline.robust.noise import Noise
from angsync.pipeline.robust.reweighting import Fit, reweight
from angsync.solvers.stopping import Clock


def test_nothing_to_trust_is_said():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(40, 1)
    data = ang.Measurements(i, j, rng.uniform(-np.pi, np.pi, i.size))
    with pytest.warns(CorruptionWarning, match="nothing"):
        result = ang.synchronize(data, solver=ang.Robust())
    assert not result.robust.credible
    assert "nothing can be trusted" in str(result)


def test_the_bound_on_chance_is_far_off_for_good_data_and_silent_for_random_data():
    problem = corrupted(n=60, good=0.5, sigma=0.05)
    edges = Edges.of(problem.measurements)

    def fit(z):
        return reweight(edges, lambda weights, start: start, z, LOSSES["truncated"], first_width=None, scale=None,
                        max_rounds=1, clock=Clock())  # fmt: skip

    assert bound_on_chance(edges, fit(problem.z)) < -50
    assert bound_on_chance(edges, fit(np.exp(2j * np.pi * np.random.default_rng(99).random(60)))) == 0


def test_a_fit_that_is_worse_than_chance_is_no_evidence():
    i, j = np.triu_indices(20, 1)
    edges = Edges.of(ang.Measurements(i, j, np.full(i.size, np.pi)))  # every residual is pi at z = 1
    noise = Noise(0.3, 0.5, np.zeros(i.size))
    fit = Fit(np.ones(20, dtype=complex), np.ones(i.size), noise, LOSSES["truncated"], 1, True)
    assert bound_on_chance(edges, fit) == 0
