"""Games from matrices, tables and files; every wrong row is named."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from angsync.applications import ranking
from angsync.applications.ranking.games import Columns, comparisons
from angsync.errors import AngsyncWarning, FileFormatError, InputError

A = np.array([[0, 3, 0], [1, 0, 2], [0, 2, 0]])


def test_a_matrix_counts_each_pair_once_dense_sparse_or_in_a_file(tmp_path):
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_array(A))
    np.save(tmp_path / "a.npy", A)
    scipy.io.mmwrite(tmp_path / "a.mtx", scipy.sparse.csr_array(A))
    for given in (A, scipy.sparse.csr_array(A), tmp_path / "a.npz", tmp_path / "a.npy", str(tmp_path / "a.mtx")):
        with pytest.warns(AngsyncWarning, match="2 of 2 pairs have numbers both ways"):
            played = ranking.read(given)
        assert (played.i.tolist(), played.j.tolist()) == ([0, 1], [1, 2])
        assert played.margin.tolist() == [2.0, 0.0]
        assert played.total.tolist() == [4.0, 4.0]


def test_a_matrix_of_wins_both_ways_is_said_to_be_netted():
    wins = np.array([[0, 100, 0], [99, 0, 1], [0, 0, 0]])
    with pytest.warns(AngsyncWarning, match="1 of 2 pairs have numbers both ways.*100 to 99 as 1 to 0"):
        ranking.rank(wins)
    ranking.rank(wins + 0.5 * (wins > 0))  # margins, not wins
    ranking.rank(np.triu(wins))


def test_a_matrix_of_games_comes_back_from_the_games():
    played, _ = ranking.simulate(12, 40, rng=3)
    again = ranking.read(played.matrix())
    pairs = played.pairs()
    assert (again.i == pairs.i).all()
    np.testing.assert_allclose(again.margin, pairs.margin, atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.array([[0, -1.0], [0, 0]]), r"A\[0, 1\] is -1.0"),
        (np.array([[0, np.nan], [0, 0]]), r"A\[0, 1\] is nan"),
        (np.array([[2, 1], [0, 0]]), "against himself"),
        (np.array([[0, 1j], [0, 0]]), "complex"),
    ],
)
def test_a_matrix_that_is_none_of_results_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        ranking.read(wrong)


def test_names_of_rows_have_to_fit():
    assert ranking.read(np.triu(A), players=["a", "b", "c"]).players == ("a", "b", "c")
    for names in (["a", "b"], ["a", "a", "b"]):
        with pytest.raises(InputError, match="3 different names"):
            ranking.read(A, players=names)
    with pytest.raises(InputError, match="names the rows of a matrix"):
        ranking.read({"winner": ["a"], "loser": ["b"]}, players=["a", "b"])


def test_games_with_winners_and_games_with_scores_are_the_same(tmp_path):
    scores = {"home": ["a", "b", "c"], "away": ["b", "c", "a"], "home_score": [3, 1, 2], "away_score": [1, 1, 5]}
    path = tmp_path / "games.csv"
    path.write_text("Winner;Loser;Margin\na;b;2\nb;c;0\na;c;3\n")
    by_score, by_winner = ranking.read(scores).pairs(), ranking.read(path).pairs()
    assert by_score.players == by_winner.players == ("a", "b", "c")
    assert by_score.margin.tolist() == by_winner.margin.tolist() == [2.0, 3.0, 0.0]
    assert by_score.total.tolist() == [4.0, 7.0, 2.0]
    renamed = ranking.read({"x": ["a"], "y": ["b"]}, winner="x", loser="y")
    assert renamed.margin.tolist() == [1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner,loser\na,a\n", r"line 2: 'a' against himself"),
        ("winner,loser,margin\na,b,3\nb,c,-2\n", r"line 3: the margin of the winner is -2"),
        ("winner,loser,margin\na,b,x\n", r"line 2, column 'margin': 'x'"),
        ("winner,margin\na,3\n", r"no column 'loser' or 'l' for the loser.*--loser"),
        ("winner,loser\na,\n", r"line 2, column 'loser': the entry is missing"),
        ("one,two\na,b\n", r"no column 'home'.*--home"),
    ],
)
def test_a_row_that_is_no_game_is_named(tmp_path, text, message):
    path = tmp_path / "games.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        ranking.read(path)


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(FileFormatError, match=r"a\.npz"):
        ranking.read(path)


def test_one_player_in_two_spellings_is_suspected():
    def games(first, second):
        return {"winner": [first, first, second], "loser": ["zed", "yan", "zed"]}

    for pair in (("Duke", "duke "), ("St. John's", "St Johns"), ("Connecticut", "Conneticut")):
        with pytest.warns(AngsyncWarning, match="two spellings"):
            comparisons(games(*pair), Columns())
    for pair in (("player12", "player13"), ("Duke", "Iowa")):
        comparisons(games(*pair), Columns())  # no warning: warnings are errors here
