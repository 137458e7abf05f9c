"""``optimize(robust=...)``: answers, words, doubts, refusals, limits."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from false_loops import PAIRS, walk, with_false

import angsync as ang
from angsync.applications import pose_graph
from angsync.applications.pose_graph import Landmarks, PoseGraph, optimize, simulate
from angsync.errors import ConvergenceError, CorruptionWarning, InputError, OutputError
from angsync.solvers.stopping import Status, Stopping


@pytest.fixture(scope="module")
def spoiled():
    truth, graph = walk(seed=8, scale=0.5)
    return graph, *with_false(graph, truth, PAIRS, cluster=3)


def test_the_answer_is_that_of_the_good_edges_with_its_certificate(spoiled):
    graph, given, false = spoiled
    result, clean = optimize(given, robust=True, trusted="odometry"), optimize(graph)
    report = result.robust
    assert report.credible is True
    assert np.array_equal(report.distrusted, false)
    assert result.poses == pytest.approx(clean.poses, abs=1e-6)
    assert (result.cost, result.graph) == (pytest.approx(clean.cost, rel=1e-9), given)
    assert result.sync.certificate.verdict is ang.Verdict.CERTIFIED
    assert (report.corruption[false] > 0.99).all()
    assert (report.corruption[report.trusted] == 0).all()
    assert not report.undecided[false].any()
    # random loops would have such odds with probability e^-100
    assert report.evidence > 100
    assert report.scale == pytest.approx(0.5, rel=0.29)


def test_words_say_whose_certificate_it_is(spoiled):
    result = optimize(spoiled[1], robust=ang.Robust(), trusted="odometry")
    text = str(result)
    assert f"robust       30 of 62 loops distrusted; noise {result.robust.scale:.2g} x stated" in text
    assert "certificate  Of the edges believed: Proved" in text
    assert repr(result).endswith("CERTIFIED for the edges believed)")


def test_without_robust_nothing_is_said(spoiled):
    assert optimize(spoiled[0]).robust is None
    assert optimize(spoiled[0], robust=False).robust is None


def test_random_loops_are_not_credible_and_the_proof_is_withheld():
    truth, graph = walk(seed=9, laps=2)
    steps = np.arange(graph.n - 1)
    chain = PoseGraph(graph.i[steps], graph.j[steps], graph.motion[steps], graph.information[steps])
    given, _ = with_false(chain, truth, [pair for pair in PAIRS if pair[1] < 90])
    with pytest.warns(CorruptionWarning, match="the loops agree no better"):
        result = optimize(given, robust=True, trusted="odometry")
    assert result.robust.credible is False
    assert "withheld" in str(result)
    assert "CERTIFIED" not in repr(result) + str(result)


def test_noise_far_above_the_stated_one_is_not_credible():
    _, graph = walk(seed=10, scale=3.0)
    with pytest.warns(CorruptionWarning, match=r"contradict each other .* x more than their information says"):
        result = optimize(graph, robust=True, trusted="odometry")
    assert result.robust.credible is False


def test_unit_information_states_no_noise():
    _, graph = walk(seed=10, scale=1.0)
    unit = PoseGraph(graph.i, graph.j, graph.motion)
    assert optimize(unit, robust=True, trusted="odometry").robust.credible is True


def test_without_loops_nothing_is_judged():
    _, graph = walk(seed=1, laps=1)
    report = optimize(graph, robust=True).robust
    assert (report.credible, report.distrusted.any(), math.isnan(report.scale)) == (None, False, True)
    assert str(report) == "0 of 47 edges distrusted. Not judged: there are no loops, so nothing can be checked."


def test_the_rejected_are_written(spoiled, tmp_path):
    _, given, false = spoiled
    report = optimize(given, robust=True, trusted="odometry").robust
    report.save_rejected(tmp_path / "false.csv", given)
    rows = np.loadtxt(tmp_path / "false.csv", delimiter=",", skiprows=1)
    assert rows[:, 0].tolist() == np.flatnonzero(false).tolist()
    assert rows[:, 1].tolist() == given.i[false].tolist()
    assert np.array_equal(rows[:, 3:6], given.motion[false])
    with pytest.raises(OutputError, match="csv"):
        report.save_rejected(tmp_path / "false.txt", given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trusted": "odometry"}, "pass robust=True"),
        ({"robust": "yes"}, "robust must be None, True or ang.Robust"),
        ({"robust": ang.Robust(loss="l1")}, "judged by evidence"),
        ({"robust": ang.Robust(scale=0.0)}, "must be positive"),
        ({"robust": ang.Robust(trusted=[0]), "trusted": [0]}, "given twice"),
        ({"robust": True, "trusted": [True]}, "has 1 booleans for"),
    ],
)
def test_nonsense_is_refused(spoiled, options, words):
    with pytest.raises(InputError, match=words):
        optimize(spoiled[0], **options)


def test_no_time_keeps_the_backbone_and_judges_nothing(spoiled):
    result = optimize(
        spoiled[1], robust=True, trusted="odometry", stopping=Stopping(max_seconds=1e-9), on_failure="ignore"
    )
    assert result.robust.credible is None
    assert (result.sync.status, result.sync.certificate.verdict) == (Status.TIME_LIMIT, ang.Verdict.UNDECIDED)
    assert "not finished" in str(result.robust)
    assert "next best" not in str(result.robust)
    with pytest.raises(ConvergenceError, match="TIME_LIMIT"):
        optimize(spoiled[1], robust=True, stopping=Stopping(max_seconds=0), on_failure="raise")
    assert np.isfinite(result.poses).all()


def test_an_interruption_keeps_the_best_so_far(spoiled, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("angsync.applications.pose_graph.search.Search.finished", stop)
    result = optimize(spoiled[1], robust=True, trusted="odometry")
    assert result.sync.status is Status.INTERRUPTED
    assert result.robust.credible is None
    assert result.robust.distrusted.any()


@pytest.mark.parametrize("where", ["checked", "Robustly.__init__", "Search.run", "Robustly._judge", "Robustly.report"])
def test_an_interruption_at_any_time_is_answered(spoiled, monkeypatch, where):
    """In its first 30 ms, before anything was found, it left the call."""
    import angsync.applications.pose_graph.robust as module

    owner, name = (module, where) if "." not in where else (getattr(module, where.split(".")[0]), where.split(".")[1])
    whole, calls = getattr(owner, name), []

    def once(*arguments, **keywords):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return whole(*arguments, **keywords)

    monkeypatch.setattr(owner, name, once)
    if where == "checked":  # of the call, not of the search: there is nothing to answer with
        with pytest.raises(KeyboardInterrupt):
            optimize(spoiled[1], robust=True, trusted="odometry")
        return
    result = optimize(spoiled[1], robust=True, trusted="odometry")
    assert (result.sync.status, result.robust.credible) == (Status.INTERRUPTED, None)
    assert not result.robust.distrusted[result.robust.trusted].any()
    assert np.isfinite(result.poses).all()
    assert "next best" not in str(result.robust)


def test_the_order_of_the_edges_decides_nothing():
    """Exchangeable edges, nothing trusted: the answer was that of the order, and credible."""
    truth, graph = walk(seed=3, laps=2)
    given, _ = with_false(graph, truth, [(3, 60), (30, 80)])
    order = np.random.default_rng(0).permutation(len(given))
    shuffled = PoseGraph(*(getattr(given, name)[order] for name in ("i", "j", "motion", "information")))
    for trusted in (None, np.arange(graph.n - 1)):
        there = None if trusted is None else np.flatnonzero(np.isin(order, trusted))
        one = optimize(given, robust=True, trusted=trusted, certify=False)
        other = optimize(shuffled, robust=True, trusted=there, certify=False)
        assert np.array_equal(one.poses, other.poses)
        assert np.array_equal(one.robust.distrusted[order], other.robust.distrusted)
        assert np.array_equal(one.robust.corruption[order], other.robust.corruption)
        assert (one.robust.credible, one.robust.reasons) == (other.robust.credible, other.robust.reasons)


@pytest.mark.shared_data
def test_half_of_the_loops_of_a_published_graph_are_false(shared_data):
    graph = pose_graph.read(shared_data / "pose-graphs" / "MIT.g2o")
    clean = optimize(graph, certify=False)
    pairs = [(k, 800 - 3 * k) for k in range(20, 180, 8)]
    given, _ = with_false(graph, clean.poses, pairs)
    result = optimize(given, robust=True, trusted="odometry")
    turn = np.abs(np.angle(np.exp(1j * (result.theta - clean.theta))))
    assert np.degrees(turn.mean()) < 1 or result.robust.credible is not True


@pytest.mark.parametrize("seed", [3, 11, 12])
def test_without_trusted_edges_nothing_is_called_credible(seed):
    """Exact motions on a unit grid and one true loop: good edges were cut, credible, or an assertion failed."""
    n = 8
    q = np.random.default_rng(seed).integers(0, 4, n)
    heading, position = np.pi / 2 * q, np.cumsum(np.r_[0, 1j ** q[:-1]])
    i, j = np.r_[np.arange(n - 1), 4], np.r_[np.arange(1, n), 7]
    step = (position[j] - position[i]) * (-1j) ** q[i]
    graph = PoseGraph(i, j, np.stack([step.real, step.imag, heading[j] - heading[i]], 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert optimize(graph, robust=True).robust.credible is not True


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["CSAIL", "MIT", "intel", "manhattan"])
def test_published_graphs_as_they_are_stay_as_they_are(shared_data, name):
    """Eleven good loops of manhattan were given up for their turns, with one factor for all noise: 0.19 degrees."""
    graph = pose_graph.read(shared_data / "pose-graphs" / f"{name}.g2o")
    plain, result = optimize(graph, certify=False), optimize(graph, robust=True, trusted="odometry", certify=False)
    turn = np.exp(1j * (result.theta - plain.theta))
    assert np.degrees(np.abs(np.angle(turn * np.conj(turn.sum()))).mean()) < 0.1
    assert result.robust.credible is True


def _with_wrong_sightings(size: float) -> PoseGraph:
    graph = simulate(100, loops=40, landmarks=6, rng=7).graph
    graph.landmarks.offset[::7] += size
    return graph


def test_believed_sightings_that_contradict_the_edges_are_not_credible():
    with pytest.warns(CorruptionWarning, match=r"NOT CREDIBLE: .*sighting"):
        result = optimize(_with_wrong_sightings(3.0), robust=True, trusted="odometry")
    assert result.credible is False
    assert not result.is_start_proved
    assert result.proof.headline == "Not credible"
    assert any("per degree of freedom" in reason and "sighting" in reason for reason in result.robust.reasons)


def test_good_sightings_leave_it_open():
    assert optimize(_with_wrong_sightings(0.0), robust=True, trusted="odometry").credible is None


def test_sightings_of_a_little_more_noise_than_stated_are_no_contradiction():
    graph = simulate(100, loops=40, landmarks=6, rng=8).graph
    seen = Landmarks(
        graph.landmarks.pose, graph.landmarks.landmark, graph.landmarks.offset, graph.landmarks.information * 1.2**2
    )
    graph = PoseGraph(graph.i, graph.j, graph.motion, graph.information * 1.2**2, landmarks=seen)
    assert optimize(graph, robust=True, trusted="odometry").credible is None


def test_a_given_scale_is_the_noise_that_sightings_are_held_against():
    graph = simulate(100, loops=40, landmarks=6, rng=8).graph
    seen = Landmarks(
        graph.landmarks.pose, graph.landmarks.landmark, graph.landmarks.offset, graph.landmarks.information * 9
    )
    graph = PoseGraph(graph.i, graph.j, graph.motion, graph.information * 9, landmarks=seen)
    assert optimize(graph, robust=ang.Robust(scale=3.0), trusted="odometry").credible is None


def test_what_landmarks_check_is_not_called_unchecked():
    graph = simulate(60, loops=0, landmarks=6, rng=7).graph
    result = optimize(graph, robust=True)
    assert result.credible is None
    assert not any("nothing can be checked" in reason for reason in result.robust.reasons)
    graph.motion[30] += [3.0, 0.0, 1.0]
    with pytest.warns(CorruptionWarning, match=r"30 -> 31"):
        assert optimize(graph, robust=True).credible is False
