"""The paper's statements as functions: constants by hand, both sides of every threshold, and the small print."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync import theory
from angsync.theory import Condition, Conditions


def test_conditions_say_which_one_fails():
    good, bad = Condition("a", 1, 2, "<="), Condition("b", 3.0, 2.0, "<")
    both = Conditions("Theorem 0", (good, bad))
    assert not both.hold
    assert both.failing == (bad,)
    assert "b: 3 < 2 FAILS" in str(both)
    assert str(Conditions("Theorem 0", (good,))) == "Theorem 0: applies"
    assert not Condition("c", math.nan, 1.0, "<=").holds
    assert Condition("d", 2.0, 2.0, ">=").holds
    assert not Condition("e", 2.0, 2.0, "<").holds


def test_facts_1_and_3():
    assert theory.eigenvector_error_bound(100, 5.0).bound == pytest.approx(4.0)
    assert theory.maximizer_error_bound(100, 5.0).bound == pytest.approx(2.0)
    assert theory.eigenvector_error_bound(100, 5.0).conditions.hold


def test_fact_2_gives_ratios_and_no_verdict():
    ratios = theory.convergence_ratios(1000, 50.0, 30.0)
    assert ratios.op_ratio == pytest.approx(0.5)
    assert ratios.noise_inf_ratio == pytest.approx(30 / (100 * math.sqrt(math.log(1000))))
    assert ratios.largest_alpha == 20
    assert not hasattr(ratios, "conditions")


@pytest.mark.parametrize(("op", "holds"), [(10.0, True), (10.001, False)])
def test_fact_4_threshold(op, holds):
    bounds = theory.critical_point_bounds(160, op)
    assert bounds.conditions.hold is holds
    assert bounds.overlap == pytest.approx(160 - 4 * op)
    assert bounds.distance == pytest.approx(math.sqrt(8 * op))


def test_theorem_1_constants():
    # alpha = 4, op = n/16: mu = 16 (n/4 + n) / (36 n) = 5/9, nu = 2/9, plateau 1/2 of 8 op / sqrt n = 4 op / sqrt n
    bound = theory.l2_error_bound(256, 4.0, 16.0, iterations=3)
    assert bound.mu == pytest.approx(5 / 9)
    assert bound.nu == pytest.approx(2 / 9)
    assert bound.limit == pytest.approx(4 * 16 / 16)
    assert bound.bounds == pytest.approx([8, 8 * 5 / 9 + 4, 8 * (5 / 9) ** 2 + 4, 8 * (5 / 9) ** 3 + 4])
    assert bound.conditions.hold
    given = theory.l2_error_bound(256, 4.0, 16.0, iterations=1, start_error=1.0)
    assert given.bounds == pytest.approx([1, 5 / 9 + 4])
    # alpha = inf as in the text after the theorem: ((1/7)^(k+1) + 1/3) 8 op / sqrt n
    power = theory.l2_error_bound(256, math.inf, 16.0, iterations=2)
    assert power.mu == pytest.approx(1 / 7)
    assert power.bounds[1:] == pytest.approx([(1 / 7 + 1 / 3) * 8, (1 / 49 + 1 / 3) * 8])
    assert theory.l2_error_bound(256, 1e9, 16.0).bounds == pytest.approx(
        theory.l2_error_bound(256, math.inf, 16.0).bounds
    )


@pytest.mark.parametrize(
    ("alpha", "op", "holds", "name"),
    [(2.0, 16.0, True, ""), (1.99, 16.0, False, "alpha >= 2"), (2.0, 16.1, False, "op <= n/16")],
)
def test_theorems_1_and_2_thresholds(alpha, op, holds, name):
    for bound in (theory.l2_error_bound(256, alpha, op), theory.linf_error_bound(256, alpha, op, 1.0)):
        assert bound.conditions.hold is holds
        assert [c.name for c in bound.conditions.failing] == ([name] if name else [])


def test_theorem_2_is_the_recursion_of_its_proof():
    n, alpha, op, noise_inf = 400, 3.0, 20.0, 9.0
    bound = theory.linf_error_bound(n, alpha, op, noise_inf, iterations=6, start_error=0.7)
    l2 = theory.l2_error_bound(n, alpha, op)
    gamma, zeta = 16 / (7 * alpha + 8), 128 * alpha * op**2 / ((7 * alpha + 8) * n**1.5)
    omega = 16 * alpha / (7 * alpha + 8) * (l2.nu / (1 - l2.mu) * 8 * op**2 / n**1.5 + noise_inf / n)
    assert (bound.gamma, bound.zeta, bound.omega) == pytest.approx((gamma, zeta, omega))
    expected = [gamma ** (k + 1) * 0.7 + zeta * l2.mu**k / (1 - gamma / l2.mu) + omega / (1 - gamma) for k in range(6)]
    assert bound.bounds[1:] == pytest.approx(expected)
    assert theory.linf_error_bound(n, 1e9, op, noise_inf).bounds == pytest.approx(
        theory.linf_error_bound(n, math.inf, op, noise_inf).bounds, rel=1e-6
    )


@pytest.mark.parametrize("alpha", [2.0, 4.0, math.inf])
def test_theorem_2_without_noise_is_not_0_over_0(alpha):
    bound = theory.linf_error_bound(100, alpha, 0.0, 0.0, iterations=3, start_error=0.0)
    assert bound.bounds.tolist() == [0, 0, 0, 0]
    assert bound.limit == 0


def test_proposition_1_holds_and_is_not_vacuous():
    rng = np.random.default_rng(0)
    tightest = 0.0
    for _ in range(500):
        n = int(rng.integers(1, 8))
        z = np.exp(1j * rng.uniform(0, 6.28, n))
        w = z + rng.exponential(0.5) * (rng.standard_normal(n) + 1j * rng.standard_normal(n))
        w[rng.random(n) < 0.1] = 0
        for q in (1, 1.5, 2, 3, np.inf):
            inequality = theory.normalization_bound(w, z, q)
            assert inequality.holds
            tightest = max(tightest, inequality.left / inequality.right)
    assert tightest > 0.8


def test_an_inequality_can_fail():
    assert not theory.Inequality(1.0, 0.999).holds
    assert theory.Inequality(1.0, 1.0).holds


@pytest.mark.parametrize("q", [1, 1.5, 2, 3, np.inf])
def test_proposition_2_identity_and_bound(q):
    rng = np.random.default_rng(1)
    for _ in range(10):
        problem = ang.simulate.gaussian(12, rng.uniform(0, 1), rng=rng)
        z = problem.z * np.exp(1j * rng.normal(0, 0.4, 12))
        for r in (None, 0.0, 0.3 - 0.2j):
            step = theory.one_step_bound(problem.noise, problem.z, z, alpha=rng.uniform(0.5, 20), q=q, r=r)
            assert step.identity_error < 1e-13
            assert step.inequality.holds


def test_corollary_1_follows_from_the_theorems():
    # op = 3 sigma sqrt n, |Delta z*|_inf = 3 sigma sqrt(n log n) at sigma = sqrt(n)/48: the theorems give at most this
    n = 2304
    sigma = math.sqrt(n) / 48
    for alpha in (2.0, 4.0, 16.0, math.inf):
        found = theory.gaussian_error_bounds(n, sigma, alpha, iterations=5, start_l2=3.0, start_linf=0.5)
        op, noise_inf = 3 * sigma * math.sqrt(n), 3 * sigma * math.sqrt(n * math.log(n))
        l2 = theory.l2_error_bound(n, alpha, op, 5, start_error=3.0)
        linf = theory.linf_error_bound(n, alpha, op, noise_inf, 5, start_error=0.5)
        assert found.l2 == pytest.approx(l2.bounds)
        assert (found.linf >= linf.bounds - 1e-12).all()
        assert found.linf[-1] == pytest.approx(linf.bounds[-1], rel=1e-9) or alpha < 1e9
        assert found.conditions.hold


def test_corollary_1_as_printed_is_smaller_than_what_theorem_2_yields():
    found = theory.gaussian_error_bounds(1000, 0.5, 2.0, iterations=200)
    tail = found.linf[-1], found.linf_as_printed[-1]
    assert tail[0] / tail[1] == pytest.approx(16 / (96 / 22))  # 48 alpha / (7 alpha -+ 8) at alpha = 2


def test_the_expected_square_does_not_vanish_with_sigma():
    n = 100
    found = theory.gaussian_error_bounds(n, 1e-9, 4.0)
    assert found.probability == pytest.approx(1 - 2 * n**-1.25 - 2 * math.exp(-n / 2))
    assert found.expected_square[-1] == pytest.approx((1 - found.probability) * 2 * n)
    assert not theory.gaussian_error_bounds(n, 0.3, 4.0).conditions.hold


def test_theorem_3_constants():
    n, alpha, op = 10_000, 4.0, 3.0
    found = theory.linear_convergence(n, alpha, op, 100.0)
    assert found.conditions.hold
    assert found.constants.a0 == pytest.approx(n / 4 - 3)
    assert (found.constants.a1, found.constants.a2) == pytest.approx((3 * n, 1.5 * n**1.25))
    ratio = 64 * found.constants.a1 * found.constants.a2**2 / (found.constants.a0 * n**2)
    assert found.rate == pytest.approx((ratio - 1) / ratio, rel=1e-14)
    assert 0 < found.rate < 1
    assert found.factor == pytest.approx(math.sqrt(64 * found.constants.a2**2 / (found.constants.a0 * n**2)))
    assert found.objective_bounds(2.0, 2) == pytest.approx([2, 2 * found.rate, 2 * found.rate**2])
    assert found.distance_bounds(4.0, 1) == pytest.approx([2 * found.factor, 2 * found.factor * found.rate**0.5])
    exact = theory.linear_convergence(n, alpha, op, 100.0, smallest_noise_eigenvalue=-1.0)
    assert exact.constants.a0 == pytest.approx(n / 4 - 1)
    assert theory.linear_convergence(n, math.inf, op, 100.0).rate == 1.0


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"op": 10_000**0.75 / 312 * 1.001}, "op <= n^(3/4)/312"),
        ({"noise_inf": 10_000 / 24 * 1.001}, "|Delta z*|_inf <= n/24"),
        ({"alpha": 3.999}, "alpha >= 4"),
        ({"alpha": 10_000 / 3.0}, "alpha < n/op"),
    ],
)
def test_theorem_3_thresholds(change, name):
    settings = {"n": 10_000, "alpha": 4.0, "op": 3.0, "noise_inf": 100.0}
    assert theory.linear_convergence(**settings).conditions.hold
    failing = theory.linear_convergence(**(settings | change)).conditions.failing
    assert [c.name for c in failing] == [name]


def test_propositions_3_and_4():
    third = theory.optimum_distance_bound(10_000, 4.0, 5.0, 3.0, 100.0, 40.0)
    assert third.bound == pytest.approx(8 * 5 / 10_000)
    assert third.conditions.hold
    assert not theory.optimum_distance_bound(10_000, 4.0, 5.0, 3.0, 100.0, 51.0).conditions.hold
    limit = 10_000 ** (2 / 3) / 32768
    assert theory.critical_distance_bound(10_000, 4.0, 5.0, limit, 100.0, 40.0).conditions.hold
    assert not theory.critical_distance_bound(10_000, 4.0, 5.0, 1.01 * limit, 100.0, 40.0).conditions.hold


@pytest.mark.parametrize(
    ("sigma", "alpha", "holds"), [(0.0106, 4.0, True), (0.0107, 4.0, False), (0.01, 3.9, False), (0.01, 3120.1, False)]
)
def test_corollary_2_thresholds(sigma, alpha, holds):
    # n = 10^4: n^(1/4)/936 = 0.010684, 312 n^(1/4) = 3120
    assert theory.gaussian_linear_convergence(10_000, sigma, alpha).hold is holds


@pytest.mark.parametrize("n", [40, 400])
def test_noise_norms(n):
    problem = ang.simulate.gaussian(n, 1.0, rng=0)
    op, noise_inf = theory.noise_norms(problem.noise, problem.z)
    assert op == pytest.approx(np.linalg.norm(problem.noise, 2), rel=1e-8)
    assert noise_inf == pytest.approx(np.abs(problem.noise @ problem.z).max())
    low, high = theory.noise_extremes(problem.noise)
    assert (low, high) == pytest.approx((np.linalg.eigvalsh(problem.noise)[0], np.linalg.eigvalsh(problem.noise)[-1]))


def test_every_row_of_the_table_is_a_function():
    rows = [line.split() for line in theory.__doc__.splitlines() if ":func:" in line]
    assert [row[0] for row in rows] == [
        "F1", "F2", "F3", "F4", "P1", "P2", "T1", "T2", "C1", "P3", "P4", "P5", "T3", "C2", "B1",
    ]  # fmt: skip
    for row in rows:
        assert callable(getattr(theory, row[1].removeprefix(":func:").strip("`")))


def test_a_report_on_a_simulated_problem():
    problem = ang.simulate.gaussian(300, 0.02 * 300**0.5, rng=0)
    result = ang.synchronize(problem.C)
    found = theory.report(problem, result)
    op, _ = theory.noise_norms(problem.noise, problem.z)
    error = ang.distance(result.z, problem.z)
    assert found["Fact 3"].value == pytest.approx(4 * op / math.sqrt(300))
    assert found["Theorem 1"].applies
    assert found["Theorem 1"].measured == pytest.approx(error)
    for name in ("Fact 3", "Theorem 1", "Theorem 2"):
        assert found[name].measured <= found[name].value
    assert not found["Theorem 3"].applies
    assert "does not apply" in str(found["Theorem 3"])
    assert "op <= n^(3/4)/312" in str(found)
    assert "CERTIFIED" in found.certificate
    assert not any(line.estimated for line in found.lines)
    with pytest.raises(KeyError):
        found["Theorem 9"]


def test_a_report_on_data_is_marked_as_an_estimate():
    problem = ang.simulate.gaussian(200, 1.0, rng=0)
    result = ang.synchronize(problem.C)
    found = theory.report(None, result)
    # sigma from 19900 pairs: relative error 0.5 %
    assert found["noise"].value == pytest.approx(1.0, rel=0.03)
    assert found["noise"].estimated
    assert found["Proposition 3"].estimated
    assert found["rho"].value == pytest.approx(result.rho(4.0))
    assert not found["rho"].estimated
    assert "needs no assumption" in str(found)


def test_a_report_needs_dense_noise():
    problem = ang.simulate.ring(5, 0.1, rng=0)
    with pytest.raises(ang.errors.InputError, match="dense noise"):
        theory.report(problem, ang.synchronize(problem.C))


def test_efficiency_of_every_iterate():
    # paired over the same draws, so that the comparison of iterates is much sharper than each mean
    found = theory.efficiency(150, 0.2 * 150**0.5, iterations=6, runs=30, rng=0)
    assert found.ratios.shape == found.standard_errors.shape == (8,)
    assert found.cramer_rao == pytest.approx(0.04 * 150 / 2 * 149 / 150)
    # d_2^2 sums 149 squares: relative standard error sqrt(2 / (149 * 30)) = 2.1 %, five of them, about 1.04
    assert found.limit == pytest.approx(1.04, abs=0.11)
    assert found.standard_errors.max() < 0.06
    assert found.eigenvector > found.limit
    assert found.ratios[-2] == pytest.approx(found.limit, rel=0.01)
    again = theory.efficiency(150, 0.2 * 150**0.5, iterations=6, runs=30, rng=0)
    assert np.array_equal(found.ratios, again.ratios)


@pytest.mark.parametrize(("settings", "message"), [({"runs": 1}, "runs"), ({"sigma": 0.0}, "sigma")])
def test_efficiency_refuses_what_it_cannot_measure(settings, message):
    with pytest.raises(ang.errors.InputError, match=message):
        theory.efficiency(**({"n": 10, "sigma": 1.0} | settings))


def test_the_cramer_rao_bound_in_any_gauge():
    m = ang.Measurements([0, 1, 2], [1, 2, 0], [0.0, 0.0, 0.0], weight=[1.0, 2.0, 4.0])
    L = np.array([[5.0, -1, -4], [-1, 3, -2], [-4, -2, 6]])
    assert theory.cramer_rao_bound(m, 0.5) == pytest.approx(0.25 * np.trace(np.linalg.pinv(L)))
    grounded = np.linalg.inv(L[np.ix_([0, 2], [0, 2])])
    assert theory.cramer_rao_variances(m, 0.5, reference=1) == pytest.approx(
        0.25 * np.array([grounded[0, 0], 0, grounded[1, 1]])
    )
    assert theory.cramer_rao_bound(m, 0.5, reference=1) == pytest.approx(0.25 * np.trace(grounded))
    with pytest.raises(ang.errors.InputError, match="reference"):
        theory.cramer_rao_variances(m, 0.5, reference=3)
    with pytest.raises(ang.errors.InputError, match="sigma"):
        theory.cramer_rao_bound(m, -1.0)
