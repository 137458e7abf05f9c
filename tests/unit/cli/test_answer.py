"""What ``angsync solve`` says: the verdict first, how well it fits, the worst measurements, the phases, the work."""

from __future__ import annotations

import re

import numpy as np
import pytest
from command_line import call, write_csv

import angsync as ang
from angsync.cli.answer import answer_in_words, answer_object
from angsync.io.strict_json import to_json

HEADER = "i,j,angle,weight"


def noisy(wrong: float = 0.0) -> list[tuple]:
    """A full graph of eight named nodes; one measurement is off by ``wrong`` radians."""
    rng = np.random.default_rng(4)
    i, j = np.triu_indices(8, 1)
    theta = rng.uniform(-3, 3, 8)
    angle = theta[i] - theta[j] + 0.02 * rng.standard_normal(i.size)
    angle[5] += wrong
    return [("abcdefgh"[a], "abcdefgh"[b], x, 1) for a, b, x in zip(i, j, angle, strict=True)]


def test_what_was_found_comes_first_and_how_comes_last():
    write_csv("edges.csv", noisy(), header=HEADER)
    answer = call("solve", "edges.csv", "--standard-errors")
    assert (answer.code, answer.stderr) == (0, "")
    wanted = ("CERTIFIED: ", "The measurements miss the fit by 1", "fit worst", "node  angle (rad)  standard error",
              "  proof ", "  method ", "  work ")  # fmt: skip
    places = [answer.stdout.index(words) for words in wanted]
    assert places == sorted(places)
    assert places[0] == 0
    assert re.search(r"^  b +-?\d\.\d{6} +0\.0\d+$", answer.stdout, flags=re.MULTILINE)
    assert "robust" not in answer.stdout


def test_a_wrong_measurement_is_named():
    write_csv("edges.csv", noisy(wrong=1.5), header=HEADER)
    answer = call("solve", "edges.csv")
    assert "1 of 28 is further off than noise allows" in answer.stdout
    assert "Try the solver robust" in answer.stdout
    table = answer.stdout.partition("fit worst:\n")[2].splitlines()
    assert table[1].split()[:2] == ["a", "g"]
    told = call("solve", "edges.csv", "--json").object
    assert not [value for value in told["quality"].values() if isinstance(value, str) and "array(" in value]
    assert told["quality"]["heavy_tails"] is True
    assert told["quality"]["worst"][0]["i"] == "a"
    assert told["verdict"].startswith("CERTIFIED: ")


def test_many_phases_are_cut_short():
    call("simulate", "grid", "-o", "grid.csv")
    answer = call("solve", "grid.csv", "--unit", "deg")
    assert "  ... 90 more\n  95 " in answer.stdout  # the first and the last
    assert "angle (deg)" in answer.stdout


def test_options_stand_in_the_place_of_keywords():
    write_csv("edges.csv", noisy(), header=HEADER)
    answer = call("solve", "edges.csv", "--no-certify")
    assert answer.stdout.startswith("NOT CERTIFIED: no proof was asked for")
    assert "certify=" not in answer.stdout
    answer = call("solve", "edges.csv", "--max-seconds", "0")
    assert answer.stdout.startswith(
        "UNDECIDED: these phases are not proved to be the best fit, because there was no time"
    )
    assert "max_seconds" not in answer.stdout + answer.stderr
    assert "start=" not in answer.stdout + answer.stderr


def test_several_parts_and_names_of_any_length():
    long = "n" * 200
    with pytest.warns(ang.errors.DisconnectedWarning):
        result = ang.synchronize(ang.Measurements(["a", "c"], [long, "d"], [0.5, 0.25]))
    text = answer_in_words(result, None, "turn")
    assert max(map(len, text.partition("proof")[0].splitlines())) < 120
    assert "part" in text
    assert "cannot be judged" in text


def test_an_operator_has_no_fit_to_judge():
    import scipy.sparse.linalg

    C = ang.simulate.gaussian(20, 0.1, rng=0).C
    result = ang.synchronize(scipy.sparse.linalg.aslinearoperator(C))
    assert "miss the fit" not in answer_in_words(result, None, "rad")


def test_quiet_is_quiet():
    write_csv("edges.csv", noisy(), header=HEADER)
    for arguments in (("solve", "edges.csv", "--quiet"), ("-q", "solve", "edges.csv"), ("solve", "edges.csv", "-q")):
        answer = call(*arguments)
        assert (answer.code, answer.stdout, answer.stderr) == (0, "", "")
    answer = call("solve", "edges.csv", "--quiet", "--max-iterations", "1", "--solver", "gpm")
    assert (answer.code, answer.stdout, answer.stderr) == (1, "", "")
    assert call("solve", "edges.csv", "--quiet", "--json").object["n"] == 8
    assert "no such file" in call("solve", "absent.csv", "--quiet").stderr


def test_threads_of_one_command():
    write_csv("edges.csv", noisy(), header=HEADER)
    assert call("solve", "edges.csv", "--threads", "1", "-q").code == 0


def test_json_holds_no_text_of_python_objects():
    result = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.31]))
    told = answer_object(result, None, "rad", with_phases=True)
    assert "residuals" not in told["quality"]
    assert "array(" not in to_json(told)
