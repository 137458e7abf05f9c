"""``angsync rank``."""

from command_line import call


def write(tmp_path, text="home,away,home_score,away_score\na,b,3,1\nb,c,2,2\nc,a,0,4\nd,a,1,2\nb,d,5,1\nc,d,2,0\n"):
    path = tmp_path / "games.csv"
    path.write_text(text)
    return path


def test_a_season_becomes_a_table(tmp_path):
    path, table = write(tmp_path), tmp_path / "ranks.csv"
    result = call("rank", path, "-o", table, "--report", tmp_path / "ranks.html")
    assert result.code == 0, result.stderr
    assert "ranking of 4 players" in result.stdout
    assert table.read_text().splitlines()[1].startswith("a,1.0,")
    assert (tmp_path / "ranks.html").exists()


def test_prediction_is_shown_beside_the_peers(tmp_path):
    result = call("rank", write(tmp_path), "--holdout", 0.3, "--splits", 4, "--json")
    assert result.code == 0, result.stderr
    told = result.object
    assert set(told["accuracy"]) >= {"angsync", "least squares", "Bradley-Terry"}
    assert told["columns"]["player"][0] == "a"


def test_bad_games_are_one_message_and_no_file(tmp_path):
    table = tmp_path / "ranks.csv"
    result = call("rank", write(tmp_path, "winner,loser\na,a\n"), "-o", table)
    assert result.code == 2
    assert "against himself" in result.stderr
    assert not table.exists()
    result = call("rank", write(tmp_path), "--encoding", "cube")
    assert result.code == 2
    assert "encoding must be one of" in result.stderr
