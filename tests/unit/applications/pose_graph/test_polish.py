"""``cost="information"``: the cost of g2o and gtsam, reached from the certified point, and what is proved then."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.optimize

import angsync as ang
from angsync.applications.pose_graph import optimize, simulate
from angsync.applications.pose_graph.information import InformationModel
from angsync.errors import ConvergenceError, ConvergenceWarning, InputError
from angsync.solvers.stopping import Status, Stopping

ANISOTROPIC = np.diag([2.0, 2e4, 2500.0])  # a scan matcher along a corridor: 0.7 m and 7 mm


@pytest.fixture(scope="module")
def anisotropic():
    return simulate(40, loops=20, landmarks=4, information=ANISOTROPIC, rng=2)


def test_it_is_the_minimum_of_that_cost(anisotropic):
    graph = anisotropic.graph
    certified, result = optimize(graph), optimize(graph, cost="information")
    assert result.polish.converged
    assert result.polish.cost_before == pytest.approx(certified.information_cost, rel=1e-12)
    assert result.information_cost == pytest.approx(result.polish.cost, rel=1e-12)
    assert result.polish.cost < 0.2 * result.polish.cost_before
    assert result.polish.isotropic_cost > result.cost == certified.cost
    model = InformationModel(graph)
    nodes = model.nodes(anisotropic.poses, anisotropic.landmarks)

    def residuals(x):
        moved = nodes.copy()
        moved[1 : graph.n] = x[: 3 * (graph.n - 1)].reshape(-1, 3)
        moved[graph.n :, :2] = x[3 * (graph.n - 1) :].reshape(-1, 2)
        return model.whitened(model.error(moved)).ravel()

    start = np.concatenate([nodes[1 : graph.n].ravel(), nodes[graph.n :, :2].ravel()])
    found = scipy.optimize.least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert result.information_cost == pytest.approx(2 * found.cost, rel=1e-8)


def test_it_says_what_the_certificate_is_about(anisotropic):
    result = optimize(anisotropic.graph, cost="information")
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.is_start_proved
    assert not result.is_proved
    text = str(result)
    assert "About the isotropic cost and its optimum" in text
    assert "Of the information cost nothing is proved" in text
    assert "(isotropic cost)" in repr(result)
    facts = result.to_dict(with_table=False)
    assert (facts["minimized"], facts["proved"]) == ("information", False)
    assert facts["polish"]["cost"] == result.information_cost


def test_it_is_nearer_to_the_truth_where_the_noise_is_anisotropic():
    ours, polished = [], []
    for seed in range(30, 36):
        made = simulate(40, loops=20, information=ANISOTROPIC, rng=seed)
        for found, cost in ((ours, "isotropic"), (polished, "information")):
            found.append(np.mean((optimize(made.graph, cost=cost).poses - made.poses)[:, :2] ** 2))
    # no linear estimate has a smaller variance than the one with the right weights (Gauss and Markov)
    assert np.mean(polished) < np.mean(ours)


def test_no_time_is_said(anisotropic, monkeypatch):
    stopping = Stopping(max_seconds=1e-9)
    with pytest.warns(ConvergenceWarning):
        result = optimize(anisotropic.graph, cost="information", stopping=stopping)
    assert result.sync.status is Status.TIME_LIMIT
    assert not result.polish.converged
    assert "NO minimum yet" in str(result)
    with pytest.raises(ConvergenceError):
        optimize(anisotropic.graph, cost="information", stopping=stopping, on_failure="raise")
    assert not optimize(anisotropic.graph, cost="information", stopping=stopping, on_failure="ignore").polish.converged


def test_an_interruption_is_one_of_the_whole(anisotropic, monkeypatch):
    whole = InformationModel.minimized

    def interrupted(self, *arguments, **options):
        return dataclasses.replace(whole(self, *arguments, **options), interrupted=True, converged=False)

    monkeypatch.setattr(InformationModel, "minimized", interrupted)
    result = optimize(anisotropic.graph, cost="information")
    assert result.sync.status is Status.INTERRUPTED
    assert np.isfinite(result.poses).all()


def test_another_word_is_refused(anisotropic):
    with pytest.raises(InputError, match=r"'isotropic' .* or 'information'"):
        optimize(anisotropic.graph, cost="full")


def test_without_a_limit_nobody_is_told_to_raise_it(monkeypatch):
    monkeypatch.setattr("angsync.applications.pose_graph.information.MOST_STEPS", 0)
    monkeypatch.setattr(
        "angsync.applications.pose_graph.information.InformationModel.minimized.__defaults__", (None, 0)
    )
    graph = simulate(30, loops=10, rng=1, information=np.diag([400.0, 100.0, 900.0])).graph
    with pytest.warns(ConvergenceWarning, match="not at its minimum") as said:
        optimize(graph, cost="information")
    assert "max_seconds" not in str(said[0].message)
