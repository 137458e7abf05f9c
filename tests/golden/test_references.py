"""Agreement with references that are not ours: pymanopt, CVXPY, closed forms, brute force."""

from __future__ import annotations

import numpy as np
import pytest
from problems import f, random_tree

import angsync as ang
from angsync import Verdict


def trust_regions(C, start):
    """pymanopt's Riemannian trust regions on the complex circle, started at ``start``."""
    import pymanopt
    from pymanopt.manifolds import ComplexCircle
    from pymanopt.optimizers import TrustRegions

    manifold = ComplexCircle(C.shape[0])

    @pymanopt.function.numpy(manifold)
    def cost(z):
        return -f(C, z)

    @pymanopt.function.numpy(manifold)
    def euclidean_gradient(z):
        return -2 * (C @ z)

    @pymanopt.function.numpy(manifold)
    def euclidean_hessian(z, w):
        return -2 * (C @ w)

    problem = pymanopt.Problem(
        manifold, cost, euclidean_gradient=euclidean_gradient, euclidean_hessian=euclidean_hessian
    )
    optimizer = TrustRegions(verbosity=0, min_gradient_norm=1e-8 * np.abs(C).sum() / C.shape[0], max_iterations=500)
    return optimizer.run(problem, initial_point=start).point


@pytest.mark.parametrize("case", range(50))
def test_objective_agrees_with_pymanopt_started_at_the_same_point(case):
    rng = np.random.default_rng(case)
    n = int(np.geomspace(5, 300, 50)[case])
    sigma = 0.3 * np.sqrt(n) * (case % 10) / 9
    C = ang.simulate.gaussian(n, sigma, rng=rng).C
    start = ang.eigenvector_estimator(C)
    result = ang.synchronize(C, start=start)
    theirs = f(C, trust_regions(C, start))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_objective_agrees_with_the_semidefinite_relaxation_where_it_is_tight(seed, noise):
    import cvxpy

    n = 20
    C = ang.simulate.gaussian(n, noise * np.sqrt(n), rng=seed).C
    X = cvxpy.Variable((n, n), hermitian=True)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.real(cvxpy.trace(C @ X))), [X >> 0, cvxpy.diag(X) == 1])
    # a first-order solver: interior points stop near 1e-7 here, because the optimum is of rank one
    problem.solve(solver=cvxpy.SCS, eps_abs=1e-9, eps_rel=1e-9, max_iters=100_000)
    eigenvalues = np.linalg.eigvalsh(X.value)
    assert eigenvalues[-2] < 1e-6 * eigenvalues[-1]  # tight: rank one
    result = ang.synchronize(C)
    assert result.objective == pytest.approx(problem.value, rel=1e-7)
    assert result.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("n", [2, 3, 10, 200, 1500])
def test_a_tree_is_solved_exactly(n):
    rng = np.random.default_rng(n)
    i, j = random_tree(n, rng)
    weight = rng.exponential(1, n - 1)
    angle = rng.uniform(-np.pi, np.pi, n - 1)
    result = ang.synchronize(ang.Measurements(i, j, angle, weight=weight))
    assert result.objective == pytest.approx(2 * weight.sum(), rel=1e-12)
    assert np.abs(result.edge_residuals().wrapped).max() < 1e-9
    assert result.certificate.verdict is Verdict.CERTIFIED


def test_a_long_path_is_solved_exactly():
    n = 400
    angle = np.random.default_rng(0).uniform(-np.pi, np.pi, n - 1)
    result = ang.synchronize(ang.Measurements(np.arange(1, n), np.arange(n - 1), angle))
    expected = np.exp(1j * np.concatenate([[0], np.cumsum(angle)]))
    assert ang.distance(result.z, expected, np.inf) < 1e-9
    assert result.certificate.verdict is Verdict.CERTIFIED


def test_a_lollipop_whose_eigenvector_is_localized_is_solved_exactly():
    # a clique of 30 with a tail of 60: the leading eigenvector decays below rounding along the tail
    clique = np.triu_indices(30, 1)
    tail = np.arange(29, 89)
    i, j = np.concatenate([clique[0], tail]), np.concatenate([clique[1], tail + 1])
    truth = np.exp(2j * np.pi * np.random.default_rng(0).random(90))
    result = ang.synchronize(ang.Measurements(i, j, np.angle(truth[i] * truth[j].conj())))
    assert ang.distance(result.z, truth, np.inf) < 1e-7
    assert result.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("n", [3, 4, 7, 30, 101])
@pytest.mark.parametrize("holonomy", [0.0, 0.3, -1.0, 2.5, 3.1, -3.1, np.pi])
def test_a_ring_with_holonomy_has_its_closed_form(n, holonomy):
    problem = ang.simulate.ring(n, holonomy=holonomy, rng=n)
    result = ang.synchronize(problem.C)
    assert result.objective == pytest.approx(2 * n * np.cos(holonomy / n), rel=1e-10)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.unique == (abs(holonomy) < np.pi)


@pytest.mark.parametrize("seed", range(15))
def test_brute_force_at_three_nodes(seed):
    rng = np.random.default_rng(seed)
    C = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    C = C + C.conj().T
    grid = np.exp(1j * np.linspace(0, 2 * np.pi, 1201))
    # f(1, a, b) = trace + 2 Re(C_12 a + C_13 b + conj(a) C_23 b)
    values = np.trace(C).real + 2 * np.real(
        C[0, 1] * grid[:, None] + C[0, 2] * grid[None, :] + C[1, 2] * np.conj(grid)[:, None] * grid[None, :]
    )
    result = ang.synchronize(C)
    # the grid misses the optimum by at most half a step h in both angles: |f''| <= 4 sum |C| gives 2 h^2 sum |C|
    miss = 2 * (2 * np.pi / 1200 / 2) ** 2 * np.abs(C).sum()
    assert values.max() - 1e-9 <= result.objective <= values.max() + miss


def test_two_nodes_closed_form():
    C = np.array([[1.0, 3 * np.exp(0.4j)], [3 * np.exp(-0.4j), -2.0]])
    result = ang.synchronize(C)
    assert result.objective == pytest.approx(1 - 2 + 6)
    assert result.angles == pytest.approx([0, -0.4])


def test_the_twisted_state_of_the_ring_of_thirty():
    ring = ang.simulate.ring(30, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    certificate = ang.certify(ring.C, twisted)
    assert certificate.verdict is Verdict.REFUTED
    assert f(ring.C, certificate.witness) > f(ring.C, twisted)
    # lambda_min(S) = 2 cos(2 pi / 30) - 2 exactly: -0.0437
    assert certificate.lambda_min == pytest.approx(2 * np.cos(2 * np.pi / 30) - 2, rel=0.02)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.objective == pytest.approx(60, rel=1e-12)
    assert result.certificate.verdict is Verdict.CERTIFIED
