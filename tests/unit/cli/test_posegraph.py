"""``angsync posegraph``: outputs, exit codes, messages."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import call

import angsync as ang
from angsync.applications import pose_graph
from angsync.errors import InputError
from angsync.solvers.stopping import Status

LOOP = (
    "VERTEX_SE2 1 0 0 0\nVERTEX_SE2 2 1 0 1.5\nVERTEX_SE2 3 1 1 3\nVERTEX_SE2 4 0 1 -1.6\n"
    "EDGE_SE2 1 2 1 0 1.57 9 0 0 9 0 50\nEDGE_SE2 2 3 1 0 1.58 9 0 0 9 0 50\n"
    "EDGE_SE2 3 4 1.1 0 1.57 9 0 0 9 0 50\nEDGE_SE2 4 1 1 0.1 1.55 9 0 0 9 0 50\n"
)
APART = "EDGE_SE2 7 8 1 0 0.5 1 0 0 1 0 1\nEDGE_SE2 7 8 1 0.2 0.6 1 0 0 1 0 1\n"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loop.g2o").write_text(LOOP)


def files():
    return sorted(path.name for path in Path().iterdir())


def test_help_says_what_the_cost_is():
    text = call("posegraph", "--help").stdout
    assert "Usage: angsync posegraph" in text
    assert "kappa = I33" in text


def test_the_answer_is_written_and_summed_up():
    expected = pose_graph.optimize(pose_graph.read("loop.g2o"))
    answer = call("posegraph", "loop.g2o", "-o", "out.g2o", "--picture", "out.svg")
    assert (answer.code, answer.stderr) == (0, "")
    assert np.array_equal(pose_graph.read("out.g2o").poses, expected.poses)
    assert "<svg xmlns" in Path("out.svg").read_text()
    assert f"cost         {expected.cost:.10g} ({expected.initial_cost:.10g} before)" in answer.stdout
    for words in ("4 poses and 4 edges", "Proved: ", "seconds: ", "written to out.g2o", "written to out.svg"):
        assert words in answer.stdout
    assert files() == ["loop.g2o", "out.g2o", "out.svg"]


def test_json_is_one_object():
    answer = call("posegraph", "loop.g2o", "--json")
    assert answer.stdout.count("\n") == 1
    content = json.loads(answer.stdout)
    expected = pose_graph.optimize(pose_graph.read("loop.g2o"))
    assert (content["cost"], content["initial_cost"]) == (expected.cost, expected.initial_cost)
    assert content["nodes"] == [1, 2, 3, 4]
    assert content["poses"] == expected.poses.tolist()
    assert (content["n"], content["edges"], content["status"]) == (4, 4, "CONVERGED")
    assert content["certificate"]["verdict"] == "CERTIFIED"
    assert "poses" not in json.loads(call("posegraph", "loop.g2o", "--json", "-o", "out.g2o").stdout)


def test_pieces_are_a_warning():
    Path("pieces.g2o").write_text(LOOP + APART)
    answer = call("posegraph", "pieces.g2o", "-o", "out.g2o")
    assert answer.code == 0
    assert answer.stderr.count("warning: The pose graph is not connected") == 1
    assert "2 components" in answer.stdout


def test_without_a_proof_the_exit_code_is_1_and_the_answer_is_written():
    answer = call("posegraph", "loop.g2o", "--no-certify", "-o", "out.g2o")
    assert answer.code == 1
    assert "Not certified" in answer.stdout
    assert pose_graph.read("out.g2o").n == 4


def test_a_limit_that_is_met_is_exit_code_1_too():
    answer = call("posegraph", "loop.g2o", "--max-iterations", "0", "-o", "out.g2o")
    assert answer.code == 1
    assert "warning: ITERATION_LIMIT" in answer.stderr
    assert Path("out.g2o").exists()


def test_an_interruption_keeps_the_best_so_far(monkeypatch):
    def interrupted(data, **options):
        return dataclasses.replace(ang.synchronize(data, **options), status=Status.INTERRUPTED)

    monkeypatch.setattr(pose_graph, "synchronize", interrupted)
    answer = call("posegraph", "loop.g2o", "-o", "out.g2o")
    assert answer.code == 130
    assert pose_graph.read("out.g2o").initial_cost is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.g2o"], "there is no such file"),
        (["loop.g2o", "-o", "loop.g2o"], "named twice"),
        # the outputs are checked before the input is read, let alone solved
        (["none.g2o", "-o", "out.csv"], r"ends in \.g2o"),
        (["none.g2o", "--picture", "out.png"], r"ends in \.svg"),
        (["loop.g2o", "-o", "nowhere/out.g2o"], "does not exist"),
        (["loop.g2o", "--tolerance", "-1", "-o", "out.g2o"], "tolerance must not be negative"),
        (["space.g2o", "-o", "out.g2o"], "line 1: EDGE_SE3:QUAT belongs to a 3-D pose graph"),
        (["singular.g2o", "-o", "out.g2o"], "line 5: the information matrix is not positive definite"),
        (["loop.g2o", "--weights", "unit"], "--weights"),
    ],
)
def test_wrong_calls_leave_nothing(arguments, message):
    Path("space.g2o").write_text("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1\n")
    Path("singular.g2o").write_text(LOOP.replace("9 0 0 9 0 50", "9 9 0 9 0 50", 1))
    before = files()
    answer = call("posegraph", *arguments)
    assert answer.code == 2
    assert answer.stdout == ""
    assert re.search(message, answer.stderr)
    assert "Traceback" not in answer.stderr
    assert files() == before
    assert Path("loop.g2o").read_text() == LOOP


# --- wrong loops ---------------------------------------------------------------------------------------------


def spoiled_file():
    from false_loops import PAIRS, walk, with_false

    from angsync.io.g2o_file import edge_line

    truth, graph = walk(seed=8, scale=0.5)
    given, false = with_false(graph, truth, PAIRS[:4])
    lines = map(edge_line, given.i, given.j, given.motion, given.information)
    Path("walk.g2o").write_text("\n".join(lines) + "\n")
    return false


def test_wrong_loops_are_left_out_and_listed():
    false = spoiled_file()
    answer = call("posegraph", "walk.g2o", "--robust", "--trust-odometry", "--rejected", "false.csv", "-o", "out.g2o")
    assert (answer.code, answer.stderr) == (0, "")
    assert "4 of 36 loops distrusted" in answer.stdout
    assert "written to false.csv" in answer.stdout
    rows = Path("false.csv").read_text().splitlines()
    assert [int(row.split(",")[0]) for row in rows[1:]] == np.flatnonzero(false).tolist()
    assert len(pose_graph.read("out.g2o")) == false.size  # edges as they were
    content = json.loads(
        call("posegraph", "walk.g2o", "--robust", "--trust-odometry", "--scale", "0.5", "--json").stdout
    )
    assert content["robust"]["distrusted"] == np.flatnonzero(false).tolist()
    assert content["robust"]["credible"] is True


def test_a_search_that_had_no_time_is_no_success():
    """It said CONVERGED, proved, and exit code 0 for the backbone alone."""
    spoiled_file()
    answer = call("posegraph", "walk.g2o", "--robust", "--max-seconds", "0")
    assert answer.code == 1
    assert "TIME_LIMIT" in answer.stdout
    assert "Proved" not in answer.stdout
    content = json.loads(call("posegraph", "walk.g2o", "--robust", "--max-seconds", "0", "--json").stdout)
    assert (content["status"], content["certificate"]["verdict"]) == ("TIME_LIMIT", "UNDECIDED")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--trust-odometry",), "Add --robust"),
        (("--scale", "1"), "Add --robust"),
        (("--rejected", "false.csv"), "Add --robust"),
        (("--robust", "--rejected", "false.txt"), "ends in .csv"),
        (("--robust", "--rejected", "loop.g2o"), "named twice"),
        (("--robust", "--scale", "-1"), "scale must be"),
        (("--robust", "--scale", "0"), "must be positive"),
    ],
)
def test_what_a_robust_call_cannot_mean_is_one_message(options, words):
    answer = call("posegraph", "loop.g2o", *options)
    assert answer.code == 2
    assert words in " ".join(answer.stderr.split())
    assert files() == ["loop.g2o"]


SEEN = "EDGE_SE2_XY 1 20 2 1 9 0 9\nEDGE_SE2_XY 3 20 1 -1.9 9 0 9\nVERTEX_XY 20 0 0\n"


def test_landmarks_covariances_and_a_page():
    Path("seen.g2o").write_text(LOOP + SEEN)
    answer = call(
        "posegraph", "seen.g2o", "-o", "out.g2o", "--covariances", "cov.csv", "--reference", "3", "--report",
        "page.html", "--picture", "map.svg",
    )  # fmt: skip
    assert answer.code == 0
    assert "1 landmarks and 2 sightings" in answer.stdout
    assert "chi-square   " in answer.stdout
    expected = pose_graph.optimize(pose_graph.read("seen.g2o"))
    assert np.array_equal(pose_graph.read("out.g2o").landmarks.positions, expected.landmarks)
    lines = Path("cov.csv").read_text().splitlines()
    assert lines[3] == "3,pose,0.0,0.0,0.0,0.0,0.0,0.0"
    assert lines[5].startswith("20,landmark,")
    assert "Pose graph of 4 poses" in Path("page.html").read_text()
    assert "Certified optimal" in Path("map.svg").read_text()
    content = json.loads(call("posegraph", "seen.g2o", "--json").stdout)
    assert (content["landmark_ids"], content["sightings"]) == ([20], 2)
    assert content["landmarks"] == expected.landmarks.tolist()


def test_the_information_cost_and_both_costs():
    expected = pose_graph.optimize(pose_graph.read("loop.g2o"), cost="information")
    answer = call("posegraph", "loop.g2o", "--cost", "information")
    assert answer.code == 0  # the start is proved, and a minimum reached; the text says what the proof is about
    assert "About the isotropic cost" in answer.stdout
    assert f"cost         {expected.polish.cost:.10g} (full informations" in answer.stdout
    content = json.loads(call("posegraph", "loop.g2o", "--cost", "information", "--json").stdout)
    assert content["information_cost"] == expected.information_cost
    assert (content["cost"], content["minimized"]) == (expected.cost, "information")
    assert content["chi_square_per_dof"] == pytest.approx(expected.information_cost / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--cost", "full"), "--cost must be isotropic or information"),
        (("--reference", "3"), "--reference is about covariances"),
        (("--covariances", "cov.txt"), "ends in .csv"),
        (("--covariances", "cov.csv", "--reference", "77"), "there is no pose 77"),
    ],
)
def test_options_that_make_no_sense(arguments, words):
    answer = call("posegraph", "loop.g2o", *arguments)
    assert answer.code != 0
    assert words in answer.stderr
    assert files() == ["loop.g2o"]


def test_a_reference_that_is_not_there_is_told_before_the_work():
    answer = call("posegraph", "loop.g2o", "--covariances", "c.csv", "--reference", "999999", "-o", "out.g2o")
    assert answer.code == 2
    assert "there is no pose 999999" in answer.stderr
    assert files() == ["loop.g2o"]


def test_an_output_that_fails_does_not_take_the_answer_with_it(monkeypatch):
    def fails(*_, **__):
        raise InputError("no covariances.")

    monkeypatch.setattr(pose_graph.PoseGraphResult, "save_covariances", fails)
    answer = call("posegraph", "loop.g2o", "--covariances", "c.csv")
    assert answer.code == 2
    assert "error: no covariances." in answer.stderr
    assert len(answer.object["poses"]) == 4
