"""The certificate: what it proves, what it refutes, and what it leaves open."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import f, ring
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import Verdict, as_operator
from angsync.certificate.certify import certify_component
from angsync.errors import InputError
from angsync.kernels.rounding import gamma
from angsync.problem.intake import normalized
from angsync.problem.operators import CountingOperator
from angsync.solvers.stopping import Clock

TWISTED = np.exp(2j * np.pi * np.arange(30) / 30)


@pytest.mark.parametrize("method", ["auto", "cholesky", "lanczos"])
def test_the_twisted_ring_is_refuted_by_a_better_point(method):
    C = ring(30)
    certificate = ang.certify(C, TWISTED, method=method)
    assert certificate.verdict is Verdict.REFUTED
    assert certificate.lambda_min == pytest.approx(-0.0437, rel=0.03)
    assert f(C, certificate.witness) > f(C, TWISTED) + 1
    assert np.allclose(np.abs(certificate.witness), 1)
    assert f(C, TWISTED) + certificate.gap_bound >= 60


@pytest.mark.parametrize("method", ["auto", "cholesky", "lanczos"])
def test_the_straight_ring_is_certified(method):
    certificate = ang.certify(ring(30), np.ones(30), method=method)
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.unique
    assert certificate.witness is None
    assert 0 < certificate.lambda_2 <= 2 - 2 * np.cos(2 * np.pi / 30) + 1e-12
    assert certificate.method == ("lanczos" if method == "lanczos" else "cholesky")
    assert certificate.confidence == (1 - 1e-10 if method == "lanczos" else 1.0)


def test_lambda_2_zero_does_not_forbid_certification():
    triangle = -(np.ones((3, 3)) - np.eye(3))
    certificate = ang.certify(triangle, np.exp(2j * np.pi * np.arange(3) / 3))
    assert certificate.verdict is Verdict.CERTIFIED
    assert not certificate.unique  # its mirror image is as good
    half_turn = ang.certify(ring(8, np.pi), np.ones(8))  # every edge misses by pi / 8
    assert half_turn.verdict is Verdict.CERTIFIED
    assert not half_turn.unique


def test_signs_of_a_real_triangle_are_refuted():
    triangle = -(np.ones((3, 3)) - np.eye(3))
    certificate = ang.certify(triangle, [1, 1, -1])
    assert certificate.verdict is Verdict.REFUTED
    assert f(triangle, certificate.witness) == pytest.approx(3)


def test_the_second_order_formula_needs_the_complement_of_z():
    # n = 2, C_12 = e^i, z = (1, 1): f* - f = 2 - 2 cos 1 = 0.919. The formula with lambda_2 = 1 + cos 1 would give
    # sqrt(lambda_2^2 + 4 sin^2 1) - lambda_2 = 0.741, which is no bound.
    C = np.array([[0, np.exp(1j)], [np.exp(-1j), 0]])
    gap = 2 - 2 * math.cos(1)
    second = 1 + math.cos(1)
    assert math.hypot(second, 2 * math.sin(1)) - second < gap
    certificate = ang.certify(C, [1, 1])
    assert gap <= certificate.gap_bound <= 1.001 * gap


def test_the_gap_is_second_order_in_the_gradient():
    problem = ang.simulate.gaussian(60, 1.0, rng=0)
    best = ang.synchronize(problem.C, stopping=ang.Stopping(tolerance=1e-14)).z
    direction = np.random.default_rng(0).standard_normal(60)
    gaps = [ang.certify(problem.C, best * np.exp(1j * s * direction)).gap_bound for s in (1e-3, 1e-4)]
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.05)


def test_a_near_point_is_certified_and_a_far_one_refuted():
    problem = ang.simulate.gaussian(60, 1.0, rng=0)
    best = ang.synchronize(problem.C).z
    direction = np.random.default_rng(0).standard_normal(60)
    assert ang.certify(problem.C, best * np.exp(1e-6j * direction)).verdict is Verdict.CERTIFIED
    far = ang.certify(problem.C, best * np.exp(1e-2j * direction))
    assert far.verdict is Verdict.REFUTED
    assert far.unique is False
    assert ang.certify(problem.C, best * np.exp(1e-2j * direction), tolerance=1e-2).verdict is Verdict.CERTIFIED


def test_high_noise_is_left_undecided_with_a_bound():
    problem = ang.simulate.gaussian(80, 0.9 * 80**0.5, rng=1)
    result = ang.synchronize(problem.C)
    certificate = result.certificate
    assert certificate.verdict is Verdict.UNDECIDED
    assert certificate.lambda_min < 0
    assert certificate.witness is None
    largest = np.linalg.eigvalsh(problem.C)[-1]
    assert result.objective < result.objective + certificate.gap_bound
    assert 0.01 < certificate.gap_bound / result.objective < 80 * largest / result.objective


def test_the_scale_is_the_smaller_of_objective_and_misfit():
    # nearly exact data: the misfit, not f, is what "small" means
    problem = ang.simulate.grid(6, 6, 1e-2, rng=0)
    result = ang.synchronize(problem.C)
    misfit = abs(problem.C).sum() - result.objective
    assert result.certificate.scale == pytest.approx(misfit, rel=1e-6)
    assert misfit < 1e-2 < result.objective
    noisy = ang.simulate.gaussian(30, 3.0, rng=0)
    result = ang.synchronize(noisy.C)
    assert result.certificate.scale == pytest.approx(abs(result.objective), rel=1e-12)


def test_exact_data_are_certified_at_the_rounding_level():
    problem = ang.simulate.grid(6, 6, 0.0, rng=0)
    certificate = ang.certify(problem.C, problem.z)
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.scale == pytest.approx(4 * certificate.rounding / certificate.tolerance)
    assert certificate.gap_bound < 1e-10


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e150])
def test_the_certificate_scales_with_the_problem(scale):
    problem = ang.simulate.gaussian(20, 0.5, rng=0)
    z = problem.z
    base, scaled = ang.certify(problem.C, z), ang.certify(problem.C * scale, z)
    assert scaled.verdict is base.verdict
    assert scaled.gap_bound == pytest.approx(base.gap_bound * scale, rel=1e-6)
    assert scaled.lambda_2 == pytest.approx(base.lambda_2 * scale, rel=1e-6)
    assert scaled.relative_gap == pytest.approx(base.relative_gap, rel=1e-6)


def test_a_diagonal_changes_no_gap():
    problem = ang.simulate.gaussian(20, 0.5, rng=0)
    shifted = problem.C + np.diag(np.linspace(-3, 5, 20))
    a, b = ang.certify(problem.C, problem.z), ang.certify(shifted, problem.z)
    assert a.gap_bound == pytest.approx(b.gap_bound, rel=1e-6)
    assert a.lambda_2 == pytest.approx(b.lambda_2, rel=1e-2)  # each is proved with a slack of about 1 %


def test_products_alone_can_be_certified():
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    z = ang.synchronize(problem.C).z
    for method in ("lanczos", "cholesky"):
        assert ang.certify(aslinearoperator(problem.C), z, method=method).verdict is Verdict.CERTIFIED


def test_an_expired_clock_leaves_the_misfit_as_the_bound():
    certificate = ang.certify(ring(30), TWISTED, max_seconds=0.0)
    assert certificate.verdict is Verdict.UNDECIDED
    assert certificate.gap_bound == pytest.approx(60 - f(ring(30), TWISTED), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0}, "tolerance must be positive"),
        ({"tolerance": -1.0}, "tolerance must be positive"),
        ({"method": "qr"}, "'auto', 'cholesky', 'factorization' or 'lanczos'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        ang.certify(ring(5), np.ones(5), **arguments)


@pytest.mark.parametrize(
    ("z", "message"), [(np.ones(4), "length 5"), ([1, 1, 0, 1, 1], r"z\[2\] is 0"), ([1, 1, np.nan, 1, 1], r"z\[2\]")]
)
def test_bad_phases(z, message):
    with pytest.raises(InputError, match=message):
        ang.certify(ring(5), z)


def test_single_precision_phases_are_made_exact_before_the_proof():
    # |z_j| off by 6e-8 would put z off T^n by far more than the proof allows for
    C = np.array([[0, 1], [1, 0]])
    rng = np.random.default_rng(0)
    for _ in range(200):
        z = np.exp(1j * (rng.uniform(0, 6.28) + np.array([0, 4e-4]))).astype(np.complex64)
        certificate = ang.certify(C, z)
        exact = z.astype(complex) / np.abs(z.astype(complex))
        gap = 2 - f(C, exact)
        assert certificate.gap_bound >= gap
        assert certificate.verdict is not Verdict.CERTIFIED


def cube_with_a_pendant(dimension, weight):
    """A hypercube of weak edges with one strong pendant edge, in whose scale their small eigenvalues drown."""
    n = 2**dimension + 1
    j = np.arange(n - 1)
    i = np.concatenate([j[(j >> b) & 1 == 0] for b in range(dimension)])
    k = np.concatenate([j[(j >> b) & 1 == 0] | (1 << b) for b in range(dimension)])
    return ang.Measurements(
        np.append(i, 0), np.append(k, n - 1), np.zeros(i.size + 1), weight=np.append(np.full(i.size, weight), 1.0)
    )


@pytest.mark.parametrize("seed", range(3))
def test_an_almost_invariant_krylov_space_proves_nothing_about_what_it_misses(seed):
    m = cube_with_a_pendant(11, 1e-11)
    z = np.ones(m.n, dtype=complex)
    z[m.n // 2 + 3] = -1  # flipping it back gains 4 * 11 * 1e-11
    certificate = ang.certify(m, z, method="lanczos", rng=seed, max_seconds=20)
    assert certificate.gap_bound >= 4 * 11 * 1e-11
    assert certificate.verdict is not Verdict.CERTIFIED


@pytest.mark.parametrize("size", [1.0, 1e4, 1e9, 1e12])
def test_a_dominant_diagonal_neither_hides_the_optimum_nor_proves_uniqueness(size):
    rng = np.random.default_rng(0)
    for _ in range(10):
        turn = np.exp(2j * np.pi * rng.random(3))
        triangle = -(np.ones((3, 3)) - np.eye(3)) * turn[:, None] * turn.conj()[None, :]
        result = ang.synchronize(triangle + size * np.eye(3))
        assert result.objective == pytest.approx(3 + 3 * size, rel=1e-12)
        assert ang.certify(triangle, result.z).verdict is Verdict.CERTIFIED
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert not result.certificate.unique  # the mirror image is as good


def test_a_large_diagonal_leaves_the_answer_alone():
    problem = ang.simulate.gaussian(40, 1.0, rng=0)
    base = ang.synchronize(problem.C)
    seen = []
    shifted = ang.synchronize(problem.C + 1e12 * np.eye(40), callback=lambda p: seen.append(p.objective))
    assert ang.distance(base.z, shifted.z) < 1e-5  # C + 1e12 I itself is rounded to 1e-4
    assert shifted.certificate.verdict is Verdict.CERTIFIED
    assert seen[-1] == pytest.approx(shifted.objective, rel=1e-12)
    assert shifted.history.objective[-1] == pytest.approx(shifted.objective, rel=1e-12)


def test_a_negative_diagonal_does_not_enter_the_misfit():
    C = ang.simulate.ring(8, 0.3, rng=0).C.toarray()
    result, shifted = ang.synchronize(C), ang.synchronize(C - 0.5 * np.eye(8))
    assert shifted.certificate.scale == pytest.approx(result.certificate.scale, rel=1e-6)


def test_a_product_that_is_known_is_not_made_again_and_its_rounding_counts():
    n = 450
    C = ang.simulate.gaussian(n, 3.0, rng=0).C
    z = ang.synchronize(C, certify=False).z
    part = normalized(as_operator(C))
    counting = CountingOperator(part)
    phase = np.exp(0.7j)
    product = part.apply(z * phase) * np.conj(phase)
    options = {"tolerance": 1e-8, "method": "cholesky", "clock": Clock(), "rng": np.random.default_rng(0)}
    anew = certify_component(counting, z, **options)
    products = counting.products
    known = certify_component(counting, z, turned_product=product, **options)
    assert products == 1
    assert counting.products == products
    assert known.verdict is anew.verdict is Verdict.CERTIFIED
    assert known.rounding > anew.rounding  # the turning adds its own
    assert known.lambda_2 == pytest.approx(anew.lambda_2, rel=1e-9)


def test_a_wrong_product_is_not_hidden():
    # the gap is computed from the product given: one that belongs to another point cannot certify this one
    n = 450
    C = ang.simulate.gaussian(n, 3.0, rng=0).C
    z = ang.synchronize(C, certify=False).z
    part = normalized(as_operator(C))
    other = z * np.exp(0.1j * np.random.default_rng(1).standard_normal(n))
    options = {"tolerance": 1e-8, "method": "cholesky", "clock": Clock(), "rng": np.random.default_rng(0)}
    assert certify_component(part, z, turned_product=part.apply(other), **options).verdict is not Verdict.CERTIFIED


@pytest.mark.parametrize("outlier", [0.0, -0.5, -5.0, -50.0])
@pytest.mark.parametrize("n", [250, 700])
def test_the_rounding_allowed_for_products_covers_the_norm_of_the_operator(n, outlier):
    # the norm of C is far from that of C z where C has a large negative eigenvalue
    problem = ang.simulate.gaussian(n, 1.0, rng=3)
    w = np.exp(2j * np.pi * np.random.default_rng(1).random(n))
    C = problem.C + outlier * np.outer(w, w.conj())
    C = (C + C.conj().T) / 2
    certificate = ang.certify(aslinearoperator(C), problem.z, method="lanczos")
    unit = math.sqrt(2) * gamma(2 * n + 8)
    true = float(np.abs(np.linalg.eigvalsh(C)).max())
    # at most three times: the phases s, the ends of S and the gradient are added up
    assert unit * n * true <= certificate.rounding <= 3.2 * unit * n * true


@pytest.mark.parametrize("n", [50, 30_000])
def test_the_optimum_of_a_tree_is_unique_whatever_its_size(n):
    rng = np.random.default_rng(0)
    k = np.arange(1, n)
    path = ang.Measurements(k, k - 1, rng.normal(0, 1, n - 1), weight=rng.uniform(0.5, 2, n - 1))
    certificate = ang.synchronize(path).certificate
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.unique
    assert certificate.confidence == 1
    # a point that is not the optimum is not certified, however unique the optimum is
    moved = ang.certify(path.to_sparse(), ang.synchronize(path).z * np.exp(0.1j * (k[-1] // 2 > np.arange(n))))
    assert moved.verdict is not Verdict.CERTIFIED


def test_the_optimum_of_a_ring_that_closes_badly_is_not_unique():
    ring = ang.simulate.ring(30, 0.0, holonomy=np.pi, rng=0)
    assert not ang.synchronize(ring.C, on_failure="ignore").certificate.unique
