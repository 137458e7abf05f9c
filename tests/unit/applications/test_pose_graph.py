"""Whole pose graphs: against general least squares and known truth; limits, files, pictures."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from pose_graphs import close, motions, moved_to_the_origin, residuals, simulated

import angsync as ang
from angsync.applications import pose_graph
from angsync.applications.pose_graph import PoseGraph, optimize, read
from angsync.errors import ConvergenceWarning, FileFormatError, OutputError
from angsync.solvers.stopping import Status, Stopping

EDGE = "EDGE_SE2 {} {} 1 0 {} 2 0 0 2 0 4\n"


# --- the problem and its optimum -----------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "extra", "noise", "seed"), [(2, 2, 0.3, 3), (10, 6, 0.1, 4), (16, 20, 0.3, 5)])
def test_no_least_squares_from_the_truth_is_better(n, extra, noise, seed):
    truth, graph = simulated(n, extra, noise, seed)
    result = optimize(graph)
    found = scipy.optimize.least_squares(
        lambda free: residuals(graph, np.concatenate([[[0, 0, 0]], free.reshape(-1, 3)])),
        moved_to_the_origin(truth)[1:].ravel(), xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.cost == pytest.approx(2 * found.cost, rel=1e-9)
    assert result.cost == pytest.approx(-result.sync.objective, rel=1e-9)
    close(result.poses, np.concatenate([[[0, 0, 0]], found.x.reshape(-1, 3)]), 1e-5)


def test_exact_motions_give_the_truth_whatever_their_direction():
    truth, _ = simulated(12, 0, 0.0, seed=6)
    i, j = (
        np.array([0, 2, 2, 4, 4, 5, 7, 7, 9, 9, 11, 11, 0, 0, 3]),
        np.array([1, 1, 3, 3, 5, 6, 6, 8, 8, 10, 10, 9, 11, 1, 0]),
    )
    graph = PoseGraph(i, j, motions(truth, i, j), poses=truth)
    assert graph.components.max() == 0
    result = optimize(graph)
    # the unknowns are of size 10 and the condition of K22 is below 1e3
    close(result.poses, truth, 1e-10)
    assert result.cost < 1e-20
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED


def test_parallel_edges_count_twice():
    i, j = [0, 0], [1, 1]
    information = np.array([np.diag([1.0, 1.0, 1.0]), np.diag([3.0, 3.0, 1.0])])
    graph = PoseGraph(i, j, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], information)
    result = optimize(graph)
    # the mean, weighted 1 : 3, and its cost 1 (3/4)^2 + 3 (1/4)^2
    close(result.poses, np.array([[0, 0, 0], [1.75, 0, 0]]), 1e-12)
    assert result.cost == pytest.approx(0.75, rel=1e-12)


def test_the_rotations_alone_are_the_start():
    truth, graph = simulated(12, 10, 0.3, seed=17, ids=range(5, 17))
    rotations = graph.rotations()
    assert rotations.labels == graph.ids
    assert rotations.weight == pytest.approx(graph.kappa)
    heading = np.exp(1j * truth[:, 2])
    # a measured angle is theta_i - theta_j, within four standard deviations of the noise of 22 of them
    error = np.angle(np.exp(1j * rotations.angle) * heading[graph.j] * heading[graph.i].conj())
    assert np.abs(error).max() < 4 * 0.3
    seen = []
    optimize(graph, callback=lambda progress: seen.append(progress.z.copy()))
    assert ang.distance(seen[0], ang.synchronize(rotations).z) < 1e-6


# --- limits --------------------------------------------------------------------------------------------------


def test_no_certificate_unless_asked_for():
    result = optimize(simulated(5, 3, 0.1, seed=11)[1], certify=False)
    assert result.sync.certificate is None
    assert "not certified" in repr(result)


def test_no_time_still_gives_poses():
    _, graph = simulated(12, 9, 0.4, seed=12)
    result = optimize(graph, stopping=Stopping(max_seconds=0.0), on_failure="ignore")
    assert result.sync.status is Status.TIME_LIMIT
    assert np.isfinite(result.poses).all()
    assert result.cost >= optimize(graph).cost


def test_an_interruption_of_the_start_is_one_of_the_whole(monkeypatch):
    _, graph = simulated(6, 5, 0.2, seed=13)

    def interrupted(data, **options):
        result = ang.synchronize(data, **options)
        return dataclasses.replace(result, status=Status.INTERRUPTED) if isinstance(data, ang.Measurements) else result

    monkeypatch.setattr(pose_graph, "synchronize", interrupted)
    result = optimize(graph)
    assert result.sync.status is Status.INTERRUPTED
    assert result.sync.message == Status.INTERRUPTED.value
    assert np.isfinite(result.poses).all()


def test_the_callback_sees_the_cost_fall():
    seen = []
    result = optimize(simulated(12, 12, 0.5, seed=14)[1], callback=lambda progress: seen.append(-progress.objective))
    assert len(seen) > 1
    assert seen[-1] == pytest.approx(result.cost, rel=1e-9)


def test_the_same_input_gives_the_same_bits():
    _, graph = simulated(15, 12, 0.3, seed=15)
    assert np.array_equal(optimize(graph).poses, optimize(graph).poses)


# --- files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "graph.g2o"
        path.write_text(content)
        return path

    return write


SQUARE = (
    "# a square\nVERTEX_SE2 10 1 2 0.5\nVERTEX_SE2 11 2 2 1.5\nVERTEX_SE2 12 2 3 3\nVERTEX_SE2 14 1 3 -1.5\n"
    "FIX 10\nEDGE_SE2 10 11 1.000 0 1.5707 2 1 0 3 0 4\nEDGE_SE2 11 12 1 0 1.5707 2 0 0 2 0 4\n"
    "EDGE_SE2 12 14 1 0.01 1.5707 2 0 0 2 0 4\nEDGE_SE2 14 10 1.02 0 1.5707 2 0 0 2 0 4\n"
)


def test_reading_keeps_everything(file):
    graph = read(file(SQUARE))
    assert (graph.n, len(graph)) == (4, 4)
    assert graph.ids == (10, 11, 12, 14)
    assert (graph.i.tolist(), graph.j.tolist()) == ([0, 1, 2, 3], [1, 2, 3, 0])
    assert graph.motion[3].tolist() == [1.02, 0, 1.5707]
    assert graph.information[0].tolist() == [[2, 1, 0], [1, 3, 0], [0, 0, 4]]
    assert graph.poses[3].tolist() == [1, 3, -1.5]
    assert graph.fixed == (0,)
    assert graph.kappa.tolist() == [4, 4, 4, 4]
    assert graph.tau[0] == pytest.approx(2 / np.trace(np.linalg.inv([[2, 1], [1, 3]])))


def test_writing_replaces_the_vertices_and_nothing_else(file, tmp_path):
    result = optimize(read(file(SQUARE)))
    result.save(tmp_path / "out.g2o")
    lines = (tmp_path / "out.g2o").read_text().splitlines()
    assert [line for line in lines if not line.startswith("VERTEX")] == [
        line for line in SQUARE.splitlines() if not line.startswith("VERTEX")
    ]
    again = read(tmp_path / "out.g2o")
    assert np.array_equal(again.poses, result.poses)
    assert again.initial_cost == pytest.approx(result.cost, rel=1e-9)  # angles and positions are rounded
    assert optimize(again).cost == pytest.approx(result.cost, rel=1e-9)


def test_missing_vertices(file, tmp_path):
    content = "".join(line for line in SQUARE.splitlines(keepends=True) if "VERTEX_SE2 11" not in line)
    some = optimize(read(file(content)))
    assert some.initial_cost is None
    assert some.poses[0] == pytest.approx([1, 2, 0.5], abs=1e-15)
    content = "".join(line for line in SQUARE.splitlines(keepends=True) if "VERTEX" not in line)
    none = optimize(read(file(content)))
    assert none.poses[0].tolist() == [0, 0, 0]
    assert none.cost == pytest.approx(some.cost, rel=1e-9)
    none.save(tmp_path / "out.g2o")
    assert read(tmp_path / "out.g2o").poses[0].tolist() == [0, 0, 0]


def test_a_graph_made_of_arrays_can_be_written(tmp_path):
    _, graph = simulated(6, 4, 0.1, seed=16, ids=[3, 5, 8, 9, 10, 40], fixed=[2])
    optimize(graph).save(tmp_path / "out.g2o")
    again = read(tmp_path / "out.g2o")
    assert (again.ids, again.fixed) == (graph.ids, graph.fixed)
    for name in ("i", "j", "motion", "information"):
        assert np.array_equal(getattr(again, name), getattr(graph, name)), name


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1\n", "line 1: EDGE_SE3:QUAT .*3-D.*EDGE_SE2"),
        (EDGE.format(0, 1, 0) + "EDGE_SE2 0 1 1 0 0 1 0 0 1 0 0\n", "line 2: the information matrix is not positive"),
        (EDGE.format(0, 1, 0) + "EDGE_SE2 0 1 1 0 0 1 2 0 1 0 1\n", "line 2: the information matrix is not positive"),
        ("EDGE_SE2 0 1 1 0 0 1 1 0 1 0 1\n", "line 1: the information matrix is not positive"),
        ("EDGE_SE2 0 1 1 0 0 1e-9 0 1 1e9 0 -1\n", "line 1: the information matrix is not positive"),
        ("VERTEX_SE2 0 0 0 0\nVERTEX_SE2 0 0 0 0\n" + EDGE.format(0, 1, 0), "line 2: vertex 0 was given before"),
        (EDGE.format(2, 2, 0), "line 1: the edge joins node 2 to itself"),
        (EDGE.format(0, 1, "nan"), "line 1: 'nan' is not finite"),
        ("FIX x\n" + EDGE.format(0, 1, 0), "line 1: 'x' is not a node id"),
        ("VERTEX_SE2 0 0 0 0\n", "no EDGE_SE2 line"),
    ],
)
def test_files_that_are_refused_say_where(file, content, words):
    path = file(content)
    with pytest.raises(FileFormatError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_information_of_any_size_is_good(file):
    graph = read(file("EDGE_SE2 0 1 1 0 0 1e-9 0 0 1e9 0 1e-12\n"))
    assert graph.tau[0] == pytest.approx(2e-9, rel=1e-12)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        read(tmp_path / "none.g2o")


def test_a_wrong_output_leaves_nothing(file, tmp_path):
    result = optimize(read(file(SQUARE)))
    for save in (lambda: result.save(tmp_path / "out.txt"), lambda: result.picture(tmp_path / "out.png")):
        with pytest.raises(OutputError, match="Change the suffix"):
            save()
    assert [path.name for path in tmp_path.iterdir()] == ["graph.g2o"]


# --- the picture ---------------------------------------------------------------------------------------------


def drawn(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_picture_shows_before_and_after(file, tmp_path):
    result = optimize(read(file(SQUARE)))
    result.picture(tmp_path / "square.svg", title="a < b")
    words = drawn(tmp_path / "square.svg")
    assert any(word and word.startswith("a < b: Certified optimal") for word in words)
    assert [word.split(":")[0] for word in words if word and "cost" in word] == ["before", "after"]
    assert {"path", "other edges", "first pose"} <= set(words)


def test_the_picture_has_units_the_verdict_and_landmarks(tmp_path):
    made = pose_graph.simulate(30, loops=10, landmarks=5, rng=4)
    optimize(made.graph).picture(tmp_path / "map.svg")
    words = drawn(tmp_path / "map.svg")
    assert words.count("x (m)") == words.count("y (m)") == 2
    assert any("Certified optimal" in word and "per degree of freedom" in word for word in words)
    assert any(word.startswith("Moved by") for word in words)
    assert "landmarks" in words
    optimize(made.graph, cost="information").picture(tmp_path / "map.svg")
    headline = "Isotropic cost: certified optimal; information cost: nothing proved"
    assert any(headline in word for word in drawn(tmp_path / "map.svg"))
    optimize(made.graph, certify=False).picture(tmp_path / "map.svg")
    assert any("Not certified" in word for word in drawn(tmp_path / "map.svg"))


def test_the_page_has_costs_chi_square_and_a_map(tmp_path):
    result = optimize(pose_graph.simulate(30, loops=10, landmarks=5, rng=4).graph)
    page = result.to_html(tmp_path / "page.html").read_text()
    for words in ("Certified optimal", "per degree of freedom", "x (m)", "landmark", result.goodness.sentence):
        assert words in page
    assert result.plot().axes[0].get_xlabel() == "x (m)"


def test_without_vertices_the_picture_shows_the_odometry(file, tmp_path):
    content = "".join(line for line in SQUARE.splitlines(keepends=True) if "VERTEX" not in line)
    graph = read(file(content))
    result = optimize(graph)
    result.picture(tmp_path / "square.svg")
    words = drawn(tmp_path / "square.svg")
    assert [word.split(":")[0] for word in words if word and "cost" in word] == ["before (odometry alone)", "after"]
    assert graph.cost(graph.odometry) > result.cost
    backwards = PoseGraph([1, 1], [0, 2], [[1, 0, 0], [1, 0, 0]])  # no step from 0 to 1
    assert backwards.odometry is None
    optimize(backwards).picture(tmp_path / "alone.svg")
    words = drawn(tmp_path / "alone.svg")
    assert [word.split(":")[0] for word in words if word and "cost" in word] == ["after"]


def test_the_picture_of_two_poses_in_one_place(tmp_path):
    optimize(PoseGraph([0], [1], [[0, 0, 1]])).picture(tmp_path / "point.svg")
    drawn(tmp_path / "point.svg")
    assert "nan" not in (tmp_path / "point.svg").read_text()


# --- the import ----------------------------------------------------------------------------------------------


def test_it_is_loaded_when_it_is_first_used():
    code = (
        "import sys, angsync as ang\n"
        "assert not any(name.startswith('angsync.applications') for name in sys.modules)\n"
        "import angsync.applications\n"
        "assert 'angsync.applications.pose_graph' not in sys.modules\n"
        "ang.applications.pose_graph.PoseGraph\n"
        "assert 'pose_graph' in dir(ang.applications)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="has no attribute 'poses'"):
        ang.applications.poses  # noqa: B018


@pytest.mark.parametrize("limit", [{"max_seconds": 1e-9}, {"max_iterations": 0}])
def test_stopped_early_the_answer_is_not_worse_than_the_poses_given(limit):
    graph = pose_graph.simulate(100, loops=60, landmarks=8, rng=1).graph
    best = pose_graph.optimize(graph)
    given = pose_graph.PoseGraph(
        graph.i, graph.j, graph.motion, graph.information, poses=best.poses,
        landmarks=pose_graph.Landmarks(
            graph.landmarks.pose, graph.landmarks.landmark, graph.landmarks.offset, graph.landmarks.information,
            positions=best.landmarks,
        ),
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        result = pose_graph.optimize(given, stopping=ang.Stopping(**limit))
    assert not result.sync.converged
    assert result.cost <= given.initial_cost * (1 + 1e-12)
    assert result.graph.cost(result.poses, result.landmarks) == pytest.approx(result.cost, rel=1e-9)
