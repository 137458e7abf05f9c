"""The noise of games: of each group of players by itself, from few games, and where none can be seen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from angsync.applications import ranking


def league(rng, games, noise, name, n=15):
    """Games as rows (winner, loser, margin), and the scores by name."""
    score = rng.standard_normal(n)
    i = rng.integers(0, n, games)
    j = (i + rng.integers(1, n, games)) % n
    root = score[i] - score[j] + noise * rng.standard_normal(games)
    rows = [(f"{name}{a if r > 0 else b}", f"{name}{b if r > 0 else a}", r * r)
            for a, b, r in zip(i, j, root, strict=True)]  # fmt: skip
    return rows, {f"{name}{k}": score[k] for k in range(n)}


def ranked(rows):
    winner, loser, margin = zip(*rows, strict=True)
    return ranking.rank({"winner": list(winner), "loser": list(loser), "margin": list(margin)})


def test_each_group_has_a_noise_of_its_own():
    """20 pairs of leagues of 15: as if 75 independent intervals (see test_ranking), four standard errors below 95 %."""
    held = {"quiet": [], "noisy": []}
    for seed in range(40, 60):
        rng = np.random.default_rng(seed)
        quiet, one = league(rng, 150, 0.2, "quiet")
        noisy, other = league(rng, 60, 2.0, "noisy")
        result = ranked(quiet + noisy)
        for name, score in (("quiet", one), ("noisy", other)):
            players = [player for player in result.players if player.startswith(name)]
            truth = np.array([score[player] for player in players])
            place = 1 + np.sum(truth[None, :] > truth[:, None], axis=1)
            interval = result.rank_interval[[result.place(player) for player in players]]
            held[name].append(np.mean((interval[:, 0] <= place) & (place <= interval[:, 1])))
    for name, shares in held.items():
        assert 0.95 - 4 * np.sqrt(0.05 * 0.95 / 75) < np.mean(shares), name
    assert np.mean(held["quiet"]) < 0.999  # not everything is possible in the quiet one
    # 136 and 46 degrees of freedom: three standard errors of a deviation
    assert result.component_noise == pytest.approx([0.2, 2.0], rel=3 / np.sqrt(2 * 46))
    assert result.component_freedom.tolist() == [136, 46]


def test_a_group_without_games_to_spare_has_no_intervals():
    rows, _ = league(np.random.default_rng(1), 40, 1.0, "a", n=6)
    result = ranked([*rows, ("x", "y", 4.0), ("y", "z", 1.0)])
    alone = [result.place(name) for name in "xyz"]
    assert np.isnan(result.rank_interval[alone]).all()
    assert np.isnan(result.standard_error[alone]).all()
    assert np.isfinite(result.rank_interval[result.place("a0")]).all()
    assert "3 players have no intervals" in str(result)
    assert np.isfinite(result.noise)


@pytest.mark.parametrize("size", [1.0, 1e-200])
def test_games_that_fit_exactly_show_no_noise(size):
    result = ranked([("a", "b", size), ("b", "c", size), ("a", "c", 4 * size)])
    assert np.isnan(result.rank_interval).all()
    assert np.isnan(result.noise)
    assert "fit without any residual" in str(result)


@pytest.mark.parametrize(("n", "games"), [(2, 4), (4, 6), (3, 3)])
def test_predictions_from_few_games_are_not_too_sure(n, games):
    """A new result less its prediction, over the spread that predict implies by Student's law, is within the bounds of
    that law in 95 % of some 300 seasons; four standard errors."""
    held = []
    for seed in range(1000, 1300):
        played, score = ranking.simulate(n, games, rng=seed)
        result = ranking.rank(played)
        if result.component[0] != result.component[1] or result.component_freedom[0] < 1:
            continue
        freedom, lead = int(result.component_freedom[0]), result.score[0] - result.score[1]
        spread = lead / scipy.special.stdtrit(freedom, result.predict(0, 1))
        new = score[0] - score[1] + np.random.default_rng(seed).standard_normal()
        held.append(abs(new - lead) < scipy.special.stdtrit(freedom, 0.975) * spread)
    assert len(held) > 200
    assert abs(np.mean(held) - 0.95) < 4 * np.sqrt(0.05 * 0.95 / len(held))
