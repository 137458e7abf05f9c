"""The semidefinite relaxation: against CVXPY, its proved bound, tightness, and what the pipeline makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from problems import gaussian

import angsync as ang
from angsync import Verdict
from angsync.certificate.bounds.cholesky import smallest_eigenvalue_bound
from angsync.certificate.relaxation import dual_bound, relax
from angsync.solvers import LowRankSDP
from angsync.solvers.stopping import Clock, Status, Stopping


def solve(C, tolerance=1e-9, **settings):
    return relax(
        ang.as_operator(C),
        ang.eigenvector_estimator(C),
        solver=LowRankSDP(**settings),
        stopping=Stopping(tolerance=tolerance, max_iterations=500),
        clock=Clock(),
        rng=np.random.default_rng(0),
    )


@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize("noise", [0.1, 0.4, 0.7, 1.0])
def test_the_optimum_agrees_with_cvxpy(n, noise):
    import cvxpy

    C = gaussian(n, noise, seed=n)
    X = cvxpy.Variable((n, n), hermitian=True)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.real(cvxpy.trace(C @ X))), [X >> 0, cvxpy.diag(X) == 1])
    problem.solve(solver=cvxpy.SCS, eps_abs=1e-8, eps_rel=1e-8, max_iters=100_000)
    found = solve(C)
    assert found.value == pytest.approx(problem.value, rel=1e-6)
    assert found.upper_bound == pytest.approx(found.value, rel=1e-6)
    assert found.upper_bound >= found.value


@pytest.mark.parametrize("noise", [0.1, 0.5, 0.9])
def test_the_bound_holds_at_any_point_and_is_sharp_at_the_optimum(noise):
    C = gaussian(30, noise)
    operator = ang.as_operator(C)
    best = ang.synchronize(C).objective
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert dual_bound(operator, rng.normal(30, 20, 30)) >= best
    early = solve(C, tolerance=0.3)
    converged = solve(C)
    assert early.upper_bound >= converged.value * (1 - 1e-12)
    assert converged.upper_bound <= early.upper_bound + 1e-9
    assert (converged.upper_bound - converged.value) / converged.value < 1e-6


def test_tight_at_low_noise_and_not_at_high():
    low = solve(gaussian(40, 0.1))
    assert low.tight
    assert np.vdot(low.z, gaussian(40, 0.1) @ low.z).real == pytest.approx(low.value, rel=1e-9)
    assert not solve(gaussian(40, 1.0)).tight


def test_the_smallest_eigenvalue_bound_is_a_bound():
    rng = np.random.default_rng(0)
    for _ in range(40):
        A = rng.standard_normal((15, 15)) + 1j * rng.standard_normal((15, 15))
        A = A + A.conj().T
        true = np.linalg.eigvalsh(A)[0]
        assert true - 0.02 * abs(true) <= smallest_eigenvalue_bound(A) < true
    singular = np.outer(np.ones(9), np.ones(9)).astype(complex)
    assert -1e-12 < smallest_eigenvalue_bound(singular) < 0


def test_as_a_solver_it_reports_tightness_and_uses_its_bound():
    tight = ang.synchronize(gaussian(40, 0.1), solver=LowRankSDP())
    assert tight.certificate.verdict is Verdict.CERTIFIED
    assert "tight (rank one)" in tight.method
    loose = ang.synchronize(gaussian(40, 0.9), solver=LowRankSDP(rank=8))
    assert "LowRankSDP(rank=8)" in loose.method
    assert "not tight" in loose.method
    assert loose.certificate.method.endswith("+relaxation")
    assert loose.history.objective[-1] >= loose.objective  # the history is that of the relaxation


def test_at_high_noise_auto_gives_a_gap_far_below_that_of_the_point_alone():
    C = gaussian(100, 0.7)
    result = ang.synchronize(C)
    alone = ang.certify(C, result.z)
    assert result.certificate.verdict is Verdict.UNDECIDED
    assert "relaxation" in result.method
    assert result.certificate.gap_bound < 0.5 * alone.gap_bound
    # still a bound: nothing that many starts find exceeds it
    best = max(
        ang.synchronize(C, solver=ang.Newton(), start="random", rng=seed, certify=False).objective for seed in range(15)
    )
    assert best <= result.objective + result.certificate.gap_bound


def test_an_interrupt_inside_the_relaxation_keeps_the_answer():
    def callback(progress):
        if progress.iteration == 1:
            raise KeyboardInterrupt

    result = ang.synchronize(gaussian(30, 0.9), solver=LowRankSDP(), callback=callback)
    assert result.status is Status.INTERRUPTED
    assert np.allclose(np.abs(result.z), 1)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales(scale):
    C = gaussian(30, 0.8)
    base, scaled = ang.synchronize(C, solver=LowRankSDP()), ang.synchronize(C * scale, solver=LowRankSDP())
    assert scaled.objective == pytest.approx(base.objective * scale, rel=1e-9)
    assert scaled.certificate.gap_bound == pytest.approx(base.certificate.gap_bound * scale, rel=1e-6)


def test_small_problems():
    assert ang.synchronize([[0, 1j], [-1j, 0]], solver=LowRankSDP()).objective == pytest.approx(2)
    assert ang.synchronize([[3.0]], solver=LowRankSDP()).objective == 3
