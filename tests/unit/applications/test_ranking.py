"""Ranks, scores, intervals and predictions through the front door."""

import warnings

import numpy as np
import pytest

from angsync.applications import ranking
from angsync.errors import AngsyncWarning, ErrorBarWarning, InputError
from angsync.testing import check_application


@pytest.fixture(scope="module")
def season():
    played, score = ranking.simulate(60, 354, rng=77)
    return played, score, ranking.rank(played)


def test_the_result_is_an_application(season):
    check_application(season[2])


def test_scores_are_those_of_least_squares_nearly(season):
    played, _, result = season
    line = ranking.peers("sqrt")["least squares"](played)
    assert np.abs(result.score - line).max() < 0.02 * np.abs(line).max()
    # 354 games of unit noise among 60: about 11.8 a player, so standard errors near 1 / sqrt(11.8) = 0.29
    assert 0.25 < np.median(result.standard_error) < 0.35
    assert result.noise == pytest.approx(1.0, abs=3 / np.sqrt(2 * 294))  # three standard errors of a deviation
    assert result.sync.certificate.verdict.name == "CERTIFIED"
    order = result.order()
    assert sorted(order) == list(range(60))
    assert order[0] == int(np.argmax(result.score))


def test_intervals_hold_the_true_ranks():
    """Ten seasons of 40 players: 400 intervals of 95 %.

    Ranks within a season depend on each other, as if there were fewer: 0.95 less four standard errors of 100
    independent ones, sqrt(0.05 * 0.95 / 100) each, is the bound.
    """
    held = []
    for seed in range(10):
        played, score = ranking.simulate(40, 300, rng=seed)
        interval = ranking.rank(played).rank_interval
        truth = 1 + np.sum(score[None, :] > score[:, None], axis=1)
        held.append((interval[:, 0] <= truth) & (truth <= interval[:, 1]))
    assert 0.95 - 4 * np.sqrt(0.05 * 0.95 / 100) < np.mean(held) < 0.995


def test_rank_repeated_games_are_doubted():
    """Every game three times: error bars are too short by sqrt(3). The games themselves are not doubted."""
    played, _ = ranking.simulate(20, 120, rng=3)
    assert not ranking.rank(played).doubts
    thrice = np.tile(np.arange(120), 3)
    with pytest.warns(ErrorBarWarning, match="every game is there 3 times"):
        result = ranking.rank(played.part(thrice))
    assert "every game is there 3 times" in str(result)
    pairs = played.pairs()
    with pytest.warns(ErrorBarWarning, match="60 games repeat others of the same pair exactly"):
        ranking.rank(pairs.part(np.r_[np.arange(len(pairs)), :60]))


def test_rank_all_pairs_drawn_names_nobody_best():
    names = ["a", "b", "c", "d"]
    pairs = [(one, other) for one in names for other in names if one != other]
    result = ranking.rank({"winner": [p[0] for p in pairs], "loser": [p[1] for p in pairs]})
    assert "best         nobody: all are equal" in str(result)


def test_predictions_are_probabilities_that_come_true():
    """300 unseen games of one season: the mean probability of what happened must agree with how often it did."""
    played, score = ranking.simulate(30, 600, rng=11)
    result = ranking.rank(played)
    fresh, _ = ranking.simulate(30, 3000, rng=12)
    rng = np.random.default_rng(13)
    lead = score[fresh.i] - score[fresh.j] + rng.standard_normal(3000)
    said = np.array([result.predict(a, b) for a, b in zip(fresh.i, fresh.j, strict=True)])
    # the standard error of a mean of k outcomes is at most 0.5 / sqrt(k); that of the scores adds about 0.01
    for low in (0.5, 0.7, 0.9):
        some = (said >= low) & (said < low + 0.2)
        assert np.mean(lead[some] > 0) == pytest.approx(said[some].mean(), abs=4 * 0.5 / np.sqrt(some.sum()) + 0.01)
    assert result.predict(3, 3) == 0.5
    assert result.predict(3, 4) == pytest.approx(1 - result.predict(4, 3))


def test_a_long_chain_does_not_close_the_circle():
    n = 400
    played = ranking.Comparisons(tuple(range(n)), np.arange(n - 1), np.arange(1, n), np.ones(n - 1), np.ones(n - 1))
    result = ranking.rank(played)
    assert result.order() == list(range(n))
    np.testing.assert_allclose(np.diff(result.score), -1.0, atol=1e-6)
    assert np.isnan(result.rank_interval).all()
    assert "too few games" in str(result)
    assert result.predict(0, 399) == 1.0


def test_groups_that_never_met_are_ranked_apart_and_players_without_games_have_no_rank():
    A = np.zeros((6, 6))
    A[0, 1], A[3, 4] = 4, 9
    result = ranking.rank(A)
    np.testing.assert_array_equal(result.rank, [1, 2, np.nan, 1, 2, np.nan])
    assert result.component.tolist() == [0, 0, -1, 1, 1, -1]
    assert result.predict(0, 3) == result.predict(0, 2) == 0.5
    text = str(result)
    assert "2 groups of players that never met" in text
    assert "Without games, and so without a rank: 2, 5." in text


def test_equal_players_share_a_rank():
    result = ranking.rank({"winner": ["a", "a"], "loser": ["b", "c"], "margin": [4, 4]})
    assert result.rank.tolist() == [1, 2, 2]


def test_ties_say_equal_or_nothing():
    games = {"winner": ["a", "b", "c"], "loser": ["b", "c", "a"], "margin": [4, 0, 0]}
    assert ranking.rank(games).score[2] == pytest.approx(0.0, abs=1e-3)
    dropped = ranking.rank(games, ties="drop")
    assert np.isnan(dropped.rank[2])


def test_anchors_hold_scores():
    played, _ = ranking.simulate(10, 80, rng=4)
    result = ranking.rank(played, anchors={3: 7.0, 5: 6.0})
    assert result.score[3] == pytest.approx(7.0, abs=1e-9)
    assert result.score[5] == pytest.approx(6.0, abs=1e-9)
    assert result.standard_error[3] == 0.0
    with pytest.raises(InputError, match="none of the players"):
        ranking.rank(played, anchors={"x": 1.0})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"encoding": "cube"}, "encoding must be one of"), ({"ties": "half"}, "ties must be"), ({"angle": 4.0}, "angle")],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ranking.rank(np.array([[0, 1], [0, 0]]), **options)


def test_games_without_any_winner_are_refused():
    with pytest.raises(InputError, match="no games with a winner"):
        ranking.rank({"winner": ["a"], "loser": ["b"], "margin": [0]}, ties="drop")


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "upset", "objective"),
    [("basketball-1985", 0.1779, 4765.839920), ("faculty-business", 0.0901, 3573.459581),
     ("premier-league-2009", 0.1951, 325.624373)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*pairs have numbers both ways")  # netted, as it was published
def test_the_published_recipe_gives_the_published_fit(shared_data, name, upset, objective):
    played = ranking.read(shared_data / "ranking" / f"{name}.npz")
    n = np.unique(np.concatenate([played.i, played.j])).size
    result = ranking.rank(played, "sign", angle=np.pi / (n - 1), ties="drop")
    assert result.upset == pytest.approx(upset, abs=5e-5)
    assert result.sync.objective == pytest.approx(objective, abs=1e-5)
    assert result.is_proved


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_a_closed_circle_is_said_and_gives_no_intervals(order):
    """Four players in a cycle at a large angle: every cut is as good, and the rows decided which was taken."""
    games = {"winner": list("abcd"), "loser": list("bcda"), "margin": [1, 1, 1, 1]}
    with pytest.warns(AngsyncWarning, match="depends on where it is cut"):
        result = ranking.rank({name: [column[k] for k in order] for name, column in games.items()}, angle=1.5)
    assert np.isnan(result.rank_interval).all()
    assert result.predict("a", "b") == 0.5
    assert "depends on where it is cut" in str(result)


def test_an_angle_at_which_a_long_chain_closes_the_circle_is_said():
    i = np.concatenate([np.arange(59), np.arange(58)])
    j = np.concatenate([np.arange(1, 60), np.arange(2, 60)])
    played = ranking.Comparisons(tuple(range(60)), i, j, 1e4 * (j - i) ** 2.0, 1e4 * (j - i) ** 2.0)
    with pytest.warns(AngsyncWarning, match="Leave angle out"):
        assert ranking.rank(played, angle=0.2).is_closed
    assert ranking.rank(played).order() == list(range(60))


@pytest.mark.parametrize("size", [1e-170, 1e-300, 1.0, 1e170, 1e300])
@pytest.mark.parametrize("encoding", ["linear", "sqrt"])
def test_margins_of_any_size_give_one_order(size, encoding):
    margins = [size, size, 2 * size]
    result = ranking.rank({"winner": list("cbc"), "loser": list("baa"), "margin": margins}, encoding)
    assert result.rank.tolist() == [1, 2, 3]
    assert result.upset == 0.0
    assert result.predict("c", "a") > 0.5


def test_games_that_are_all_ties_are_said_to_tell_nothing():
    text = str(ranking.rank({"winner": ["a", "b"], "loser": ["b", "c"], "margin": [0, 0]}))
    assert "nothing tells the players apart" in text
    assert " nan" not in text
    with pytest.raises(InputError, match="holds numbers"):
        ranking.rank(np.array([["a", "b"], ["c", "d"]]))


def test_games_in_a_circle_are_said_to_be_cyclic_and_rank_nobody():
    """40 players who each beat the next: an order has nothing to say, though a circle fits without any residual."""
    n = 40
    games = {"winner": list(range(n)), "loser": [(k + 1) % n for k in range(n)], "margin": [1.0] * n}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ranking.rank(games)
    assert result.is_cyclic
    assert not result.is_closed
    text = str(result)
    assert "nearly cyclic" in text
    assert "Leave angle out" not in text
    assert np.abs(result.score).max() < 1e-6
    assert (result.rank_interval == [1, n]).all()
    assert not ranking.rank(ranking.simulate(20, 100, rng=1)[0]).is_cyclic
