"""Robust on sparse graphs: what is believed, what is said about it, and what happens to bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import mean_error

import angsync as ang
from angsync.errors import ConvergenceWarning, CorruptionWarning, InputError
from angsync.pipeline.robust import by_evidence, solve
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal import search as inner


def trajectory(n=120, loops=60, false=0, sigma=0.01, seed=0):
    """A path with loops of small noise, then false loops of random angles; steps, and which are false."""
    rng = np.random.default_rng(seed)
    i = np.concatenate([np.arange(n - 1), rng.integers(0, n - 30, loops), rng.integers(0, n - 30, false)])
    j = np.concatenate([np.arange(1, n), i[n - 1 :] + rng.integers(5, 30, loops + false)])
    theta = np.cumsum(rng.normal(0, 0.3, n))
    angle = theta[i] - theta[j] + sigma * rng.standard_normal(i.size)
    wrong = np.arange(i.size) >= n - 1 + loops
    angle[wrong] = rng.uniform(-np.pi, np.pi, false)
    return ang.Measurements(i, j, angle, n=n), np.exp(1j * theta), np.arange(i.size) < n - 1, wrong


@pytest.mark.parametrize("trust", [True, False])
def test_false_loops_are_found(trust):
    data, truth, steps, wrong = trajectory(false=25, seed=1)
    result = ang.synchronize(data, solver=ang.Robust(trusted=steps if trust else None))
    assert np.array_equal(result.robust.distrusted, wrong)
    # the noise of a path of so many steps, with loops, is about sigma sqrt(30) = 3 degrees at worst
    assert mean_error(result.z, truth) < 3
    assert result.robust.credible is True
    assert result.robust.loss == "evidence"
    assert result.robust.scale == pytest.approx(0.01, rel=0.35)  # 59 cycles: 3 standard deviations are 28 %
    assert result.robust.evidence > 100
    assert np.all(result.robust.corruption[wrong] > 0.9)
    assert "CERTIFIED for these weights" in repr(result)
    assert "For these weights: Proved" in str(result)


def test_a_clean_graph_stays_as_it_is():
    data, *_ = trajectory(seed=2)
    result = ang.synchronize(data, solver=ang.Robust())
    assert not result.robust.distrusted.any()
    assert result.robust.credible is True
    assert mean_error(result.z, ang.synchronize(data).z) < 1e-6


@pytest.mark.parametrize("seed", [7, 129])
def test_neither_the_order_nor_the_direction_of_the_edges_changes_anything(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(15, 30))
    i = np.concatenate([np.arange(n - 1), rng.integers(0, n, n)])
    j = np.concatenate([np.arange(1, n), (i[n - 1 :] + rng.integers(1, n, n)) % n])
    theta = np.cumsum(rng.normal(0, 0.3, n))
    wrong = rng.random(i.size) < 0.25
    angle = np.where(wrong, rng.uniform(-3, 3, i.size), theta[i] - theta[j] + 0.02 * rng.standard_normal(i.size))
    weight = rng.uniform(0.5, 2, i.size)
    answers = []
    for _ in range(3):
        order, turned = rng.permutation(i.size), rng.random(i.size) < 0.5
        a, b = np.where(turned, j, i)[order], np.where(turned, i, j)[order]
        data = ang.Measurements(a, b, np.where(turned, -angle, angle)[order], weight[order], n=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorruptionWarning)
            result = ang.synchronize(data, solver=ang.Robust())
        distrusted = np.empty(i.size, dtype=bool)
        distrusted[order] = result.robust.distrusted
        answers.append((result, distrusted))
    first = answers[0]
    for other in answers[1:]:
        assert np.array_equal(other[1], first[1])
        assert other[0].robust.credible is first[0].robust.credible
        assert other[0].robust.evidence == first[0].robust.evidence
        assert mean_error(other[0].z, first[0].z) < 1e-6


def test_random_angles_are_not_credible_and_nothing_is_called_certified(tmp_path):
    data, *_ = trajectory(loops=0, false=30, seed=3)
    with pytest.warns(CorruptionWarning, match="no better than random angles"):
        result = ang.synchronize(data, solver=ang.Robust())
    assert result.robust.credible is False
    page = tmp_path / "page.html"
    result.to_html(page)
    for text in (repr(result), str(result), page.read_text()):
        assert "certified" not in text.lower()
        assert "not credible" in text.lower()


def test_a_cut_that_two_edges_contradict_is_not_credible():
    rng = np.random.default_rng(4)
    n = 12
    pairs = [
        (a, b) for k in (0, n) for a in range(k, k + n) for b in range(a + 1, k + n) if (a + b) % 3 == 0 or b == a + 1
    ]
    i, j = np.array([*pairs, (0, n), (n - 1, 2 * n - 1)]).T
    theta = rng.uniform(0, 6, 2 * n)
    angle = theta[i] - theta[j] + 0.01 * rng.standard_normal(i.size)
    angle[-1] += 1.0
    with pytest.warns(CorruptionWarning, match="degrees on average"):
        result = ang.synchronize(ang.Measurements(i, j, angle, n=2 * n), solver=ang.Robust())
    assert result.robust.credible is False
    trusting = ang.synchronize(ang.Measurements(i, j, angle, n=2 * n), solver=ang.Robust(trusted=[i.size - 2]))
    assert trusting.robust.credible is True
    assert np.flatnonzero(trusting.robust.distrusted).tolist() == [i.size - 1]


def test_few_cycles_are_not_judged():
    data = ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, 1.0])
    result = ang.synchronize(data, solver=ang.Robust())
    assert result.robust.credible is None
    assert result.robust.note == "Not judged: 1 independent cycle is too few to tell whether the measurements agree."


def test_a_trusted_edge_that_contradicts_all_others_is_named():
    data, _, steps, wrong = trajectory(false=1, seed=5)
    with pytest.warns(CorruptionWarning, match="of the trusted measurements contradict"):
        result = ang.synchronize(data, solver=ang.Robust(trusted=steps | wrong, scale=0.01))
    assert not result.robust.distrusted[steps | wrong].any()


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_one_false_trusted_edge_that_makes_good_ones_be_distrusted_is_not_credible(seed):
    data, _, _, _ = trajectory(n=40, loops=40, seed=seed)
    degree = np.bincount(np.concatenate([data.i, data.j]))
    false = int(np.flatnonzero((degree[data.i] > 2) & (degree[data.j] > 2))[5])
    angle = data.angle.copy()
    angle[false] += 1.5
    with pytest.warns(CorruptionWarning, match="Without one of the trusted measurements"):
        result = ang.synchronize(ang.Measurements(data.i, data.j, angle, n=40), solver=ang.Robust(trusted=[false]))
    assert result.robust.credible is False
    right = ang.synchronize(data, solver=ang.Robust(trusted=[false]))
    assert right.robust.credible is True


def test_a_scale_that_is_too_small_is_a_contradiction():
    data, _, steps, _ = trajectory(sigma=0.03, seed=6)
    with pytest.warns(CorruptionWarning, match="contradict"):
        result = ang.synchronize(data, solver=ang.Robust(trusted=steps, scale=0.012))
    assert result.robust.scale == pytest.approx(0.012)


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize("side", [20, pytest.param(45, marks=pytest.mark.slow)])
def test_a_mesh_with_many_wrong_ones_is_not_credible_and_wrong(side, turning):
    """A grid numbered row by row is no trajectory (one of rows in turn is): 55 degrees off it was credible."""
    place = np.arange(side**2).reshape(side, side)
    if turning:
        place[1::2] = place[1::2, ::-1]
    i = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
    j = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
    edges = Edges.of(ang.Measurements(i, j, np.zeros(i.size), n=side**2))
    assert bool(by_evidence.steps(edges).any()) is turning
    rng = np.random.default_rng(1)
    theta = rng.uniform(0, 6.28, side**2)
    angle = theta[i] - theta[j] + 0.05 * rng.standard_normal(i.size)
    wrong = rng.random(i.size) < 0.2
    angle[wrong] = rng.uniform(0, 6.28, int(wrong.sum()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptionWarning)
        result = ang.synchronize(ang.Measurements(i, j, angle, n=side**2), solver=ang.Robust(), certify=False)
    assert result.robust.credible is not True or mean_error(result.z, np.exp(1j * theta)) < 10
    assert result.robust.credible is True or result.robust.note


def test_a_loss_does_not_judge_sparse_graphs():
    data, *_ = trajectory(seed=2)
    result = ang.synchronize(data, solver=ang.Robust("adaptive"))
    assert result.robust.credible is None
    assert "evidence" in result.robust.note


def test_which_way_is_taken():
    sparse, dense = Edges.of(trajectory()[0]), Edges.of(ang.simulate.outliers(n=60, p=0.4, rng=0).measurements)
    # five edges a node
    few, many = (Edges.of(ang.simulate.erdos_renyi(n, 10 / n, 0.1, rng=0).measurements) for n in (100, 200))
    for edges, settings, expected in (
        (sparse, ang.Robust(), True),
        (sparse, ang.Robust("adaptive"), False),
        (dense, ang.Robust(), False),
        (few, ang.Robust(), True),
        (many, ang.Robust(), False),
        (dense, ang.Robust("evidence"), True),
        (dense, ang.Robust(trusted=[0]), True),
    ):
        assert by_evidence.takes(edges, settings) is expected


@pytest.mark.parametrize(
    ("trusted", "match"),
    [
        ([True, False], "2 booleans for 179"),
        ([500], "names measurement 500"),
        ("odometry", "booleans"),
        ([0.5], "booleans"),
    ],
)
def test_trusted_that_means_nothing(trusted, match):
    with pytest.raises(InputError, match=match):
        ang.synchronize(trajectory(loops=60)[0], solver=ang.Robust(trusted=trusted))


def test_trusted_needs_evidence():
    with pytest.raises(InputError, match="evidence"):
        ang.Robust("huber", trusted=[1])


def test_no_time_is_not_judged():
    data, *_ = trajectory(false=20, seed=7)
    result = ang.synchronize(
        data, solver=ang.Robust(), stopping=ang.Stopping(max_seconds=0.0), certify=False, on_failure="ignore"
    )
    assert result.robust.credible is None
    assert "no time" in result.robust.note


@pytest.mark.parametrize(
    ("module", "name", "believed"),
    [
        (by_evidence, "search", False),
        (inner, "graduated", False),
        (by_evidence, "doubts", True),
        (solve, "reweighted", True),
    ],
)
def test_an_interruption_keeps_the_best_so_far(monkeypatch, module, name, believed):
    data, _, steps, wrong = trajectory(false=20, seed=1)
    calls = []
    real = getattr(module, name)

    def interrupted(*args, **options):
        calls.append(name)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(module, name, interrupted)
    result = ang.synchronize(data, solver=ang.Robust(trusted=steps))
    assert result.status is ang.Status.INTERRUPTED
    assert result.robust.credible is (True if name == "reweighted" else None)
    if believed:
        assert np.array_equal(result.robust.distrusted, wrong)


def test_a_report_is_saved_and_read_back(tmp_path):
    data, *_ = trajectory(loops=0, false=30, seed=3)
    with pytest.warns(CorruptionWarning):
        result = ang.synchronize(data, solver=ang.Robust())
    path = tmp_path / "result.npz"
    result.save(path)
    read = ang.load_result(path).robust
    assert read.credible is False
    assert len(read.rivals) == len(result.robust.rivals)
    np.testing.assert_array_equal(read.undecided, result.robust.undecided)
    few = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, 1.0]), solver=ang.Robust())
    few.save(path)
    assert ang.load_result(path).robust.credible is None


def test_anchors_and_trusted_measurements():
    data, truth, steps, wrong = trajectory(false=20, seed=7)
    anchors = {0: float(np.angle(truth[0])), 60: float(np.angle(truth[60]))}
    result = ang.synchronize(data, solver=ang.Robust(trusted=steps), anchors=anchors)
    assert np.array_equal(result.robust.distrusted, wrong)


@pytest.mark.parametrize("seed", range(6))
def test_random_signs_are_not_credible(seed):
    rng = np.random.default_rng(seed)
    i, j = np.r_[np.arange(29), rng.integers(0, 10, 20)], np.r_[np.arange(1, 30), rng.integers(15, 30, 20)]
    data = ang.Measurements(i, j, np.pi * rng.integers(0, 2, i.size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CorruptionWarning)
        assert ang.synchronize(data, solver=ang.Robust()).robust.credible is not True


def test_nothing_is_judged_where_all_are_trusted():
    data, _, _, _ = trajectory(seed=3)
    report = ang.synchronize(data, solver=ang.Robust(trusted=np.ones(len(data), dtype=bool))).robust
    assert report.credible is None
    assert "trusted" in report.note


@pytest.mark.parametrize("decades", [4, 14, 200])
def test_weights_over_many_decades_raise_nothing(decades):
    rng = np.random.default_rng(decades)
    i, j = np.triu_indices(10, 1)
    some = rng.permutation(i.size)[:22]
    weight = 10.0 ** rng.uniform(-decades / 2, decades / 2, some.size)
    data = ang.Measurements(i[some], j[some], rng.normal(0, 0.1, some.size), weight=weight, n=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ang.synchronize(data, solver=ang.Robust())
    assert np.isfinite(result.z).all()


@pytest.mark.parametrize("scale", ["a", 1e300, -1.0])
def test_a_scale_that_is_none_is_refused(scale):
    with pytest.raises(InputError, match="scale must be a number"):
        ang.Robust(scale=scale)


def test_no_time_for_the_search_is_no_convergence():
    """The first set that is looked at, the chain alone, is none to call CONVERGED: every loop was thrown away."""
    rng = np.random.default_rng(3)
    n, loops = 3000, 2000
    theta = np.cumsum(0.2 * rng.standard_normal(n))
    first = rng.integers(0, n, loops)
    i = np.concatenate([np.arange(n - 1), first])
    j = np.concatenate([np.arange(1, n), (first + rng.integers(2, n - 2, loops)) % n])
    angle = theta[i] - theta[j] + 0.02 * rng.standard_normal(i.size)
    angle[-300:] = rng.uniform(-3, 3, 300)
    limited = ang.Stopping(max_seconds=0.2)
    with pytest.warns(ConvergenceWarning, match="TIME_LIMIT"):
        result = ang.synchronize(ang.Measurements(i, j, angle, n=n), solver=ang.Robust(), stopping=limited)
    assert result.status is ang.Status.TIME_LIMIT
    assert result.robust.credible is None


@pytest.mark.parametrize("extra", [1, 3])
def test_measurements_that_lie_on_no_cycle_are_counted(extra):
    # two graphs that hold well, joined by one false measurement, and nodes that hang by one each
    first, _, _, _ = trajectory(n=40, loops=30, false=3, seed=5)
    m = len(first)
    i, j = np.r_[first.i, first.i[: m - 3] + 40, 12], np.r_[first.j, first.j[: m - 3] + 40, 60]
    angle = np.r_[first.angle, first.angle[: m - 3], 2.0]
    for k in range(extra - 1):
        i, j, angle = np.r_[i, 20 + k], np.r_[j, 80 + k], np.r_[angle, 0.3]
    inner = ang.synchronize(first, solver=ang.Robust()).robust
    ends = 0 if not inner.note else int(inner.note.split()[0])  # of the first graph itself: ends of its chain
    report = ang.synchronize(ang.Measurements(i, j, angle), solver=ang.Robust()).robust
    assert report.note.startswith(f"{extra + 2 * ends} believed measurement")
    assert "on no cycle of believed ones" in report.note
    trusting = ang.synchronize(first, solver=ang.Robust(trusted=np.arange(39))).robust
    assert "no cycle" not in trusting.note
