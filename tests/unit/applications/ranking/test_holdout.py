"""Accuracy on games that were not seen."""

import numpy as np
import pytest

from angsync.applications import ranking
from angsync.applications.ranking.holdout import held_out
from angsync.errors import InputError


def test_all_ways_get_the_same_pairs_and_none_that_is_asked_for():
    played, score = ranking.simulate(25, 300, rng=6)
    pairs = played.pairs()
    seen = []

    def watching(known):
        seen.append({(a, b) for a, b in zip(*np.sort([known.i, known.j], axis=0), strict=True)})
        return score

    found = held_out(played, {"truth": watching, "again": watching}, share=0.2, splits=3, rng=0)
    assert len(seen) == 6
    assert seen[0] == seen[1] != seen[2]
    assert len(seen[0]) == len(pairs) - round(0.2 * len(pairs))
    assert found.accuracy["truth"] == found.accuracy["again"]
    assert found.difference == {"again": 0.0}


def test_who_knows_the_truth_is_right_and_who_knows_nothing_is_at_one_half():
    played, score = ranking.simulate(25, 300, noise=1e-6, rng=6)
    ways = {"truth": lambda _: score, "nothing": lambda _: np.zeros(25), "unknown": lambda _: np.full(25, np.nan)}
    found = held_out(played, ways, share=0.3, splits=4, rng=1)
    assert found.accuracy == {"truth": 1.0, "nothing": 0.5, "unknown": 0.5}


def test_the_front_door_compares_with_its_peers_the_same_way_twice():
    played, _ = ranking.simulate(20, 150, rng=1)
    first, second = (ranking.rank(played).compare(splits=3) for _ in range(2))
    assert first == second
    assert set(first.accuracy) == {"angsync", *ranking.peers("sqrt")}
    assert "held out, mean of 3 splits" in str(first)
    assert abs(first.difference["least squares"]) < 0.02


def test_shares_that_make_no_sense_are_refused():
    played, _ = ranking.simulate(20, 150, rng=1)
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="share"):
            ranking.holdout(played, share=share)
    with pytest.raises(InputError, match="nothing to hold out"):
        ranking.holdout(np.array([[0, 1], [0, 0]]))


def test_a_pair_that_the_games_kept_do_not_join_counts_one_half_for_all():
    """Two games of three players: whichever is held out, nothing is left to say about it."""
    found = ranking.rank({"winner": ["a", "b"], "loser": ["b", "c"], "margin": [9, 9]}).compare(splits=4)
    assert set(found.accuracy.values()) == {0.5}
