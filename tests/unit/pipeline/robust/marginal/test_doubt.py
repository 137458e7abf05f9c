"""How probable it is that an answer is far off, by all causes together."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import angsync as ang
from angsync.errors import CorruptionWarning
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal import doubt
from angsync.pipeline.robust.marginal.doubt import chance_of_wrong
from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.pieces_held import Bridges
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import judged
from angsync.pipeline.robust.marginal.search import Task


def two_groups(sigma, wrong):
    """Two complete graphs of six nodes, joined by one edge; some of the edges inside are not believed."""
    i, j = np.triu_indices(6, 1)
    i, j = np.r_[i, i + 6, 0], np.r_[j, j + 6, 11]
    model = Rotations(Edges.of(ang.Measurements(i, j, np.zeros(i.size), n=12)))
    believed = np.ones(i.size, dtype=bool)
    believed[[5, 6, 20, 21][:wrong]] = False
    none, all_ = np.zeros(i.size, dtype=bool), single_edges(np.arange(i.size))
    task = Task(model, none, none, None, (0.3,), all_, all_)
    return task, judged(model, believed, np.zeros(12), sigma)


def test_a_bridge_between_halves_is_wrong_as_often_as_the_others():
    task, best = two_groups(1e-3, wrong=4)
    bridges = Bridges.of(task, best)
    assert len(bridges) == 1
    # 27 of 31 edges are believed: odds 28 / 5; a half that is turned by phi leaves an error of phi / 2 on average
    expected = 1 / (1 + 28 / 5) * (1 - 20 / 180)
    found = chance_of_wrong(task, best, [best.x] * 4000, bridges)
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))


def test_noise_and_other_sets_count_as_well():
    task, best = two_groups(0.6, wrong=0)
    bridges = Bridges.of(task, best)
    alone = chance_of_wrong(task, best, [best.x] * 400, bridges)
    assert (
        alone > 0.8
    )  # the bridge alone turns the halves by 0.6 rad, each node by 0.3: 10 degrees are exceeded in 0.56
    task, best = two_groups(1e-3, wrong=0)
    turned = best.x + np.where(np.arange(12) < 6, 0.0, 1.0)
    assert chance_of_wrong(task, best, [best.x, turned] * 200, Bridges.of(task, best)) == pytest.approx(0.5, abs=0.1)


def test_large_noise_on_long_loops_is_not_credible():
    rng = np.random.default_rng(0)
    n = 60
    i, j = np.r_[np.arange(n), rng.integers(0, n, 20)], np.r_[(np.arange(n) + 1) % n, rng.integers(0, n, 20)]
    theta = rng.uniform(-3, 3, n)
    data = ang.Measurements(i, j, theta[i] - theta[j] + 0.2 * rng.standard_normal(i.size), n=n)
    with pytest.warns(CorruptionWarning, match="the phases are off by more than 10 degrees on average"):
        report = ang.synchronize(data, solver=ang.Robust()).robust
    assert report.credible is False


@pytest.mark.parametrize(("chance", "credible", "said"), [(0.1, True, False), (0.3, True, True), (0.45, False, True)])
def test_a_doubt_is_said_before_it_is_a_verdict(chance, credible, said, monkeypatch):
    monkeypatch.setattr(doubt, "_chance_of_another", lambda *given: chance)
    rng = np.random.default_rng(3)
    i, j = np.r_[np.arange(12), np.arange(12)], np.r_[np.arange(1, 13), np.arange(3, 15)] % 12
    measurements = ang.Measurements(i, j, 0.02 * rng.standard_normal(i.size))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CorruptionWarning)
        robust = ang.synchronize(measurements, solver=ang.Robust()).robust
    assert robust.credible is credible
    assert (f"{chance:.0%} the phases are off" in robust.note) is said
    assert [f"{chance:.0%}" in str(one.message) for one in told] == [True] * said
