"""``angsync posegraph``: outputs, exit codes, messages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from command_line import call
from field_files import LOOP, poses

import angsync as ang
from angsync.applications import pose_graph
from angsync.errors import InputError
from angsync.solvers.stopping import Status

APART = "EDGE_SE2 7 8 1 0 0.5 1 0 0 1 0 1\nEDGE_SE2 7 8 1 0.2 0.6 1 0 0 1 0 1\n"


@pytest.fixture(autouse=True)
def _loop(_own_folder):
    poses()


def test_the_answer_is_written_and_summed_up():
    expected = pose_graph.optimize(pose_graph.read("loop.g2o"))
    answer = call("posegraph", "loop.g2o", "-o", "out.g2o", "--picture", "out.svg")
    assert (answer.code, answer.stderr) == (0, "")
    assert np.array_equal(pose_graph.read("out.g2o").poses, expected.poses)
    assert "<svg xmlns" in Path("out.svg").read_text()
    assert f"cost         {expected.cost:.10g} ({expected.initial_cost:.10g} before)" in answer.stdout
    assert {path.name for path in Path().iterdir()} == {"loop.g2o", "out.g2o", "out.svg"}


def test_json_is_one_object():
    content = call("posegraph", "loop.g2o", "--json").object
    expected = pose_graph.optimize(pose_graph.read("loop.g2o"))
    assert (content["cost"], content["initial_cost"]) == (expected.cost, expected.initial_cost)
    assert content["nodes"] == [1, 2, 3, 4]
    assert content["poses"] == expected.poses.tolist()
    assert (content["n"], content["edges"], content["status"]) == (4, 4, "CONVERGED")
    assert content["certificate"]["verdict"] == "CERTIFIED"
    assert "poses" not in call("posegraph", "loop.g2o", "--json", "-o", "out.g2o").object


def test_pieces_are_a_warning():
    Path("pieces.g2o").write_text(LOOP + APART)
    answer = call("posegraph", "pieces.g2o", "-o", "out.g2o")
    assert answer.code == 0
    assert answer.stderr.count("warning: The pose graph is not connected") == 1
    assert "2 components" in answer.stdout


@pytest.mark.parametrize(
    ("options", "words"), [(["--no-certify"], "Not certified"), (["--max-iterations", "0"], "ITERATION_LIMIT")]
)
def test_without_proof_or_convergence_the_code_is_1_and_the_answer_is_written(options, words):
    answer = call("posegraph", "loop.g2o", *options, "-o", "out.g2o")
    assert answer.code == 1
    assert words in answer.stdout
    assert pose_graph.read("out.g2o").n == 4


def test_an_interruption_keeps_the_best_so_far(monkeypatch):
    def interrupted(data, **options):
        return dataclasses.replace(ang.synchronize(data, **options), status=Status.INTERRUPTED)

    monkeypatch.setattr(pose_graph, "synchronize", interrupted)
    answer = call("posegraph", "loop.g2o", "-o", "out.g2o")
    assert answer.code == 130
    assert pose_graph.read("out.g2o").initial_cost is not None


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
    content = call("posegraph", "walk.g2o", "--robust", "--trust-odometry", "--scale", "0.5", "--json").object
    assert content["robust"]["distrusted"] == np.flatnonzero(false).tolist()
    assert content["robust"]["credible"] is True


def test_a_search_that_had_no_time_is_no_success():
    """It said CONVERGED, proved, and exit code 0 for the backbone alone."""
    spoiled_file()
    answer = call("posegraph", "walk.g2o", "--robust", "--max-seconds", "0")
    assert answer.code == 1
    assert "TIME_LIMIT" in answer.stdout
    assert "Proved" not in answer.stdout
    content = call("posegraph", "walk.g2o", "--robust", "--max-seconds", "0", "--json").object
    assert (content["status"], content["certificate"]["verdict"]) == ("TIME_LIMIT", "UNDECIDED")


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
    content = call("posegraph", "seen.g2o", "--json").object
    assert (content["landmark_ids"], content["sightings"]) == ([20], 2)
    assert content["landmarks"] == expected.landmarks.tolist()


def test_the_information_cost_and_both_costs():
    expected = pose_graph.optimize(pose_graph.read("loop.g2o"), cost="information")
    answer = call("posegraph", "loop.g2o", "--cost", "information")
    assert answer.code == 0  # the start is proved, and a minimum reached; the text says what the proof is about
    assert "About the isotropic cost" in answer.stdout
    assert f"cost         {expected.polish.cost:.10g} (full informations" in answer.stdout
    content = call("posegraph", "loop.g2o", "--cost", "information", "--json").object
    assert content["information_cost"] == expected.information_cost
    assert (content["cost"], content["minimized"]) == (expected.cost, "information")
    assert content["chi_square_per_dof"] == pytest.approx(expected.information_cost / 3, rel=1e-9)


def test_an_output_that_fails_does_not_take_the_answer_with_it(monkeypatch):
    def fails(*_, **__):
        raise InputError("no covariances.")

    monkeypatch.setattr(pose_graph.PoseGraphResult, "save_covariances", fails)
    answer = call("posegraph", "loop.g2o", "--covariances", "c.csv")
    assert answer.code == 2
    assert "error: no covariances." in answer.stderr
    assert len(answer.object["poses"]) == 4
