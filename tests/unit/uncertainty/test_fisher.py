"""Standard errors from the Fisher information: gauges, sigma from residuals, intervals, pieces, real graphs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import uncertainty
from angsync.errors import DisconnectedWarning, InputError


def test_standard_errors_are_those_of_the_weighted_laplacian(weighted_graph, graph_laplacian):
    i, j, w = weighted_graph()
    truth = np.random.default_rng(1).uniform(0, 6, 12)
    result = ang.synchronize(ang.Measurements(i, j, truth[i] - truth[j], weight=w))
    L = graph_laplacian(12, i, j, w)
    first = 0.1 * np.sqrt(np.concatenate([[0], np.diag(np.linalg.inv(L[1:, 1:]))]))
    mean = 0.1 * np.sqrt(np.diag(np.linalg.pinv(L)))
    assert result.standard_errors(0.1) == pytest.approx(first, rel=1e-9, abs=1e-12)
    assert result.standard_errors(0.1, gauge="mean") == pytest.approx(mean, rel=1e-9)
    node = result.standard_errors(0.1, gauge=4)
    assert node[4] == 0
    assert node[0] == pytest.approx(first[4], rel=1e-9)
    assert ang.synchronize(result.measurements, gauge="mean").standard_errors(0.1) == pytest.approx(mean, rel=1e-9)


def test_probing_gives_about_the_same_and_says_so(monkeypatch):
    problem = ang.simulate.grid(7, 6, 0.2, rng=0)
    result = ang.synchronize(problem.measurements)
    residuals = result.edge_residuals()
    exact = [result.standard_errors(0.2), result.standard_errors(0.2, gauge="mean"), residuals.leverage]
    assert residuals.method.name == "selected inverse"
    assert residuals.method.accuracy == 0
    assert uncertainty.method_for(result.measurements).name == "selected inverse"
    monkeypatch.setattr("angsync.uncertainty.resistance.choice.LARGEST_NODES", 5)
    residuals = result.edge_residuals()
    sampled = [result.standard_errors(0.2), result.standard_errors(0.2, gauge="mean"), residuals.leverage]
    assert residuals.method.name == "probing"
    assert 0 < residuals.method.accuracy <= 0.1
    assert "41 nodes are more than 5" in str(uncertainty.method_for(result.measurements))
    for a, b in zip(exact, sampled, strict=True):
        # 10 % a leverage, 5 % a standard error, the seed being fixed: four standard deviations of a leverage
        assert b == pytest.approx(a, rel=0.4)
        assert b != pytest.approx(a, rel=1e-6)


def test_sigma_is_estimated_from_the_residuals(weighted_graph):
    # m = 4950, 99 phases: relative standard error of sigma is 1/sqrt(2 * 4851) = 1 %; five of them
    problem = ang.simulate.phase_noise(100, 0.2, rng=0)
    result = ang.synchronize(problem.measurements)
    found = uncertainty.estimate_sigma(result.measurements, result.z, result.components)
    assert found == pytest.approx(0.2, rel=0.05)
    i, j, w = weighted_graph(60)
    weighted = ang.simulate.phase_noise(60, 0.2, graph=(i, j), weight=w, rng=1)
    result = ang.synchronize(weighted.measurements)
    # m is about 1060, freedom about 1000: 2.2 %, five of them
    found = uncertainty.estimate_sigma(result.measurements, result.z, result.components)
    assert found == pytest.approx(0.2, rel=0.11)


def test_several_components():
    i, j = np.array([0, 1, 2, 4, 5, 6]), np.array([1, 2, 0, 5, 6, 4])
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements(i, j, np.full(6, 0.1), n=8))
    errors = result.standard_errors(1.0)
    assert errors[[0, 3, 4, 7]].tolist() == [0, 0, 0, 0]
    assert errors[1] == pytest.approx(np.sqrt(2 / 3))
    assert result.standard_errors(1.0, gauge="mean")[[0, 1, 2]] == pytest.approx(np.sqrt([2 / 9] * 3))
    assert result.edge_residuals().leverage == pytest.approx([2 / 3] * 6)


def test_what_cannot_be_answered_says_so():
    tree = ang.synchronize(ang.Measurements([0, 1], [1, 2], [0.1, 0.2]))
    with pytest.raises(InputError, match="Pass sigma"):
        tree.standard_errors()
    assert tree.standard_errors(0.1) == pytest.approx([0, 0.1, 0.1 * np.sqrt(2)])
    assert np.isnan(tree.edge_residuals().standardized).all()
    with pytest.raises(InputError, match="sigma must be finite"):
        tree.standard_errors(-1.0)
    products = ang.synchronize(aslinearoperator(np.ones((3, 3))))
    with pytest.raises(InputError, match="LinearOperator"):
        products.standard_errors()


def test_parallel_edges_count_each():
    single = ang.synchronize(ang.Measurements([0], [1], [0.3], weight=[2.0])).standard_errors(1.0)
    double = ang.synchronize(ang.Measurements([0, 1], [1, 0], [0.3, -0.3])).standard_errors(1.0)
    assert single == pytest.approx(double)


def test_weights_over_twelve_orders_of_magnitude():
    # a chain of squares, each of its own weight: against the reference variances add up, whatever their sizes
    weights = 10.0 ** np.array([-6, 6, 0, 3, -3])
    i, j, w = [], [], []
    for k, weight in enumerate(weights):
        nodes = 3 * k + np.arange(4)
        i += [nodes[0], nodes[1], nodes[0], nodes[2]]
        j += [nodes[1], nodes[3], nodes[2], nodes[3]]
        w += [weight] * 4
    m = ang.Measurements(i, j, np.zeros(len(i)), weight=w)
    errors = ang.predicted_errors(m, 1.0, gauge=0)
    assert errors[::3] == pytest.approx(np.sqrt(np.r_[0, np.cumsum(1 / weights)]), rel=1e-12)
    back = ang.predicted_errors(m, 1.0, gauge=15)
    assert back[12] == pytest.approx(np.sqrt(1 / weights[4]), rel=1e-12)
    assert back[0] == pytest.approx(errors[15], rel=1e-12)
    leverage = uncertainty.leverages(m, m.weight, np.zeros(16, dtype=np.int64))
    assert leverage == pytest.approx(0.75, rel=1e-12)


def test_a_component_whose_edges_lost_their_weight_has_infinite_errors():
    # as after a robust solve that distrusts the only edges between two parts
    m = ang.Measurements([0, 1, 2, 2, 3], [1, 2, 0, 3, 4], np.zeros(5), weight=[1, 1, 1, 0, 1])
    one, z = np.zeros(5, dtype=np.int64), np.ones(5, dtype=complex)
    against = uncertainty.standard_errors(m, z, one, sigma=1.0, references=np.array([1]))
    assert against == pytest.approx([np.sqrt(2 / 3), 0, np.sqrt(2 / 3), np.inf, np.inf])
    mean = uncertainty.standard_errors(m, z, one, sigma=1.0, references=None)
    assert mean == pytest.approx([*np.sqrt([2 / 9] * 3), np.inf, np.inf])
    assert uncertainty.degrees_of_freedom(m, z, one) == 1


def test_intervals_use_student_where_sigma_is_estimated():
    # a triangle has one degree of freedom: the quantile of t is tan(0.95 pi / 2) = 12.706, that of the normal 1.960
    result = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.51, 0.51, -0.99]))
    half = np.diff(result.confidence_intervals(), axis=1)[:, 0] / 2
    assert half == pytest.approx(np.tan(0.95 * np.pi / 2) * result.standard_errors(), rel=1e-9)
    given = np.diff(result.confidence_intervals(0.6827, 0.01), axis=1)[:, 0] / 2
    assert given == pytest.approx(result.standard_errors(0.01), rel=1e-4)
    assert result.confidence_intervals().mean(axis=1) == pytest.approx(result.angles, abs=1e-12)
    middle = result.confidence_intervals(gauge=1).mean(axis=1)
    assert middle == pytest.approx(np.angle(result.z * np.conj(result.z[1])), abs=1e-12)
    assert np.diff(result.confidence_intervals(sigma=100.0), axis=1)[1] == pytest.approx(2 * np.pi)
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        result.confidence_intervals(95)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["intel", "MIT", "manhattan"])
def test_a_real_graph(shared_data, name):
    # precisions of these odometry and loop edges differ by orders of magnitude
    m = ang.read(shared_data / "pose-graphs" / f"{name}.g2o", weights="kappa")
    assert uncertainty.method_for(m).name == "selected inverse"
    leverage = uncertainty.leverages(m, m.weight, np.zeros(m.n, dtype=np.int64))
    assert leverage.sum() == pytest.approx(m.n - 1, rel=1e-12)
    assert np.array_equal(np.flatnonzero(leverage == 1), ang.connectivity_of(m).bridges)
    errors = ang.predicted_errors(m, 1.0, gauge=0)
    back = ang.predicted_errors(m, 1.0, gauge=m.n - 1)
    assert errors[-1] == pytest.approx(back[0], rel=1e-11)  # the same resistance, by another elimination
