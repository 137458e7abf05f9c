"""Probing with random potentials: its law, its samples, and what it says where it does not finish."""

from __future__ import annotations

import numpy as np
import pytest
from problems import last_of_each

import angsync as ang
from angsync.errors import ConvergenceWarning
from angsync.uncertainty.resistance import choice, collect_pairs, node_variances, pair_resistances, sampling


@pytest.mark.parametrize("name", ["ring with chords", "grid", "complete", "pieces and isolated nodes", "star"])
def test_probing_keeps_to_its_law(network, name, monkeypatch):
    # Relative standard deviation f sqrt(2/k) <= 0.1 with f the 99th percentile. Errors of nodes may be as good as
    # equal (a ring: one wave dominates), so their root mean square is bounded by four standard deviations of one.
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    pairs, components, inverse = network(name)
    diagonal = np.diag(inverse)
    size = np.bincount(components)[components]
    found, method = node_variances(pairs, components, None)
    assert method.name == "probing"
    assert 0 <= method.accuracy <= 0.1 + 1e-9
    joined = size > 1
    assert found[~joined] == pytest.approx(0)
    error = found[joined] / diagonal[joined] - 1
    assert np.sqrt(np.mean(error**2)) < 0.4
    references = last_of_each(components)
    against = references[components]
    expected = diagonal + diagonal[against] - 2 * inverse[np.arange(pairs.n), against]
    found, _ = node_variances(pairs, components, references)
    assert found[references].tolist() == [0] * references.size
    others = joined & (np.arange(pairs.n) != against)
    assert np.sqrt(np.mean((found[others] / expected[others] - 1) ** 2)) < 0.4
    expected = diagonal[pairs.low] + diagonal[pairs.high] - 2 * inverse[pairs.low, pairs.high]
    found, _ = pair_resistances(pairs, components)
    assert np.sqrt(np.mean((found / expected - 1) ** 2)) < 0.4
    assert np.array_equal(found, pair_resistances(pairs, components)[0])  # the same every time


def test_probing_is_unbiased_for_every_node(monkeypatch):
    # 16 samples a call and 60 seeds are 960 samples: relative standard deviation of a mean sqrt(2/960) = 4.6 % of the
    # sampled share; the largest of 25 nodes and 40 pairs stays below 4.5 of them with probability 0.9995
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    monkeypatch.setattr(sampling, "ACCURACY", 10.0)
    grid = ang.simulate.grid(5, 5, 0.1, rng=0).measurements
    weight = np.random.default_rng(0).uniform(0.3, 3, len(grid))
    pairs, one = collect_pairs(25, grid.i, grid.j, weight), np.zeros(25, dtype=np.int64)
    sums = [0.0, 0.0, 0.0]
    references = np.array([7])
    for seed in range(60):
        monkeypatch.setattr(sampling, "_SEED", seed)
        sums[0] = sums[0] + node_variances(pairs, one, None)[0] / 60
        sums[1] = sums[1] + node_variances(pairs, one, references)[0] / 60
        sums[2] = sums[2] + pair_resistances(pairs, one)[0] / 60
    monkeypatch.setattr(choice, "LARGEST_NODES", 1000)
    exact = [
        node_variances(pairs, one, None)[0],
        node_variances(pairs, one, references)[0],
        pair_resistances(pairs, one)[0],
    ]
    for found, expected in zip(sums, exact, strict=True):
        assert found == pytest.approx(expected, rel=4.5 * np.sqrt(2 / 960))


def test_probing_of_the_smallest_components(network, monkeypatch):
    # A pair has nothing that is known without samples in the mean gauge, (1 - 2/n)/d = 0, and a triangle of weight 1
    # has 1/6 of its 2/9; 960 samples as above. Edges of trees are exact.
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    monkeypatch.setattr(sampling, "ACCURACY", 10.0)
    pairs = collect_pairs(5, np.array([0, 2, 3, 4]), np.array([1, 3, 4, 2]), np.array([4.0, 1, 1, 1]))
    components = np.array([0, 0, 1, 1, 1])
    total = np.zeros(5)
    for seed in range(60):
        monkeypatch.setattr(sampling, "_SEED", seed)
        total += node_variances(pairs, components, None)[0] / 60
    assert total == pytest.approx([1 / 16, 1 / 16, 2 / 9, 2 / 9, 2 / 9], rel=4.5 * np.sqrt(2 / 960))
    assert pair_resistances(pairs, components)[0][0] == 0.25
    path, one, _ = network("path")
    assert pair_resistances(path, one)[0] == pytest.approx(1 / path.conductance, rel=1e-14)


def test_the_better_connected_the_fewer_samples(network, monkeypatch):
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    pairs, components, _ = network("complete")
    assert "16 samples" in node_variances(pairs, components, None)[1].reason
    pairs, components, _ = network("grid")
    _, method = node_variances(pairs, components, None)
    assert 32 <= int(method.reason.split()[0]) <= 208
    assert "probing, variances to about" in str(method)


def test_solves_that_do_not_finish_say_so(network, monkeypatch):
    monkeypatch.setattr(choice, "LARGEST_NODES", -1)
    monkeypatch.setattr(sampling, "_MOST_STEPS", 5)
    pairs, components, _ = network("ring with chords")
    with pytest.warns(ConvergenceWarning, match="energy norm"):
        node_variances(pairs, components, None)
