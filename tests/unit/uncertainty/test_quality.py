"""How well measurements fit: alarms where some are wrong, silence where there is only noise."""

import numpy as np
import pytest
import scipy.sparse
from tests.problems import random_graph, random_tree

import angsync as ang
from angsync.report.sentences import advice_on_fit, fit_in_words, judge_fit
from angsync.uncertainty.quality import assess


def edges(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if kind == "full":
        return np.triu_indices(n, 1)
    if kind == "grid":
        nodes = np.arange(n * n).reshape(n, n)
        pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
        return tuple(np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))
    return np.nonzero(np.triu(random_graph(n, rng, 2 * n), 1))  # a tree and 2 n further edges


def measured(kind: str, n: int, noise: float, seed: int, weight: bool = False, wrong: int = 0) -> ang.Measurements:
    rng = np.random.default_rng(seed)
    i, j = edges(kind, n, rng)
    theta = rng.uniform(-np.pi, np.pi, max(i.max(), j.max()) + 1)
    w = 10 ** rng.uniform(-0.7, 0.7, i.size) if weight else np.ones(i.size)
    angle = theta[i] - theta[j] + noise / np.sqrt(w) * rng.standard_normal(i.size)
    bad = rng.choice(i.size, wrong, replace=False)
    angle[bad] = rng.uniform(-np.pi, np.pi, wrong)
    return ang.Measurements(i, j, angle, weight=w)


@pytest.mark.parametrize("noise", [0.01, 0.3, 1.0])
@pytest.mark.parametrize(("kind", "n"), [("full", 6), ("full", 20), ("grid", 4), ("random", 30)])
def test_noise_alone_is_no_reason_for_an_alarm(kind, n, noise):
    # At most one alarm in a thousand problems: 3 or more of 40 would have a probability of 40^3 / 6 * 1e-9 = 1e-5.
    alarms = [assess(ang.synchronize(measured(kind, n, noise, seed, weight=seed % 2 == 0))) for seed in range(40)]
    assert sum(quality.heavy_tails for quality in alarms) <= 2


def test_noise_is_estimated():
    result = ang.synchronize(measured("full", 40, 0.1, seed=3))
    quality = assess(result)
    # 741 degrees of freedom: a standard error of 2.6 % of sigma, and of 4.3 % of the core width (see the module)
    assert quality.noise_degrees == pytest.approx(np.degrees(0.1), rel=4 * 0.026)
    assert quality.core_degrees == pytest.approx(np.degrees(0.1), rel=4 * 0.043)
    assert quality.degrees_of_freedom == pytest.approx(741)
    assert quality.rms_degrees == pytest.approx(quality.noise_degrees * np.sqrt(741 / 780))
    assert quality.chi2_per_dof is None
    assert "which is what noise of" in fit_in_words(quality)
    assert advice_on_fit(quality, result) is None


@pytest.mark.parametrize("wrong", [1, 20, 120])
def test_wrong_measurements_are_said_and_named(wrong):
    data = measured("full", 40, 0.05, seed=5, wrong=wrong)
    result = ang.synchronize(data)
    quality = assess(result)
    assert quality.heavy_tails
    assert "robust" in advice_on_fit(quality, result)
    assert f"{quality.far_count} of 780" in fit_in_words(quality)
    # Uniform angles: a share of 4 * 0.05 / pi = 6 % is within four widths, 1.3 of 20 on average. That 8 or more of 20
    # are has a probability below 1e-5, and of good ones beyond the expected number is 0.05.
    assert 0.6 * wrong <= quality.far_count <= wrong + 2
    assert len(quality.worst) == 10
    assert abs(quality.worst[0][2]) > 20
    assert quality.worst[0][4] > 4


def test_one_wrong_measurement_of_a_small_graph():
    data = measured("full", 6, 0.02, seed=1)
    angle = data.angle.copy()
    angle[4] += 1.5
    quality = assess(ang.synchronize(ang.Measurements(data.i, data.j, angle, labels=list("abcdef"))))
    assert quality.heavy_tails
    assert quality.far_count == 1
    assert quality.worst[0][:2] == ("a", "f")
    assert "1 of 15 is further off than noise allows" in fit_in_words(quality)


def test_what_nothing_checks_is_not_judged():
    rng = np.random.default_rng(0)
    adjacency = random_tree(30, rng)
    quality = assess(ang.synchronize(ang.Measurements(*adjacency, rng.uniform(-3, 3, adjacency[0].size))))
    assert quality.noise_degrees is None
    assert quality.core_degrees is None
    assert quality.worst == ()
    assert "cannot be judged" in fit_in_words(quality)
    assert not quality.heavy_tails


def test_exact_measurements():
    quality = assess(ang.synchronize(measured("grid", 5, 0.0, seed=0)))
    assert "agree with each other exactly" in fit_in_words(quality)
    assert not quality.heavy_tails
    assert quality.worst == ()
    assert quality.far_count == 0


def test_chi_square_of_weights_that_are_one_over_the_variance():
    data = measured("full", 40, 0.1, seed=2, weight=True)
    quality = assess(ang.synchronize(ang.Measurements(data.i, data.j, data.angle, weight=data.weight / 0.01)))
    assert quality.chi2_per_dof == pytest.approx(1, abs=4 * np.sqrt(2 / 741))  # the law of chi-square


@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("noise", [0.1, 0.5, 4.0])
def test_matrices(convert, noise):
    quality = assess(ang.synchronize(convert(ang.simulate.gaussian(60, noise, rng=4).C)))
    assert not quality.heavy_tails
    if noise < 1:
        assert quality.noise_degrees == pytest.approx(np.degrees(noise / np.sqrt(2)), rel=0.15)
    else:
        assert "mostly noise" in fit_in_words(quality)


def test_a_matrix_with_wrong_entries():
    C = ang.simulate.gaussian(60, 0.1, rng=4).C.copy()
    rng = np.random.default_rng(1)
    i, j = np.triu_indices(60, 1)
    bad = rng.choice(i.size, 60, replace=False)
    C[i[bad], j[bad]] = np.exp(1j * rng.uniform(-np.pi, np.pi, 60))
    C[j[bad], i[bad]] = C[i[bad], j[bad]].conj()
    quality = assess(ang.synchronize(C))
    assert quality.heavy_tails
    assert quality.far_count >= 40


@pytest.mark.parametrize("edges_limit", [10, 1000])
def test_many_measurements_without_their_leverages(monkeypatch, edges_limit):
    monkeypatch.setattr("angsync.uncertainty.quality._MOST_LEVERAGES", edges_limit)
    for kind, n in (("full", 50), ("grid", 20)):
        right = assess(ang.synchronize(measured(kind, n, 0.1, seed=0)))
        assert not right.heavy_tails
        assert right.noise_degrees == pytest.approx(np.degrees(0.1), rel=0.2)
        assert assess(ang.synchronize(measured(kind, n, 0.1, seed=0, wrong=15))).heavy_tails


def test_after_a_robust_fit_what_is_left_out_is_said():
    data = measured("full", 40, 0.05, seed=5, wrong=20)
    result = ang.synchronize(data, solver=ang.Robust())
    quality = assess(result)
    left_out = int(np.count_nonzero(result.robust.weights == 0))
    assert fit_in_words(quality).startswith(f"{left_out} measurements are distrusted and left out; the measurements")
    assert advice_on_fit(quality, result) is None
    assert not quality.heavy_tails
    assert quality.noise_degrees == pytest.approx(np.degrees(0.05), rel=0.15)
    assert abs(quality.worst[0][2]) > 90  # degrees: those left out are named


def test_anchors_and_priors():
    data = measured("full", 10, 0.05, seed=5)
    quality = assess(ang.synchronize(data, anchors={0: 0.0, 1: 0.1}, priors={2: (0.3, 0.1)}))
    assert quality is not None
    assert quality.count == 45


def test_operators_and_loaded_results_have_no_measurements(tmp_path):
    C = ang.simulate.gaussian(20, 0.1, rng=0).C
    result = ang.synchronize(scipy.sparse.linalg.aslinearoperator(C))
    assert assess(result) is None
    result.save(tmp_path / "z.npz")
    assert assess(ang.load_result(tmp_path / "z.npz")) is None


@pytest.mark.shared_data
def test_sensor_patches(shared_data):
    result = ang.synchronize(ang.read(shared_data / "sensor-patches" / "pacm-eta15-gamma-seed11.npz"))
    quality = assess(result)
    assert quality.heavy_tails
    assert "robust" in advice_on_fit(quality, result)
    assert quality.core_degrees < 0.5 * quality.noise_degrees


def test_a_fit_that_is_not_finished_is_advised_to_go_on():
    data = measured("full", 40, 0.05, seed=5, wrong=60)
    call = {"stopping": ang.Stopping(max_iterations=1), "certify": False, "on_failure": "ignore"}
    result = ang.synchronize(data, start=np.exp(1j * np.linspace(0, 0.5, 40)) * ang.synchronize(data).z, **call)
    assert not result.converged
    quality = assess(result)
    assert quality.heavy_tails
    assert "has not finished" in advice_on_fit(quality, result)


@pytest.mark.parametrize(("kind", "n", "wrong"), [("grid", 8, 9), ("grid", 4, 3), ("full", 8, 3), ("random", 20, 10)])
def test_few_measurements_do_not_vouch_for_each_other(kind, n, wrong):
    """Several wrong ones hide each other: that noise explains them is said, but not that all is well."""
    for seed in range(10):
        data = measured(kind, n, 0.02, seed, wrong=wrong)
        result = ang.synchronize(data, on_failure="ignore")
        quality = assess(result)
        assert judge_fit(result, quality).look != "good"
        if quality.doubt:
            assert "too few measurements check each other" in fit_in_words(quality)


@pytest.mark.parametrize(("kind", "n"), [("full", 30), ("grid", 8), ("full", 10)])
def test_small_noise_is_good_news(kind, n):
    for seed in range(5):
        result = ang.synchronize(measured(kind, n, 0.1, seed))
        assert judge_fit(result, assess(result)).look == "good"


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
def test_angles_at_random_do_not_fit():
    i, j = edges("grid", 20, np.random.default_rng(0))
    data = ang.Measurements(i, j, np.random.default_rng(1).uniform(-np.pi, np.pi, i.size))
    result = ang.synchronize(data, on_failure="ignore")
    quality = assess(result)
    assert judge_fit(result, quality).look == "open"
    assert "turns may be lost" in fit_in_words(quality)
    robust = ang.synchronize(data, solver=ang.Robust(), on_failure="ignore")
    assert robust.robust.credible is False
    assert judge_fit(robust, assess(robust)).look == "none"
    assert "which ones to believe is not known" in fit_in_words(assess(robust))


def test_phases_that_are_not_the_best_say_nothing_about_noise():
    nodes = np.arange(40)
    ring = ang.Measurements(nodes, (nodes + 1) % 40, np.zeros(40))
    twisted = ang.synchronize(ring, start=np.exp(2j * np.pi * nodes / 40), solver=ang.GPM(), on_failure="ignore")
    assert twisted.certificate.verdict is ang.Verdict.REFUTED
    assert "these are not the best phases" in fit_in_words(assess(twisted))
    assert judge_fit(twisted, assess(twisted)).look == "none"
    data = measured("full", 40, 0.1, seed=3)
    short = ang.Stopping(max_iterations=1)
    stopped = ang.synchronize(data, start="random", rng=0, stopping=short, certify=False, on_failure="ignore")
    assert "the solver has not finished" in fit_in_words(assess(stopped))


@pytest.mark.parametrize("turned", [False, True])
def test_copies_check_nothing(turned):
    def twice(i, j, angle):
        back = (j, i, -angle) if turned else (i, j, angle)
        return ang.Measurements(*(np.concatenate(pair) for pair in zip((i, j, angle), back, strict=True)))

    rng = np.random.default_rng(0)
    path = np.arange(19)
    quality = assess(ang.synchronize(twice(path, path + 1, rng.uniform(-3, 3, 19))))
    assert fit_in_words(quality).startswith("19 measurements repeat others exactly")
    assert "cannot be judged" in fit_in_words(quality)
    data = measured("grid", 8, 0.1, seed=4)
    once, both = assess(ang.synchronize(data)), assess(ang.synchronize(twice(data.i, data.j, data.angle)))
    assert both.degrees_of_freedom == pytest.approx(once.degrees_of_freedom)
    assert both.noise_degrees == pytest.approx(once.noise_degrees, rel=1e-6)
    assert both.count == once.count
    # measured twice: an angle of its own each time
    again = twice(data.i, data.j, data.angle)
    again = ang.Measurements(again.i, again.j, again.angle + 0.01 * rng.standard_normal(len(again)))
    assert assess(ang.synchronize(again)).count == 2 * once.count


@pytest.mark.filterwarnings("ignore::angsync.errors.AngsyncWarning")
def test_the_advice_names_what_else_may_be_wrong():
    rng = np.random.default_rng(0)
    data = measured("full", 40, 0.1, seed=3)
    weights = np.where(rng.random(len(data)) < 0.5, 1.0, 100.0)
    result = ang.synchronize(ang.Measurements(data.i, data.j, data.angle, weight=weights))
    quality = assess(result)
    assert "noise and the weights given allow" in fit_in_words(quality)
    assert "1 / variance" in advice_on_fit(quality, result)
    result = ang.synchronize(data, anchors={0: 0.0, 1: 2.5, 2: -2.0}, on_failure="ignore")
    quality = assess(result)
    assert advice_on_fit(quality, result).startswith("Check the anchors and priors first")
