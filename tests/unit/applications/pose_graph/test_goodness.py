"""Chi-square per degree of freedom: its law, its words, the measurements that are named."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from angsync.applications.pose_graph import PoseGraph, optimise, simulate
from angsync.applications.pose_graph.goodness import LEVEL, contradictions, interval
from angsync.applications.pose_graph.information import InformationModel


def test_the_interval_is_that_of_the_law():
    for freedom in (3, 30, 3000):
        exact = chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], freedom) / freedom
        assert interval(freedom) == pytest.approx(exact, rel=1e-9)


def test_stated_noise_gives_one_in_the_mean():
    total = freedom = 0.0
    for seed in range(40, 52):
        good = optimise(simulate(60, loops=30, landmarks=6, rng=seed).graph).goodness
        total, freedom = total + good.chi_square, freedom + good.degrees_of_freedom
        assert "The informations describe the noise" in good.sentence
    # a sum of chi-squares is one: five standard deviations of sqrt(2 / freedom)
    assert abs(total / freedom - 1) < 5 * np.sqrt(2 / freedom)


@pytest.mark.parametrize(("factor", "words"), [(3.0, "contradict each other more"), (0.3, "agree better")])
def test_noise_that_is_not_the_stated_one_is_told(factor, words):
    graph = simulate(60, loops=30, rng=3).graph
    scaled = PoseGraph(graph.i, graph.j, graph.motion, graph.information * factor**2)
    good = optimise(scaled).goodness
    assert good.is_far
    assert words in good.sentence
    assert "FAR FROM 1" in str(optimise(scaled))
    # chi-square per degree is factor^2 within five standard deviations
    assert good.per_degree == pytest.approx(factor**2, rel=5 * np.sqrt(2 / good.degrees_of_freedom))
    assert len(good.worst) == 5


def test_a_wrong_loop_is_named_although_its_residual_is_small():
    graph = simulate(60, loops=6, rng=5, landmarks=3).graph
    motion = graph.motion.copy()
    motion[-1] += [2.0, -1.0, 0.5]
    result = optimise(PoseGraph(graph.i, graph.j, motion, graph.information, landmarks=graph.landmarks))
    worst = result.goodness.worst[0]
    assert (worst.place, worst.first, worst.second) == (len(graph) - 1, graph.i[-1], graph.j[-1])
    assert worst.is_beyond_chance
    assert f"edge {worst.first} -> {worst.second}" in result.goodness.sentence
    assert result.facts["worst"][0]["place"] == len(graph) - 1


def test_a_wrong_sighting_is_named():
    graph = simulate(60, loops=20, rng=6, landmarks=5).graph
    graph.landmarks.offset[4] += [3.0, 0.0]
    worst = optimise(graph).goodness.worst[0]
    assert (worst.place, worst.is_sighting) == (4, True)
    assert str(worst).startswith("sighting ")


def test_what_others_say_is_chi_square_distributed():
    squares, ranks = [], []
    for seed in range(70, 78):
        result = optimise(simulate(50, loops=25, landmarks=4, rng=seed).graph, cost="information")
        model = InformationModel(result.graph)
        found, rank = contradictions(model, model.nodes(result.poses, result.landmarks))
        squares.append(found[rank == 3])
        ranks.append(rank)
    joined = np.concatenate(squares)
    # the 0.95 quantile of chi-square with 3 degrees: within five binomial standard deviations, twice that because the
    # edges of one graph are correlated
    share = np.mean(joined > 7.815)
    assert abs(share - 0.05) < 10 * np.sqrt(0.05 * 0.95 / joined.size)
    assert set(np.unique(np.concatenate(ranks))) <= {0, 1, 2, 3}


def test_without_loops_nothing_is_tested():
    good = optimise(PoseGraph([0, 1], [1, 2], [[1, 0, 0], [1, 0, 0]])).goodness
    assert (good.degrees_of_freedom, good.worst) == (0, ())
    assert np.isnan(good.per_degree)
    assert "No measurement checks another one" in good.sentence
    assert "not known" in str(optimise(PoseGraph([0], [1], [[1, 0, 0]])))


def test_unit_informations_state_no_noise():
    motion = [[1.0, 0.0, 1.57], [1.0, 0.1, 1.60], [0.9, 0.0, 1.55], [1.0, 0.0, 1.56]]
    good = optimise(PoseGraph([0, 1, 2, 3], [1, 2, 3, 0], motion)).goodness
    assert "All informations are 1" in good.sentence
