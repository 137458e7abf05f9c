"""``ang.Robust``: losses, message passing, votes, noise, bad input, and what the result says."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from problems import corrupted, mean_error
from scipy.integrate import quad

import angsync as ang
from angsync.errors import ContradictionWarning, CorruptionWarning, DisconnectedWarning, InputError
from angsync.pipeline.robust.edges import Edges, bonds
from angsync.pipeline.robust.evidence import bound_on_chance
from angsync.pipeline.robust.losses import LOSSES
from angsync.pipeline.robust.message_passing import edge_scores, triangles
from angsync.pipeline.robust.noise import FLOOR, Noise, estimate_noise
from angsync.pipeline.robust.reweighting import Fit, reweight
from angsync.pipeline.robust.tuning import tuned
from angsync.pipeline.robust.voting import Ballot, vote
from angsync.problem.pieces import piece_count
from angsync.solvers.stopping import Clock

# ------------------------------------------------------------------ losses


@pytest.mark.parametrize("name", LOSSES)
def test_the_weight_of_a_loss_is_its_slope_over_the_residual(name):
    loss, c = LOSSES[name], 0.7
    u = np.array([0.05, 0.3, 0.6, 0.69, 0.9, 2.0])
    step = 1e-6
    slope = (loss.cost(u + step, c) - loss.cost(u - step, c)) / (2 * step)
    # cost is rho / c^2 and the weight is 1 at u = 0, where rho = u^2: rho' = 2 u w
    np.testing.assert_allclose(slope, 2 * u * loss.weights(u, c) / c**2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["adaptive", "geman_mcclure", "huber"])
def test_the_slopes_of_psi(name):
    loss, c, step = LOSSES[name], 0.7, 1e-6
    u = np.array([0.05, 0.3, 0.6, 0.9, 2.0])
    psi = [(u + side) * loss.weights(u + side, c) for side in (step, -step)]
    np.testing.assert_allclose((psi[0] - psi[1]) / (2 * step), loss.slopes(u, c), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_the_efficiency_of_a_loss_is_that_of_normal_noise(name):
    loss = LOSSES[name]

    def expected(function):
        # split where the weights have corners
        corners = [-12, -loss.width, loss.width, 12]
        parts = itertools.pairwise(corners)
        density = np.sqrt(0.5 / np.pi)
        return sum(quad(lambda u: function(u) * density * np.exp(-(u**2) / 2), a, b)[0] for a, b in parts)

    def psi(u):
        return u * float(loss.weights(np.array([abs(u)]), loss.width)[0])

    assert expected(lambda u: u * psi(u)) ** 2 / expected(lambda u: psi(u) ** 2) == pytest.approx(
        loss.efficiency, abs=2e-4
    )


# ------------------------------------------------------------------ triangles and message passing


@pytest.mark.parametrize("seed", range(3))
def test_every_triangle_is_found_once(seed):
    graph = networkx.gnp_random_graph(25, 0.4, seed=seed)
    i, j = np.array(graph.edges()).T
    flip = np.random.default_rng(seed).random(i.size) < 0.5
    i, j = np.where(flip, j, i), np.where(flip, i, j)
    found = np.stack(triangles(25, i, j, np.random.default_rng(0)))
    nodes = {frozenset(np.concatenate([i[t], j[t]]).tolist()) for t in found.T}
    assert all(len(corner) == 3 for corner in nodes)
    assert len(nodes) == found.shape[1] == sum(networkx.triangles(graph).values()) // 3


def test_parallel_edges_make_triangles_of_their_own():
    i, j = np.array([0, 0, 1, 0]), np.array([1, 2, 2, 1])
    assert triangles(3, i, j, np.random.default_rng(0))[0].size == 2


def test_very_many_triangles_are_sampled(monkeypatch):
    monkeypatch.setattr("angsync.pipeline.robust.message_passing._MOST_WEDGES", 50)
    i, j = np.triu_indices(20, 1)
    assert triangles(20, i, j, np.random.default_rng(0))[0].size == 50


def test_message_passing_separates_good_from_bad():
    problem = corrupted(good=0.6)
    scores = edge_scores(Edges.of(problem.measurements), np.random.default_rng(0))
    good, bad = scores.corruption[~problem.outlier], scores.corruption[problem.outlier]
    assert np.quantile(bad, 0.1) > 5 * np.quantile(good, 0.9)


def test_edges_in_no_triangle_get_the_mean_score():
    # a triangle and a pendant edge: nothing is known against the latter
    edges = Edges.of(ang.Measurements([0, 1, 0, 2], [1, 2, 2, 3], [0.0, 0.0, 0.6, 1.0]))
    scores = edge_scores(edges, np.random.default_rng(0))
    assert scores.unjudged.tolist() == [False, False, False, True]
    assert scores.corruption[3] == pytest.approx(scores.corruption[:3].mean())
    tree = edge_scores(Edges.of(ang.Measurements([0, 1], [1, 2], [0.1, 0.2])), np.random.default_rng(0))
    assert tree.weights().tolist() == [1, 1]


# ------------------------------------------------------------------ votes


def test_a_node_takes_the_mode_of_its_votes_across_the_cut():
    # node 0 hears pi - 0.05, -pi + 0.05 (that is pi), and two others far apart
    edges = Edges.of(ang.Measurements([0, 0, 0, 0], [1, 2, 3, 4], [np.pi - 0.05, -np.pi + 0.05, 0.5, 1.5]))
    mode = Ballot.of(edges).modes(np.ones(5, dtype=complex), 0.2)[0]
    assert abs(np.angle(mode * np.exp(-1j * np.pi))) < 1e-12


def test_modes_agree_with_a_loop_over_windows():
    problem = corrupted(n=12, good=0.5, sigma=0.2, seed=3)
    edges = Edges.of(problem.measurements)
    z = np.exp(2j * np.pi * np.random.default_rng(1).random(12))
    width = 0.5
    found = Ballot.of(edges).modes(z, width)
    for node in range(12):
        first, second = edges.i == node, edges.j == node
        votes = np.concatenate([(edges.turn * z[edges.j])[first], (edges.turn.conj() * z[edges.i])[second]])
        best, mode = -np.inf, 0j
        for begin in votes:
            window = votes[np.angle(votes / begin) % (2 * np.pi) <= 2 * width]  # begin itself may be at -1e-17
            window = np.append(window, begin) if begin not in window else window
            score = abs(window.sum()) - np.cos(width) * window.size
            if score > best:
                best, mode = score, window.sum() / abs(window.sum())
        assert abs(found[node] - mode) < 1e-12


def test_votes_repair_a_wrong_node_and_leave_isolated_ones_alone():
    problem = corrupted(good=0.9)
    edges = Edges.of(problem.measurements)
    z = problem.z.copy()
    z[5] *= -1
    mended = vote(Ballot.of(edges), z, np.full(3, 0.1), np.random.default_rng(0))
    # a vote in the window that is wrong by chance pulls by less than the window
    assert np.abs(np.angle(ang.align(mended, problem.z) / problem.z)).max() < 0.1
    lonely = Edges.of(ang.Measurements([0], [1], [0.3], n=3))
    start = np.exp(1j * np.array([0.0, 0.0, 2.0]))
    assert vote(Ballot.of(lonely), start, np.full(2, 0.1), np.random.default_rng(0))[2] == start[2]


# ------------------------------------------------------------------ noise, tuning, bonds


def test_the_noise_is_estimated_at_the_truth():
    problem = ang.simulate.outliers(150, 0.6, sigma=0.1, rng=2)
    noise = estimate_noise(Edges.of(problem.measurements), problem.z, 0.5)
    m = len(problem.measurements)
    # 4 standard errors; and no phase was fitted, but the formula takes 149 good edges off: 1 + 149 / (2 * 0.6 m)
    assert noise.scale == pytest.approx(0.1, rel=4 / np.sqrt(2 * 0.6 * m) + 149 / (1.2 * m))
    assert noise.share == pytest.approx(0.6, abs=4 * np.sqrt(0.24 / m))


def test_exact_edges_have_the_floor_as_scale():
    problem = corrupted(good=0.5)
    noise = estimate_noise(Edges.of(problem.measurements), problem.z, 0.5)
    assert noise.scale == FLOOR
    assert np.array_equal(noise.corruption > 0.5, problem.outlier)


def test_a_spanning_tree_that_fits_exactly_says_nothing_about_noise():
    problem = ang.simulate.grid(12, 12, 0.3, rng=0)
    tree = ang.synchronize(problem.measurements, start="spanning_tree", certify=False, on_failure="ignore",
                           stopping=ang.Stopping(max_iterations=0)).z  # fmt: skip
    assert estimate_noise(Edges.of(problem.measurements), tree, 1e-3).scale > 0.1


def test_the_width_follows_the_noise():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(60, 1)

    def chosen(noise):
        edges = Edges.of(ang.Measurements(i, j, noise))
        z = np.ones(60, dtype=complex)
        fit = reweight(edges, lambda weights, start: start, z, LOSSES["geman_mcclure"], first_width=None, scale=None,
                       max_rounds=1, clock=Clock())  # fmt: skip
        return tuned(edges, fit).width

    assert chosen(0.1 * rng.standard_normal(i.size)) >= 3
    assert chosen(0.05 * rng.standard_t(1.5, i.size)) <= 1.4


def test_bonds_hold_together_what_the_weights_let_go():
    problem = corrupted(seed=4)
    edges = Edges.of(problem.measurements)
    rng = np.random.default_rng(0)
    doubt = rng.random(len(edges))
    kept = rng.random(len(edges)) < 0.02
    chosen = bonds(edges, kept, doubt)
    assert not (chosen & kept).any()
    held = kept | chosen
    before = piece_count(edges.n, edges.i[kept], edges.j[kept])
    assert piece_count(edges.n, edges.i[held], edges.j[held]) == 1
    assert chosen.sum() == before - 1
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(edges.i, edges.j, np.where(kept, 0.0, doubt), strict=True))
    least = networkx.minimum_spanning_tree(graph).size(weight="weight")
    assert doubt[chosen].sum() == pytest.approx(least)


# ------------------------------------------------------------------ the whole


@pytest.mark.parametrize("loss", ["adaptive", "geman_mcclure", "truncated", "huber", "l1"])
def test_every_loss_recovers_exact_phases(loss):
    problem = corrupted(n=60, good=0.75, seed=1)
    result = ang.synchronize(problem.measurements, solver=ang.Robust(loss))
    # huber and l1 keep a pull of c / |r| of every outlier, with c = 1.3e-6 and 1e-7 rad
    assert mean_error(result.z, problem.z) < 1e-3
    assert np.array_equal(result.robust.distrusted, problem.outlier)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


def test_the_report_and_the_words():
    problem = corrupted(sigma=0.05)
    result = ang.synchronize(problem.measurements, solver=ang.Robust())
    report = result.robust
    count = len(problem.measurements)
    assert report.weights.shape == report.corruption.shape == report.distrusted.shape == (count,)
    assert ((report.weights >= 0) & (report.weights <= 1)).all()
    assert ((report.corruption >= 0) & (report.corruption <= 1)).all()
    assert np.array_equal(report.distrusted, report.corruption > 0.5)
    assert report.trusted_share == pytest.approx(1 - report.distrusted.mean())
    assert (report.weights[report.distrusted] == 0).all()
    assert "final weighted least-squares problem" in result.message
    assert "final weighted problem" in result.method
    (line,) = [line for line in str(result).splitlines() if line.startswith("  robust")]
    assert f"{int(report.distrusted.sum())} of {count} measurements distrusted" in line
    assert "robust" not in str(ang.synchronize(problem.measurements))


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
    standardised = np.abs(result.edge_residuals().standardised)
    assert np.median(standardised[problem.outlier]) > 8
    assert np.median(standardised[good]) == pytest.approx(0.6745, rel=0.2)
    np.testing.assert_allclose(result.edge_residuals().leverage[result.robust.distrusted], 0, atol=1e-6)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_the_report_is_saved_with_the_result(tmp_path, suffix):
    result = ang.synchronize(corrupted(n=15).measurements, solver=ang.Robust())
    result.save(tmp_path / f"result{suffix}")
    loaded = ang.load_result(tmp_path / f"result{suffix}").robust
    assert np.array_equal(loaded.weights, result.robust.weights)
    assert np.array_equal(loaded.distrusted, result.robust.distrusted)
    assert loaded.distrusted.dtype == bool
    assert str(loaded) == str(result.robust)


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


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"loss": "l2"}, "loss must be one of"),
        ({"start": "truth"}, "start must be one of"),
        ({"scale": -1.0}, "scale must be finite"),
        ({"scale": np.nan}, "scale must be finite"),
        ({"max_rounds": 0}, "max_rounds must be a whole number"),
        ({"max_rounds": 1.5}, "max_rounds must be a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings, match):
    with pytest.raises(InputError, match=match):
        ang.Robust(**settings)


# ------------------------------------------------------------------ bad input


def test_nothing_to_trust_is_said():
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(40, 1)
    data = ang.Measurements(i, j, rng.uniform(-np.pi, np.pi, i.size))
    with pytest.warns(CorruptionWarning, match="nothing"):
        result = ang.synchronize(data, solver=ang.Robust())
    assert not result.robust.credible
    assert "nothing can be trusted" in str(result)


def test_the_bound_on_chance_is_far_off_for_good_data_and_silent_for_random_data():
    problem = corrupted(n=60, good=0.5, sigma=0.05)
    edges = Edges.of(problem.measurements)

    def fit(z):
        return reweight(edges, lambda weights, start: start, z, LOSSES["truncated"], first_width=None, scale=None,
                        max_rounds=1, clock=Clock())  # fmt: skip

    assert bound_on_chance(edges, fit(problem.z)) < -50
    assert bound_on_chance(edges, fit(np.exp(2j * np.pi * np.random.default_rng(99).random(60)))) == 0


def test_a_fit_that_is_worse_than_chance_is_no_evidence():
    i, j = np.triu_indices(20, 1)
    edges = Edges.of(ang.Measurements(i, j, np.full(i.size, np.pi)))  # every residual is pi at z = 1
    noise = Noise(0.3, 0.5, np.zeros(i.size))
    fit = Fit(np.ones(20, dtype=complex), np.ones(i.size), noise, LOSSES["truncated"], 1, True)
    assert bound_on_chance(edges, fit) == 0


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


def test_anchors_and_priors_keep_the_order_of_the_report():
    problem = corrupted(n=30, sigma=0.02)
    m = problem.measurements
    known = {node: float(np.angle(problem.z[node])) for node in (int(m.i[0]), int(m.j[0]))}
    vague = {node: (float(np.angle(problem.z[node])), 4.0) for node in range(30) if node not in known}
    result = ang.synchronize(m, solver=ang.Robust(), anchors=known, priors=vague)
    assert result.robust.distrusted.size == len(m) == result.edge_residuals().standardised.size
    assert not result.robust.distrusted[0]  # between two anchors: nothing depends on it
    assert np.mean(result.robust.distrusted[1:] == problem.outlier[1:]) > 0.97
    assert np.abs(np.angle(result.z * problem.z.conj())).max() < 0.05


def test_time_limits_are_kept():
    problem = corrupted()
    result = ang.synchronize(
        problem.measurements, solver=ang.Robust(), stopping=ang.Stopping(max_seconds=0.0), on_failure="ignore"
    )
    assert result.status is ang.Status.TIME_LIMIT
    assert result.robust is not None
