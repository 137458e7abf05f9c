"""The accelerated power method: the same optimum as the literal one or a better one, and never downhill."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError
from angsync.problem.operators import DenseOperator, as_operator
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Status
from angsync.testing import check_solver


def test_it_is_a_solver():
    check_solver(ang.AcceleratedGPM())


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("n", [60, 200])
def test_it_ends_where_the_literal_method_ends_or_higher(n, share):
    problem = ang.simulate.gaussian(n, share * n**0.5, rng=1)
    fast = ang.synchronize(problem.C, solver=ang.AcceleratedGPM(), certify=False)
    literal = ang.synchronize(problem.C, solver=ang.GPM(alpha=4.0), certify=False)
    assert fast.converged
    assert fast.objective >= literal.objective * (1 - 1e-14)
    assert fast.residual <= 1e-10
    assert (np.diff(fast.history.objective) >= -1e-12 * fast.objective).all()


def test_it_is_the_default_for_dense_problems_and_agrees_with_products_of_c_alone(monkeypatch):
    n = 450  # large enough for a narrow copy
    C = ang.simulate.gaussian(n, 3.0, rng=0).C
    result = ang.synchronize(C)
    assert "AcceleratedGPM" in result.method
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    monkeypatch.setattr(DenseOperator, "narrow", None)
    exact = ang.synchronize(C)
    assert exact.objective == pytest.approx(result.objective, rel=1e-14)
    assert ang.distance(exact.z, result.z) < 1e-8


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.7])
def test_full_products_are_few_and_each_one_is_better(share):
    n = 500
    C = ang.simulate.gaussian(n, share * n**0.5, rng=3).C
    result = ang.synchronize(C, certify=False, solver=ang.AcceleratedGPM(starts=1))
    assert result.converged
    assert (np.diff(result.history.objective) >= -1e-13 * result.objective).all()
    assert result.residual <= 1e-10
    literal = ang.synchronize(C, certify=False, solver=ang.GPM(alpha=4.0), stopping=ang.Stopping(max_iterations=5000))
    assert result.objective >= literal.objective * (1 - 1e-13)


def test_a_tolerance_below_the_usual_one_is_met():
    C = ang.simulate.gaussian(450, 3.0, rng=0).C
    result = ang.synchronize(C, certify=False, stopping=ang.Stopping(tolerance=2e-14))
    assert result.converged
    assert result.residual <= 2e-14


def test_where_the_power_method_goes_down_newton_takes_over():
    # a large negative diagonal changes nothing but the power method, whose steps are then far too long
    n = 420
    C = ang.simulate.gaussian(n, 3.0, rng=0).C
    shifted = as_operator(C - 2 * n * np.eye(n))
    solver = ang.AcceleratedGPM()
    z = np.exp(1j * np.angle(C[:, 0]))
    outcome = iterate(shifted, solver, z, ang.Stopping())
    assert outcome.status is Status.CONVERGED
    assert outcome.objective + 2 * n * n == pytest.approx(ang.synchronize(C).objective, rel=1e-12)


def test_an_ill_conditioned_dense_problem_is_finished_with_c_itself():
    # a strip of a grid stored dense: the Hessian has eigenvalues far below the error of a narrow product
    i, j = np.triu_indices(300, 1)
    near = j - i <= 25
    truth = np.exp(2j * np.pi * np.random.default_rng(0).random(300))
    noise = 0.2 * np.random.default_rng(1).standard_normal(near.sum())
    C = np.zeros((300, 300), dtype=complex)
    C[i[near], j[near]] = truth[i[near]] * truth[j[near]].conj() * np.exp(1j * noise)
    C = C + C.conj().T
    result = ang.synchronize(C)
    assert "AcceleratedGPM" in result.method
    assert result.converged
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


def test_without_compiled_kernels_it_does_the_same():
    code = (
        "import angsync as ang\n"
        "from angsync import kernels\n"
        "result = ang.synchronize(ang.simulate.gaussian(120, 2.0, rng=0).C)\n"
        "print(repr(result.objective), result.certificate.verdict.name, kernels.name)\n"
    )

    def run(choice):
        environment = {**os.environ, "ANGSYNC_KERNELS": choice}
        done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
        return done.stdout.split()

    plain, usual = run("numpy"), run("")
    assert float(plain[0]) == pytest.approx(float(usual[0]), rel=1e-13)
    assert plain[1] == usual[1] == "CERTIFIED"
    assert plain[2] == "NumPy"


def test_the_certificate_from_the_narrow_copy_claims_no_more_than_the_truth():
    # above n = 200 the default proof is Lanczos, from n = 400 on with the narrow copy where there is one
    n = 1040
    C = ang.simulate.gaussian(n, 0.25 * n**0.5, rng=0).C
    result = ang.synchronize(C)
    certificate = result.certificate
    assert certificate.verdict is ang.Verdict.CERTIFIED
    assert certificate.method == "lanczos"
    s = np.real(np.conj(result.z) * (C @ result.z))
    eigenvalues = np.linalg.eigvalsh(np.diag(s) - C)
    assert 0 < certificate.lambda_2 <= eigenvalues[1]


def test_settings_are_checked():
    with pytest.raises(InputError, match="max_inner"):
        ang.AcceleratedGPM(max_inner=0)
