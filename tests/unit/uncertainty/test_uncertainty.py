"""Error bars: Fisher information, gauges, leverage, and the Cramer-Rao bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import uncertainty
from angsync.errors import DisconnectedWarning, InputError


def weighted_graph(n=12, seed=0):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    keep = (rng.random(i.size) < 0.6) | (j == i + 1)
    return i[keep], j[keep], rng.uniform(0.5, 3, int(keep.sum()))


def graph_laplacian(n, i, j, w):
    L = np.zeros((n, n))
    for a, b, x in zip(i, j, w, strict=True):
        L[a, a] += x
        L[b, b] += x
        L[a, b] -= x
        L[b, a] -= x
    return L


def test_standard_errors_are_those_of_the_weighted_laplacian():
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


def test_the_gaussian_model_of_the_paper():
    # sigma = sigma_paper / sqrt 2, all weights 1: variance in the mean gauge is sigma^2 (n-1)/n^2
    n, sigma_paper = 200, 2.0
    problem = ang.simulate.gaussian(n, sigma_paper, rng=0)
    result = ang.synchronize(problem.C)
    expected = sigma_paper / np.sqrt(2) * np.sqrt(n - 1) / n
    given = result.standard_errors(sigma_paper / np.sqrt(2), gauge="mean")
    # information |C| a has mean 1 and, by the law of large numbers over 199 pairs a node, spread about 4 %
    assert given == pytest.approx(np.full(n, expected), rel=0.15)
    assert given.mean() == pytest.approx(expected, rel=0.02)
    estimated = result.standard_errors(gauge="mean")
    # sigma^2 is estimated from 19900 residuals: relative error sqrt(2/19900) = 1 %, in sigma 0.5 %
    assert estimated.mean() == pytest.approx(expected, rel=0.03)


def test_sigma_is_estimated_from_the_residuals():
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


def test_the_cramer_rao_bound_of_the_complete_graph():
    n, sigma_paper = 30, 1.5
    m = ang.simulate.gaussian(n, sigma_paper, rng=0).measurements
    bound = uncertainty.cramer_rao_bound(m, sigma_paper / np.sqrt(2))
    assert bound == pytest.approx(sigma_paper**2 / 2 * (n - 1) / n, rel=1e-10)


def test_leverages_sum_to_the_number_of_fitted_phases():
    i, j, w = weighted_graph()
    result = ang.synchronize(ang.Measurements(i, j, np.zeros(i.size), weight=w))
    leverage = result.edge_residuals().leverage
    assert leverage.sum() == pytest.approx(11)
    L = graph_laplacian(12, i, j, w)
    G = np.linalg.pinv(L)
    assert leverage == pytest.approx(w * (G[i, i] + G[j, j] - 2 * G[i, j]), rel=1e-9)


def test_a_bridge_has_leverage_one_and_no_standardised_residual():
    m = ang.Measurements([0, 1, 2, 2], [1, 2, 0, 3], [0.1, 0.1, 0.1, 1.0])
    residuals = ang.synchronize(m).edge_residuals()
    assert residuals.leverage[3] == pytest.approx(1)
    assert np.isnan(residuals.standardised[3])
    assert np.isfinite(residuals.standardised[:3]).all()
    assert residuals.wrapped[:3] == pytest.approx([0.1, 0.1, 0.1])
    assert residuals.wrapped[3] == pytest.approx(0, abs=1e-12)


def test_residuals_come_in_the_order_and_direction_of_the_input():
    truth = np.array([0.0, 1.0, 2.5, -2.0])
    i, j = np.array([3, 0, 1, 2, 0]), np.array([0, 1, 2, 3, 2])
    angle = truth[i] - truth[j]
    angle[1] += 0.2
    residuals = ang.synchronize(ang.Measurements(i, j, angle)).edge_residuals().wrapped
    assert np.argmax(np.abs(residuals)) == 1
    assert residuals[1] > 0
    flipped = ang.synchronize(ang.Measurements(j, i, -angle)).edge_residuals().wrapped
    assert flipped == pytest.approx(-residuals, abs=1e-9)


def test_an_outlier_stands_out():
    problem = ang.simulate.erdos_renyi(40, 0.4, 0.05, rng=0)
    m = problem.measurements
    angle = m.angle.copy()
    angle[17] += 1.0
    residuals = ang.synchronize(ang.Measurements(m.i, m.j, angle)).edge_residuals()
    assert np.argmax(np.abs(residuals.standardised)) == 17


def test_standardised_residuals_have_unit_spread():
    for problem in (
        ang.simulate.phase_noise(60, 0.1, rng=0).measurements,
        ang.simulate.gaussian(60, 0.3, rng=0).C,
    ):
        spread = np.std(ang.synchronize(problem).edge_residuals().standardised)
        # 1770 residuals: standard error of the spread 1/sqrt(3540) = 1.7 %; five of them
        assert spread == pytest.approx(1, abs=0.085)


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
    assert np.isnan(tree.edge_residuals().standardised).all()
    with pytest.raises(InputError, match="sigma must be finite"):
        tree.standard_errors(-1.0)
    products = ang.synchronize(aslinearoperator(np.ones((3, 3))))
    with pytest.raises(InputError, match="LinearOperator"):
        products.standard_errors()


def test_parallel_edges_count_each():
    single = ang.synchronize(ang.Measurements([0], [1], [0.3], weight=[2.0])).standard_errors(1.0)
    double = ang.synchronize(ang.Measurements([0, 1], [1, 0], [0.3, -0.3])).standard_errors(1.0)
    assert single == pytest.approx(double)


def test_weights_built_into_the_matrix_are_understood():
    # Weights 0.1 .. 10 in |C|: over 60 draws the ratio of stated to empirical errors (24 nodes each) has a relative
    # standard error of about 1 / sqrt(2 * 60) = 9 % for one node and less for the mean; 15 % is allowed.
    rng = np.random.default_rng(0)
    n = 25
    i, j = np.triu_indices(n, 1)
    weight = 10 ** rng.uniform(-1, 1, i.size)
    truth = np.exp(2j * np.pi * rng.random(n))
    errors, stated, spread = [], [], []
    for seed in range(60):
        drawn = ang.simulate.phase_noise(n, 0.1, graph=(i, j), weight=weight, truth=truth, rng=seed)
        result = ang.synchronize(drawn.measurements.to_sparse(), certify=False)
        errors.append(np.angle(result.z * np.conj(truth) * truth[0])[1:])
        stated.append(result.standard_errors()[1:])
        spread.append(np.nanstd(result.edge_residuals().standardised))
    assert np.mean(stated) / np.sqrt(np.mean(np.square(errors))) == pytest.approx(1, abs=0.15)
    assert np.mean(spread) == pytest.approx(1, abs=0.08)


def test_standardised_residuals_allow_for_leverage():
    # a triangle: every leverage is 2/3, sigma^2 = sum r^2 / 1, so r / (sigma sqrt(1/3)) = 1 for equal residuals
    residuals = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.1, 0.1])).edge_residuals()
    assert residuals.standardised == pytest.approx([1, 1, 1])
    assert repr(residuals) == "EdgeResiduals(3 measurements, rms 0.1 rad)"


def test_redundancy_is_what_leverage_leaves():
    i, j, w = weighted_graph()
    residuals = ang.synchronize(ang.Measurements(i, j, np.zeros(i.size), weight=w)).edge_residuals()
    assert residuals.redundancy == pytest.approx(1 - residuals.leverage, abs=1e-15)
    assert residuals.redundancy.sum() == pytest.approx(i.size - 11)
    tree = ang.synchronize(ang.Measurements([0, 1, 1], [1, 2, 3], [0.1, 0.2, 0.3], weight=[1e-7, 3.0, 0.1]))
    assert tree.edge_residuals().leverage.tolist() == [1, 1, 1]  # exactly
    assert tree.edge_residuals().redundancy.tolist() == [0, 0, 0]


def test_a_bridge_between_rings_has_leverage_exactly_one(monkeypatch):
    ring = np.arange(7)
    i, j = np.r_[ring, ring + 7, 3], np.r_[(ring + 1) % 7, (ring + 1) % 7 + 7, 11]
    weight = np.r_[np.full(14, 1e-6), 0.3]
    leverage = ang.synchronize(ang.Measurements(i, j, np.zeros(15), weight=weight)).edge_residuals().leverage
    assert leverage[14] == 1
    assert leverage[:14] == pytest.approx(6 / 7, rel=1e-12)
    # sampled leverages of light bridges in a chain of rings would scatter around 1
    monkeypatch.setattr("angsync.uncertainty.resistance.choice.LARGEST_NODES", -1)
    first = 7 * np.arange(8)
    i = np.r_[(first[:, None] + ring).ravel(), first[:-1] + 3]
    j = np.r_[(first[:, None] + (ring + 1) % 7).ravel(), first[1:]]
    m = ang.Measurements(i, j, np.zeros(i.size), weight=np.r_[np.ones(56), np.full(7, 0.01)])
    assert uncertainty.leverages(m, m.weight, np.zeros(56, dtype=np.int64))[56:].tolist() == [1] * 7


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


def test_errors_are_predicted_before_anything_is_solved():
    i, j, w = weighted_graph()
    names = [f"station {k}" for k in range(12)]
    m = ang.Measurements(i, j, np.zeros(i.size), weight=w, labels=names)
    solved = ang.synchronize(m)
    assert ang.predicted_errors(m, 0.1) == pytest.approx(solved.standard_errors(0.1, gauge="mean"), rel=1e-12)
    assert ang.predicted_errors(m, 0.1, gauge="first") == pytest.approx(solved.standard_errors(0.1), rel=1e-12)
    by_name = ang.predicted_errors(m, 0.1, gauge="station 4")
    assert by_name == pytest.approx(solved.standard_errors(0.1, gauge="station 4"), rel=1e-12)
    assert by_name[4] == 0
    with pytest.raises(InputError, match="not a node label"):
        ang.predicted_errors(m, 0.1, gauge="station 12")
    with pytest.raises(InputError, match="nodes are 0 to 11"):
        ang.predicted_errors(ang.Measurements(i, j, np.zeros(i.size)), 0.1, gauge=12)
    with pytest.raises(InputError, match="sigma must be finite"):
        ang.predicted_errors(m, np.nan)
    two = ang.Measurements([0], [1], [0.0], weight=[4.0])
    assert ang.predicted_errors(two, 1.0) == pytest.approx([0.25, 0.25])
    assert ang.predicted_errors(two, 1.0, gauge=1) == pytest.approx([0.5, 0])


def test_an_edge_of_weight_zero_joins_nothing():
    m = ang.Measurements([0, 1, 2, 2], [1, 2, 0, 3], np.zeros(4), weight=[1, 1, 1, 0])
    assert ang.predicted_errors(m, 1.0, gauge="first") == pytest.approx([0, np.sqrt(2 / 3), np.sqrt(2 / 3), 0])
    assert uncertainty.leverages(m, m.weight, np.array([0, 0, 0, 1]))[3] == 0


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


def test_degrees_of_freedom_of_complex_values():
    # equal weights: all terms are equal, and the number is that of the pairs minus the phases or above; never more
    result = ang.synchronize(ang.simulate.gaussian(30, 0.2, rng=0).C)
    found = uncertainty.degrees_of_freedom(result.measurements, result.z, result.components)
    assert found <= 435 - 29
    assert found > 0.9 * (435 - 29)  # moduli spread by sigma / sqrt 2 = 14 %: (sum a)^2 / sum a^2 is 2 % less than 435


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
