"""g2o files with landmarks: read, solved, written back; what contradicts itself is refused."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.applications.pose_graph import optimize, read, simulate
from angsync.errors import AngsyncWarning, FileFormatError

MOTIONS = "EDGE_SE2 10 11 1 0 1.5 2 1 0 3 0 4\nEDGE_SE2 11 12 1 0 1.5 2 0 0 2 0 4\n"
SEEN = "EDGE_SE2_XY 10 99 1 2 3 1 4\nEDGE_SE2_XY 12 99 0.5 1 1 0 1\n"


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "graph.g2o"
        path.write_text(content)
        return path

    return write


def test_landmarks_are_read_solved_and_written_back(file, tmp_path):
    remark = "# a remark\n"
    graph = read(file(remark + "VERTEX_XY 99 7 8\nVERTEX_XY 98 1 1\n" + MOTIONS + SEEN))
    assert graph.ids == (10, 11, 12)
    assert graph.landmarks.ids == (98, 99)
    assert graph.landmarks.positions.tolist() == [[1, 1], [7, 8]]
    assert graph.landmarks.pose.tolist() == [0, 2]
    assert graph.landmarks.landmark.tolist() == [1, 1]
    assert graph.landmarks.information[0].tolist() == [[3, 1], [1, 4]]
    with pytest.warns(AngsyncWarning, match="nobody saw stay where they are: 98"):
        result = optimize(graph)
    result.save(tmp_path / "out.g2o")
    lines = (tmp_path / "out.g2o").read_text().splitlines()
    assert [line for line in lines if not line.startswith("VERTEX")] == (remark + MOTIONS + SEEN).splitlines()
    again = read(tmp_path / "out.g2o")
    assert np.array_equal(again.landmarks.positions, result.landmarks)
    assert again.initial_cost == pytest.approx(result.cost, rel=1e-9)


def test_arrays_come_back_from_the_file_as_they_were(tmp_path):
    graph = simulate(20, loops=5, landmarks=4, rng=3).graph
    optimize(graph).save(tmp_path / "out.g2o")
    again = read(tmp_path / "out.g2o")
    for name in ("i", "j", "motion", "information"):
        assert np.array_equal(getattr(again, name), getattr(graph, name)), name
    for name in ("pose", "landmark", "offset", "information", "ids"):
        assert np.array_equal(getattr(again.landmarks, name), getattr(graph.landmarks, name)), name


def test_a_pose_known_by_its_sightings_alone_is_one(file):
    assert read(file(MOTIONS + SEEN + "EDGE_SE2_XY 13 99 1 1 1 0 1\n")).ids == (10, 11, 12, 13)


def test_the_rotations_alone_do_not_see_landmarks(file):
    assert ang.read(file("VERTEX_XY 99 7 8\n" + MOTIONS + SEEN)).n == 3


def test_a_fixed_landmark_is_not_held_and_that_is_said(file):
    with pytest.warns(AngsyncWarning, match="FIX names landmark 99, but only poses can be held"):
        read(file(MOTIONS + SEEN + "FIX 99\n"))


def test_other_tags_are_kept_and_named(file, tmp_path):
    with pytest.warns(AngsyncWarning, match="'EDGE_BEARING_SE2_XY' are kept but not used"):
        graph = read(file(MOTIONS + "EDGE_BEARING_SE2_XY 10 99 0.1 1\n"))
    optimize(graph).save(tmp_path / "out.g2o")
    assert (tmp_path / "out.g2o").read_text().endswith("EDGE_BEARING_SE2_XY 10 99 0.1 1\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("VERTEX_XY 99 7 8 0.5\n" + MOTIONS, "line 1: VERTEX_XY needs 3 values, but there are 4 .*no heading"),
        (MOTIONS + "EDGE_SE2_XY 10 99 1 2 0.1 1 0 0 1 0 1\n", "line 3: EDGE_SE2_XY needs 7 values.*no heading"),
        (MOTIONS + "EDGE_SE2_XY 10 99 1 2 1 0\n", "line 3: EDGE_SE2_XY needs 7 values, but there are 6"),
        (MOTIONS + "EDGE_SE2_XY 10 99 1 2 1 1 1\n", "line 3: the information matrix is not positive definite"),
        (MOTIONS + "EDGE_SE2_XY 10 99 1 2 0 0 1\n", "line 3: the information matrix is not positive definite"),
        (MOTIONS + "EDGE_SE2_XY 10 99 inf 2 1 0 1\n", "line 3: 'inf' is not finite"),
        (MOTIONS + "EDGE_SE2_XY 10 10 1 2 1 0 1\n", "joins node 10 to itself"),
        (
            MOTIONS + SEEN + "VERTEX_SE2 99 0 0 0\n",
            "line 5: 99 is a landmark .line 3.*VERTEX_SE2 says it is a pose",
        ),
        ("VERTEX_XY 11 0 0\n" + MOTIONS, "line 2: 11 is a landmark .line 1.*EDGE_SE2 measures its heading"),
        ("VERTEX_XY 99 0 0\n" + MOTIONS + "EDGE_SE2_XY 99 10 1 2 1 0 1\n", "line 4: .*pose first.*Turn them round"),
        ("VERTEX_XY 99 0 0\nVERTEX_XY 99 1 1\n" + MOTIONS + SEEN, "line 2: vertex 99 was given before"),
        (SEEN, "no EDGE_SE2 line; the tags found are 'EDGE_SE2_XY'"),
    ],
)
def test_files_that_are_refused_say_where(file, content, words):
    with pytest.raises(FileFormatError, match=words):
        read(file(content))


@pytest.mark.parametrize(
    ("fixed", "words"),
    [("FIX 7", "7 .*no such vertex"), ("FIX 1", "1 .*no VERTEX_SE2 line"), ("FIX 7 1", "7 .*and 1 ")],
)
def test_a_fix_that_cannot_be_honored_is_told(tmp_path, fixed, words):
    path = tmp_path / "fixed.g2o"
    path.write_text(f"VERTEX_SE2 0 0 0 0\n{fixed}\nEDGE_SE2 0 1 1 0 0 1 0 0 1 0 1\n")
    with pytest.warns(AngsyncWarning, match=rf"FIX names {words}") as said:
        read(path)
    assert len(said) == 1
