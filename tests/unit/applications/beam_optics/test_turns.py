"""Monitors that are off by whole turns: found where they show, and not found in noise."""

from __future__ import annotations

import numpy as np

from angsync.applications.beam_optics.turns import rms_around_mean, turn_offsets


def distances(seed, turns, spread=0.01, tune=0.28):
    rng = np.random.default_rng(seed)
    delta = tune * np.asarray(turns) + spread * rng.standard_normal(len(turns))
    delta[0] = 0
    return delta


def test_turns_are_found_against_most_monitors():
    turns = np.array([0] * 20 + [1] * 5 + [-1] * 6)
    found = turn_offsets(distances(0, turns), np.full(31, 0.002), 0.28, 0)
    assert found.is_believed
    assert found.turns.tolist() == turns.tolist()
    assert found.rms_after < 0.02 < found.rms_before


def test_the_reference_may_be_the_one_that_is_off():
    turns = np.array([0] + [-1] * 20 + [-2] * 4)  # against the first monitor, which differs from most
    found = turn_offsets(distances(1, turns), np.full(25, 0.002), 0.28, 0)
    assert found.turns.tolist() == (turns + 1).tolist()


def test_noise_is_not_taken_for_turns():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = rng.uniform(-0.5, 0.5, 50)
        assert not turn_offsets(noise, np.full(50, 0.1), 0.537, 0).is_believed
        assert not turn_offsets(noise, np.full(50, 0.001), 0.6, 0).is_believed  # where three values leave the least
    # nor are distances that are small without any turn
    calm = turn_offsets(distances(3, np.zeros(40, dtype=int)), np.full(40, 0.002), 0.28, 0)
    assert not calm.is_believed
    assert not calm.turns.any()


def test_few_monitors_and_unknown_ones():
    assert not turn_offsets(distances(0, [0, 1, 1, 0]), np.full(4, 0.01), 0.28, 0).is_believed
    delta = distances(0, [0] * 20 + [1] * 5)
    delta[3] = np.nan
    assert turn_offsets(delta, np.full(25, 0.002), 0.28, 0).turns[3] == 0


def test_the_mean_distance_does_not_count():
    assert rms_around_mean(np.array([0.49, -0.49, np.nan])) < 0.011
    assert np.isnan(rms_around_mean(np.array([np.nan])))
