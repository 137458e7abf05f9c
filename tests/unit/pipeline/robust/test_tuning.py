"""The width of a loss follows the noise."""

from __future__ import annotations

import numpy as np

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.losses import LOSSES
from angsync.pipeline.robust.reweighting import reweight
from angsync.pipeline.robust.tuning import tuned
from angsync.solvers.stopping import Clock


def test_the_width_follows_the_noise():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(60, 1)

    def chosen(noise):
        edges = Edges.of(ang.Measurements(i, j, noise))
        z = np.ones(60, dtype=complex)
        fit = reweight(edges, lambda weights, start: start, z, LOSSES["geman_mcclure"], first_width=None, scale=None,
                       max_rounds=1, clock=Clock())  # fmt: skip
        return tuned(edges, fit).width

    assert chosen(0.1 * rng.standard_normal(i.size)) >= 3
    assert chosen(0.05 * rng.standard_t(1.5, i.size)) <= 1.4
