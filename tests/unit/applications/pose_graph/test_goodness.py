"""Chi-square per degree of freedom: its law, its words, the measurements that are named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import chi2

from angsync.applications.pose_graph import PoseGraph, optimize, simulate
from angsync.applications.pose_graph.goodness import LEVEL, contradictions, goodness, interval
from angsync.applications.pose_graph.information import InformationModel
from angsync.errors import ErrorBarWarning
from angsync.solvers.stopping import Clock, Stopping


def test_the_interval_is_that_of_the_law():
    for freedom in (3, 30, 3000):
        exact = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], freedom) / freedom
        assert interval(freedom) == pytest.approx(exact, rel=1e-9)


def test_stated_noise_gives_one_in_the_mean():
    total = freedom = 0.0
    for seed in range(40, 52):
        good = optimize(simulate(60, loops=30, landmarks=6, rng=seed).graph).goodness
        total, freedom = total + good.chi_square, freedom + good.degrees_of_freedom
        assert "The informations describe the noise" in good.sentence
    # a sum of chi-squares is one: five standard deviations of sqrt(2 / freedom)
    assert abs(total / freedom - 1) < 5 * np.sqrt(2 / freedom)


@pytest.mark.parametrize(("factor", "words"), [(3.0, "contradict each other more"), (0.3, "agree better")])
def test_noise_that_is_not_the_stated_one_is_told(factor, words):
    graph = simulate(60, loops=30, rng=3).graph
    scaled = PoseGraph(graph.i, graph.j, graph.motion, graph.information * factor**2)
    good = optimize(scaled).goodness
    assert good.is_far
    assert words in good.sentence
    assert "FAR FROM 1" in str(optimize(scaled))
    # chi-square per degree is factor^2 within five standard deviations
    assert good.per_degree == pytest.approx(factor**2, rel=5 * np.sqrt(2 / good.degrees_of_freedom))
    assert len(good.worst) == 5


def test_a_wrong_loop_is_named_although_its_residual_is_small():
    graph = simulate(60, loops=6, rng=5, landmarks=3).graph
    motion = graph.motion.copy()
    motion[-1] += [2.0, -1.0, 0.5]
    result = optimize(PoseGraph(graph.i, graph.j, motion, graph.information, landmarks=graph.landmarks))
    worst = result.goodness.worst[0]
    assert (worst.place, worst.first, worst.second) == (len(graph) - 1, graph.i[-1], graph.j[-1])
    assert worst.is_beyond_chance
    assert f"edge {worst.first} -> {worst.second}" in result.goodness.sentence
    assert result.facts["worst"][0]["place"] == len(graph) - 1


def test_a_wrong_sighting_is_named():
    graph = simulate(60, loops=20, rng=6, landmarks=5).graph
    graph.landmarks.offset[4] += [3.0, 0.0]
    worst = optimize(graph).goodness.worst[0]
    assert (worst.place, worst.is_sighting) == (4, True)
    assert str(worst).startswith("sighting ")


def test_what_others_say_is_chi_square_distributed():
    squares, ranks = [], []
    for seed in range(70, 78):
        result = optimize(simulate(50, loops=25, landmarks=4, rng=seed).graph, cost="information")
        model = InformationModel(result.graph)
        found, rank, _ = contradictions(model, model.nodes(result.poses, result.landmarks))
        squares.append(found[rank == 3])
        ranks.append(rank)
    joined = np.concatenate(squares)
    # the 0.95 quantile of chi-square with 3 degrees: within five binomial standard deviations, twice that because the
    # edges of one graph are correlated
    share = np.mean(joined > 7.815)
    assert abs(share - 0.05) < 10 * np.sqrt(0.05 * 0.95 / joined.size)
    assert set(np.unique(np.concatenate(ranks))) <= {0, 1, 2, 3}


def test_without_loops_nothing_is_tested():
    good = optimize(PoseGraph([0, 1], [1, 2], [[1, 0, 0], [1, 0, 0]])).goodness
    assert (good.degrees_of_freedom, good.worst) == (0, ())
    assert np.isnan(good.per_degree)
    assert "No measurement checks another one" in good.sentence
    assert "not known" in str(optimize(PoseGraph([0], [1], [[1, 0, 0]])))


def test_unit_informations_state_no_noise():
    motion = [[1.0, 0.0, 1.57], [1.0, 0.1, 1.60], [0.9, 0.0, 1.55], [1.0, 0.0, 1.56]]
    good = optimize(PoseGraph([0, 1, 2, 3], [1, 2, 3, 0], motion)).goodness
    assert "All informations are 1" in good.sentence


def test_of_very_many_measurements_the_largest_residuals_are_judged(monkeypatch):
    graph = simulate(60, loops=20, rng=6, landmarks=5).graph
    graph.landmarks.offset[4] += [3.0, 0.0]
    monkeypatch.setattr("angsync.applications.pose_graph.goodness.MOST_JUDGED", 30)
    good = optimize(graph).goodness
    assert (good.worst[0].place, good.worst[0].is_sighting) == (4, True)
    judged = 30 * len(graph) // (len(graph) + len(graph.landmarks))
    assert f"Worst (of the {judged} with the largest residuals): sighting" in good.sentence


def _with_a_wrong_loop(size: float) -> PoseGraph:
    graph = simulate(300, loops=200, rng=3).graph
    motion = graph.motion.copy()
    motion[graph.n + 100] += [size, 0.0, size / 2]
    return PoseGraph(graph.i, graph.j, motion, graph.information)


def test_a_wrong_loop_is_a_finding_where_chi_square_is_near_one():
    result = optimize(_with_a_wrong_loop(0.3), cost="information")
    good = result.goodness
    assert not good.is_far
    assert "describe" not in good.sentence
    assert "CONTRADICTED beyond chance" in good.sentence
    assert good.worst[0].place == result.graph.n + 100
    with pytest.warns(ErrorBarWarning, match="beyond chance"):
        result.covariances([1])


def test_error_bars_are_not_to_shrink_where_a_measurement_is_contradicted():
    graph = _with_a_wrong_loop(0.6)
    wide = PoseGraph(graph.i, graph.j, graph.motion, graph.information / 4)
    result = optimize(wide, cost="information")
    good = result.goodness
    assert good.is_far
    assert good.per_degree < 1
    assert good.beyond_chance
    assert "CONTRADICTED beyond chance" in good.sentence
    assert "too wide" not in good.sentence
    with pytest.warns(ErrorBarWarning) as said:
        result.covariances([1])
    assert "times that number" not in str(said[0].message)


def _ring(n: int, noise: float, seed: int = 3) -> PoseGraph:
    motion = np.tile([1.0, 0.0, 2 * np.pi / n], (n, 1))
    motion += noise * np.random.default_rng(seed).normal(size=(n, 3)) * [0.05, 0.05, 0.02]
    return PoseGraph(np.arange(n), (np.arange(n) + 1) % n, motion, np.tile(np.diag([400.0, 400.0, 2500.0]), (n, 1, 1)))


def test_few_degrees_of_freedom_describe_nothing():
    good = optimize(_ring(4, 2.0, seed=0)).goodness
    assert not good.is_far
    assert "describe" not in good.sentence
    assert "does not contradict the informations" in good.sentence
    low, high = interval(3)
    assert f"{np.sqrt(good.per_degree / high):.2g} to {np.sqrt(good.per_degree / low):.2g} times" in good.sentence


def test_the_edges_of_one_loop_are_not_accused_one_by_one():
    graph = _ring(40, 1.0)
    graph.motion[17] += [4.0, 0.0, 0.9]
    good = optimize(graph).goodness
    assert len(good.worst) == 1
    assert len(good.worst[0].alike) == 39
    assert "one of 40 measurements that cannot be told apart" in good.sentence


def test_edges_that_others_tell_apart_are_named_alone():
    assert optimize(_with_a_wrong_loop(0.6)).goodness.worst[0].alike == ()


def test_a_time_limit_is_one_of_judging_too():
    result = optimize(_with_a_wrong_loop(0.6))
    good = dataclasses.replace(result, seconds_to_judge=0.0).goodness
    assert (good.worst, good.beyond_chance, good.is_far) == ((), 0, False)
    assert good.sentence.startswith("NOT JUDGED: no time left")
    assert good.chi_square >= result.goodness.chi_square
    assert np.isnan(good.probability)
    with pytest.warns(ErrorBarWarning, match="not judged"):
        dataclasses.replace(result, seconds_to_judge=0.0).covariances([1])


def test_the_rest_of_the_time_is_for_judging():
    graph = simulate(30, loops=15, rng=1).graph
    assert optimize(graph).seconds_to_judge is None
    for how in ({}, {"robust": True}, {"cost": "information"}):
        left = optimize(graph, stopping=Stopping(max_seconds=100.0), **how).seconds_to_judge
        assert 0 < left < 100


def test_time_that_ends_among_the_measurements_is_told(monkeypatch):
    result = optimize(_with_a_wrong_loop(0.6))
    model, at = result._judged
    ends = Clock(None)
    monkeypatch.setattr("angsync.applications.pose_graph.goodness._AT_ONCE", 50)
    calls = iter([False, False, True])
    monkeypatch.setattr(Clock, "expired", property(lambda _: next(calls, True)))
    good = goodness(result.graph, model, at, proved=True, clock=ends)
    assert "50 of 499 measurements were held against the others: no time left" in good.sentence


def test_sightings_take_longer_so_that_fewer_are_judged(monkeypatch):
    graph = simulate(60, loops=20, rng=6, landmarks=5).graph
    monkeypatch.setattr("angsync.applications.pose_graph.goodness.MOST_JUDGED", 30)
    model = InformationModel(graph)
    _, rank, judged = contradictions(model, model.nodes(optimize(graph).poses, optimize(graph).landmarks))
    assert judged == 30 * len(graph) // (len(graph) + len(graph.landmarks))
    assert (rank > 0).sum() <= judged
