"""Other ways to rank, against what is known about them."""

import numpy as np
import pytest

from angsync.applications import ranking
from angsync.applications.ranking.encoding import encoded, least_squares
from angsync.applications.ranking.peers import bradley_terry, peers, springrank


def test_every_way_finds_the_order_of_clear_games():
    i, j = np.triu_indices(6, 1)
    played = ranking.Comparisons(tuple(range(6)), i, j, (j - i) ** 2.0, (j - i) ** 2.0)
    for name, way in peers("sqrt").items():
        assert np.argsort(-way(played)).tolist() == [0, 1, 2, 3, 4, 5], name


def test_springrank_solves_its_equations():
    played, _ = ranking.simulate(15, 60, rng=2)
    s = springrank(played, lambda pairs: pairs.margin)
    A = played.pairs().matrix().toarray()
    out, into = A.sum(axis=1), A.sum(axis=0)
    left = (np.diag(out + into) - A - A.T) @ s - (out - into)
    assert np.abs(left).max() < 1e-6 * np.abs(out).max()


def test_bradley_terry_is_a_maximum_of_its_likelihood():
    played, _ = ranking.simulate(8, 200, rng=5)

    def likelihood(s):
        lead = np.sign(played.margin) * (s[played.i] - s[played.j])
        # the prior: a tenth of a game drawn with a player of strength 1
        return -np.log1p(np.exp(-lead)).sum() + 0.1 * np.sum(0.5 * s - np.log1p(np.exp(s)))

    s = bradley_terry(played, 5000)
    # strengths are scaled to a geometric mean of 1, which the prior alone does not ask for: compare along it
    best = max(likelihood(s + c) for c in np.linspace(-0.3, 0.3, 61))
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert likelihood(s + 0.02 * rng.standard_normal(8)) < best + 1e-4


def test_least_squares_is_exact_on_exact_games_and_centerd_in_each_component():
    s = np.array([1.0, 3.0, -2.0, 5.0, 4.0])
    i, j = np.array([0, 1, 2, 3]), np.array([1, 2, 0, 4])
    found = least_squares(5, i, j, s[i] - s[j])
    np.testing.assert_allclose(found, [1 - 2 / 3, 3 - 2 / 3, -2 - 2 / 3, 0.5, -0.5], atol=1e-12)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("sqrt", [3, -2, 0]), ("log", [np.log(10), -np.log(5), 0]), ("linear", [9, -4, 0]), ("sign", [1, -1, 0]),
     ("ratio", [0.75, -0.5, 0])],
)  # fmt: skip
def test_what_a_margin_counts(encoding, expected):
    played = ranking.Comparisons(
        (0, 1), np.zeros(3, int), np.ones(3, int), np.array([9.0, -4, 0]), np.array([12.0, 8, 0])
    )
    np.testing.assert_allclose(encoded(played, encoding), expected)
