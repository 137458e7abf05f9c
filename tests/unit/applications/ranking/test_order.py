"""Where the circle is cut, ranks, upsets, rank intervals."""

import itertools

import numpy as np
import pytest

from angsync.applications.ranking.order import cut_circle, rank_intervals, ranks_of, upset_share


def upsets(order, i, j, sign):
    place = np.argsort(order)
    return int(np.sum(sign * (place[j] - place[i]) < 0))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_all_shifts_either_way_round(seed):
    rng = np.random.default_rng(seed)
    n, m = 9, 30
    phase = rng.uniform(-np.pi, np.pi, n)
    i = rng.integers(0, n, m)
    j = (i + rng.integers(1, n, m)) % n
    sign = rng.choice([-1.0, 0.0, 1.0], m)
    order = np.argsort(-phase)
    gaps = np.diff(np.sort(phase), append=np.sort(phase)[0] + 2 * np.pi)
    cut = cut_circle(phase, i, j, sign)
    found = upsets(np.argsort(-cut.height), i, j, sign)
    if gaps.max() < np.pi:
        tried = [np.roll(way, -k) for k, way in itertools.product(range(n), (order, order[::-1]))]
        assert found == min(upsets(one, i, j, sign) for one in tried)
    turned = np.exp(1j * (cut.orientation * cut.height - phase))  # the phases themselves but for one turn
    np.testing.assert_allclose(turned, turned[0], atol=1e-12)
    assert abs(cut.height.mean()) < 1e-12


def test_phases_within_half_a_circle_have_one_order_whatever_the_games_say():
    phase = np.array([3.0, -3.0, 2.5])  # -3.0 is 3.28: the best
    cut = cut_circle(phase, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 1.0]))
    assert np.argsort(-cut.height).tolist() == [1, 0, 2]
    assert cut.orientation == 1


def test_equal_heights_share_a_rank():
    assert ranks_of(np.array([0.5, 2.0, 0.5, -1.0])).tolist() == [2, 1, 2, 4]


def test_upsets_of_equals_count_one_half_and_ties_do_not_count():
    height = np.array([1.0, 1.0, 0.0, np.nan])
    i, j = np.array([0, 2, 0, 1, 3]), np.array([1, 0, 2, 2, 0])
    assert upset_share(height, i, j, np.array([1.0, 1.0, 1.0, 0.0, 1.0])) == pytest.approx((0.5 + 1 + 0) / 3)
    assert np.isnan(upset_share(height, i, j, np.zeros(5)))


def test_intervals_shrink_to_the_rank_where_errors_vanish_and_are_everything_where_they_are_large():
    score = np.array([3.0, 1.0, 2.0])
    assert rank_intervals(score, np.full(3, 1e-9), 50).tolist() == [[1, 1], [3, 3], [2, 2]]
    assert rank_intervals(score, np.full(3, 1e9), 50).tolist() == [[1, 3]] * 3
    assert np.isnan(rank_intervals(score, np.full(3, 1e-9), 0)).all()
    wide, narrow = rank_intervals(score, np.full(3, 0.45), 1), rank_intervals(score, np.full(3, 0.45), 10_000)
    assert (wide[:, 1] - wide[:, 0]).sum() > (narrow[:, 1] - narrow[:, 0]).sum()


def test_many_players_are_compared_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    score, error = rng.standard_normal(50), rng.uniform(0.1, 0.3, 50)
    whole = rank_intervals(score, error, 30)
    monkeypatch.setattr("angsync.applications.ranking.order._AT_ONCE", 120)
    np.testing.assert_array_equal(rank_intervals(score, error, 30), whole)
