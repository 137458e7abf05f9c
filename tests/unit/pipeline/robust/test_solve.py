"""Robust fits as a whole: every loss, every kind of data, bad data."""

from __future__ import annotations

import warnings

import networkx
import numpy as np
import pytest
from problems import corrupted, mean_error

import angsync as ang
from angsync.errors import ContradictionWarning, CorruptionWarning, DisconnectedWarning, InputError
from angsync.kernels.time_limit import OutOfTime, until
from angsync.pipeline.robust import solve as solve_module
from angsync.solvers.stopping import Clock


@pytest.mark.parametrize("loss", ["adaptive", "geman_mcclure", "truncated", "huber", "l1"])
def test_every_loss_recovers_exact_phases(loss):
    problem = corrupted(n=60, good=0.75, seed=1)
    result = ang.synchronize(problem.measurements, solver=ang.Robust(loss))
    # huber and l1 keep a pull of c / |r| of every outlier, with c = 1.3e-6 and 1e-7 rad
    assert mean_error(result.z, problem.z) < 1e-3
    assert np.array_equal(result.robust.distrusted, problem.outlier)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


def test_the_objective_is_that_of_the_matrix_given_and_the_certificate_that_of_the_weighted_one():
    problem = corrupted(sigma=0.05)
    result = ang.synchronize(problem.measurements, solver=ang.Robust())
    C = problem.measurements.to_sparse()
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real)
    np.testing.assert_allclose(result.product, C @ result.z)
    m = problem.measurements
    weighted = ang.Measurements(m.i, m.j, m.angle, m.weight * result.robust.weights, m.n)
    assert ang.certify(weighted, result.z).verdict is ang.Verdict.CERTIFIED
    assert ang.certify(m, result.z).verdict is not ang.Verdict.CERTIFIED


def test_matrices_and_graphs_give_the_same_as_measurements():
    problem = corrupted(n=30)
    expected = ang.synchronize(problem.measurements, solver=ang.Robust()).z
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(30))
    m = problem.measurements
    graph.add_edges_from((int(i), int(j), {"angle": float(a)}) for i, j, a in zip(m.i, m.j, m.angle, strict=True))
    upper = np.triu(problem.C.toarray())
    for data, options in ((problem.C, {}), (problem.C.toarray(), {}), (upper, {"hermitian": "upper"}), (graph, {})):
        result = ang.synchronize(data, solver=ang.Robust(), **options)
        assert mean_error(result.z, expected) < 1e-6
        assert result.robust.weights.size == len(m) == len(result.measurements)


def test_an_operator_without_entries_is_refused():
    import scipy.sparse.linalg

    operator = scipy.sparse.linalg.aslinearoperator(corrupted(n=10).C)
    with pytest.raises(InputError, match="one by one"):
        ang.synchronize(operator, solver=ang.Robust())


def test_error_bars_leave_outliers_out():
    problem = corrupted(n=80, good=0.7, sigma=0.1, seed=5)
    result = ang.synchronize(problem.measurements, solver=ang.Robust())
    good = ~problem.outlier
    m = problem.measurements
    clean = ang.synchronize(ang.Measurements(m.i[good], m.j[good], m.angle[good], n=80))
    # robust error bars are those of the good edges alone, wider by the efficiency of the loss
    ratio = result.standard_errors(gauge="mean") / clean.standard_errors(gauge="mean")
    assert 0.95 < np.median(ratio) < 1.25
    standardized = np.abs(result.edge_residuals().standardized)
    assert np.median(standardized[problem.outlier]) > 8
    assert np.median(standardized[good]) == pytest.approx(0.6745, rel=0.2)
    np.testing.assert_allclose(result.edge_residuals().leverage[result.robust.distrusted], 0, atol=1e-6)


def test_a_given_scale_and_start_are_used():
    problem = corrupted(sigma=0.05)
    given = ang.synchronize(problem.measurements, solver=ang.Robust(scale=0.2), start=problem.z)
    assert given.robust.scale == pytest.approx(0.2)
    m = problem.measurements
    scaled = ang.Measurements(m.i, m.j, m.angle, np.full(len(m), 4.0), m.n)
    # an edge of weight 4 has half the deviation, so sigma is twice as large for the same residuals
    assert ang.synchronize(scaled, solver=ang.Robust()).robust.scale == pytest.approx(
        2 * ang.synchronize(m, solver=ang.Robust()).robust.scale, rel=1e-3
    )
    plain = ang.synchronize(problem.measurements, solver=ang.Robust(graduated=False, start="least_squares"))
    assert mean_error(plain.z, problem.z) < 5


def test_the_same_seed_gives_the_same_answer():
    problem = corrupted(sigma=0.05)
    first, second = (ang.synchronize(problem.measurements, solver=ang.Robust(), rng=3) for _ in range(2))
    assert np.array_equal(first.z, second.z)


def test_a_tree_is_answered_as_least_squares():
    data = ang.Measurements([0, 1, 1], [1, 2, 3], [0.1, 0.2, 0.3])
    result = ang.synchronize(data, solver=ang.Robust())
    np.testing.assert_allclose(result.angles, [0, -0.1, -0.3, -0.4], atol=1e-9)
    assert "no cycles" in str(result)
    assert np.isnan(result.robust.scale)
    assert result.robust.weights.tolist() == [1, 1, 1]


def test_one_node_and_no_measurements():
    assert ang.synchronize(ang.Measurements([], [], [], n=1), solver=ang.Robust()).z.tolist() == [1]
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([], [], [], n=3), solver=ang.Robust())
    assert result.robust.weights.size == 0


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
def test_weights_that_are_all_zero_are_named():
    data = ang.Measurements([0, 1, 2], [1, 2, 0], [0.3, 0.2, -0.5], weight=np.zeros(3))
    result = ang.synchronize(data, solver=ang.Robust())
    assert result.robust.credible is None
    assert result.robust.note == "Not judged: no measurement has a positive weight, so nothing is known of the phases."
    with pytest.raises(InputError, match="no measurement has a positive weight"):
        result.standard_errors()


def test_components_and_isolated_nodes():
    first, second = corrupted(n=25, seed=0), corrupted(n=25, seed=1)
    a, b = first.measurements, second.measurements
    data = ang.Measurements(
        np.concatenate([a.i, b.i + 25]), np.concatenate([a.j, b.j + 25]), np.concatenate([a.angle, b.angle]), n=51
    )
    with pytest.warns(DisconnectedWarning, match="1 isolated"):
        result = ang.synchronize(data, solver=ang.Robust())
    assert mean_error(result.z[:25], first.z) < 1e-3
    assert mean_error(result.z[25:50], second.z) < 1e-3
    assert result.isolated.tolist() == [50]


def test_contradictory_parallel_edges_are_judged_one_by_one():
    problem = corrupted(n=20, good=1.0)
    m = problem.measurements
    doubled = ang.Measurements(
        np.append(m.i, m.i[0]), np.append(m.j, m.j[0]), np.append(m.angle, m.angle[0] + np.pi), n=20
    )
    with pytest.warns(ContradictionWarning):
        ang.synchronize(doubled)
    result = ang.synchronize(doubled, solver=ang.Robust())  # an AngsyncWarning would be an error here
    assert result.robust.distrusted.nonzero()[0].tolist() == [len(m)]
    assert mean_error(result.z, problem.z) < 1e-6


def test_measurements_of_weight_zero_are_left_alone():
    problem = corrupted(n=30)
    m = problem.measurements
    weight = np.where(np.arange(len(m)) % 7 == 0, 0.0, 1.0)
    result = ang.synchronize(ang.Measurements(m.i, m.j, m.angle, weight, 30), solver=ang.Robust())
    assert mean_error(result.z, problem.z) < 1e-3
    assert not result.robust.distrusted[weight == 0].any()
    assert result.robust.trusted_share == pytest.approx(1 - result.robust.distrusted[weight > 0].mean())


def test_a_node_with_only_bad_edges_stays_in_its_component():
    problem = corrupted(n=30, good=1.0)
    m = problem.measurements
    rng = np.random.default_rng(1)
    touching = (m.i == 7) | (m.j == 7)
    angle = np.where(touching, rng.uniform(-np.pi, np.pi, len(m)), m.angle)
    result = ang.synchronize(ang.Measurements(m.i, m.j, angle, n=30), solver=ang.Robust())
    assert result.components.max() == 0
    others = np.arange(30) != 7
    assert mean_error(result.z[others], problem.z[others]) < 1e-3


def test_corruption_of_the_majority_does_not_break_anything():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(30, 1)
    theta, other = rng.uniform(0, 2 * np.pi, (2, 30))
    wrong = rng.random(i.size) < 0.6
    angle = np.where(wrong, other[i] - other[j], theta[i] - theta[j])
    result = ang.synchronize(ang.Measurements(i, j, angle), solver=ang.Robust())
    # the larger group is the one that can be found
    assert mean_error(result.z, np.exp(1j * other)) < 1e-3


def test_time_limits_are_kept():
    problem = corrupted()
    result = ang.synchronize(
        problem.measurements, solver=ang.Robust(), stopping=ang.Stopping(max_seconds=0.0), on_failure="ignore"
    )
    assert result.status is ang.Status.TIME_LIMIT
    assert result.robust is not None


def test_weights_that_had_no_time_to_settle_distrust_nothing():
    """From a tree, residuals of all other edges are large: weights from them would leave the tree alone, and fit."""
    m = ang.simulate.grid(200, 200, 0.3, rng=0).measurements
    result = ang.synchronize(
        m, solver=ang.Robust(), stopping=ang.Stopping(max_seconds=1e-3), on_failure="ignore", certify=False
    )
    assert result.status is ang.Status.TIME_LIMIT
    assert result.robust.credible is None
    assert not result.robust.distrusted.any()


def test_out_of_time_for_leverages_each_edge_is_judged_by_its_own_residual(monkeypatch):
    m = ang.simulate.grid(12, 12, 0.1, rng=0).measurements

    def out_of_time(*_, **_options):
        raise OutOfTime

    monkeypatch.setattr(solve_module, "judged", out_of_time)
    result = ang.synchronize(m, solver=ang.Robust(loss="adaptive"))
    assert result.robust.credible is None
    assert result.robust.trusted_share > 0.95


def test_fits_of_a_search_end_with_the_time_of_the_search(monkeypatch):
    # not with that of the whole call, of which some is needed for the result
    problem = corrupted(n=20)
    limits = []
    original = solve_module.plain.solve

    def noted(data, call):
        limits.append(call.stopping.max_seconds)
        return original(data, call)

    monkeypatch.setattr(solve_module.plain, "solve", noted)
    edges = solve_module.Edges.of(problem.measurements)
    fit = solve_module._solver(edges, "auto", Clock(1000.0), None)
    with until(Clock(100.0)):
        fit(np.ones(len(edges)), None)
    fit(np.ones(len(edges)), None)
    assert limits[0] <= 100 < limits[1] <= 1000


def with_small_errors(share, seed):
    """621 measurements between 100 nodes, of noise 0.01 rad, some of them off by another 5 to 8 deviations."""
    rng = np.random.default_rng(seed)
    pairs = np.array(np.triu_indices(100, 1))
    i, j = pairs[:, rng.choice(pairs.shape[1], 621, replace=False)]
    theta = 2 * np.pi * rng.random(100)
    bad = rng.random(621) < share
    error = rng.standard_normal(621) + bad * rng.uniform(5, 8, 621) * rng.choice([-1, 1], 621)
    return ang.Measurements(i, j, theta[i] - theta[j] + 0.01 * error), bad


@pytest.mark.parametrize("seed", range(3))
def test_errors_of_5_to_8_deviations_are_caught(seed):
    measurements, bad = with_small_errors(0.15, seed)
    report = ang.synchronize(measurements, solver=ang.Robust(), certify=False).robust
    # errors of 5 to 8 deviations, one more of their own: 2 % are within 4.2, where a good one may be
    assert report.distrusted[bad].mean() > 0.9
    assert report.distrusted[~bad].mean() < 0.02
    assert report.scale == pytest.approx(0.01, rel=0.15)


def test_more_small_errors_than_are_found_are_not_credible():
    measurements, _ = with_small_errors(0.3, 0)
    with pytest.warns(CorruptionWarning, match="deviations are hidden"):
        report = ang.synchronize(measurements, solver=ang.Robust(), certify=False).robust
    assert report.credible is False


@pytest.mark.parametrize("seed", range(3))
def test_normal_errors_alone_are_credible(seed):
    measurements, _ = with_small_errors(0.0, seed)
    assert ang.synchronize(measurements, solver=ang.Robust(), certify=False).robust.credible is True


def test_honest_noise_with_heavy_tails_is_credible():
    i, j = np.triu_indices(14, 1)
    credible = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        theta = rng.uniform(-3, 3, 14)
        m = ang.Measurements(i, j, theta[i] - theta[j] + rng.laplace(scale=0.02, size=i.size))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorruptionWarning)
            credible.append(ang.synchronize(m, solver=ang.Robust(), certify=False).robust.credible)
    assert np.mean(credible) > 0.8
