"""A sparse factorization of S without one node: proved, close to the truth, with or without weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse
from problems import path

import angsync as ang
from angsync import Verdict
from angsync.certificate.bounds import factorization
from angsync.certificate.bounds.bound import Question
from angsync.certificate.bounds.factorization import by_affordable_factorization, by_factorization, can_factorize
from angsync.problem.operators import as_operator
from angsync.problem.residual import along_and_across
from angsync.solvers.stopping import Clock

NEVER = lambda bound: False  # noqa: E731
ALWAYS = lambda bound: True  # noqa: E731


def factorization_bound(operator, z, s, is_proof):
    return by_factorization(
        Question(operator, z, s, np.zeros(z.size), 0.0, np.random.default_rng(0), is_proof, Clock())
    )


def s_of(C, z):
    return along_and_across(z, C @ z)[0]


@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_the_path_has_its_known_second_eigenvalue(n):
    C = path(np.ones(n - 1))
    bound = factorization_bound(as_operator(C), np.ones(n, dtype=complex), s_of(C, np.ones(n)), ALWAYS)
    true = 2 - 2 * math.cos(math.pi / n)
    # k nodes beyond the one that is held, at one end of them, have 2 - 2 cos(pi / (2 k + 1)): all n - 1 at the worst
    held = 2 - 2 * math.cos(math.pi / (2 * n - 1))
    assert 0.4 * held <= bound.value <= true  # a shift of half the estimate at least
    assert bound.about == "second_eigenvalue"
    assert bound.confidence == 1.0


def test_the_bound_is_below_eigvalsh_and_close_to_it():
    for seed in range(10):
        grid = ang.simulate.grid(7, 8, 0.3, rng=seed)
        z = ang.synchronize(grid.C, certify=False).z
        s = s_of(grid.C, z)
        bound = factorization_bound(as_operator(grid.C), z, s, ALWAYS)
        S = np.diag(s) - grid.C.toarray()
        # without one node, whichever it is
        held = [np.linalg.eigvalsh(np.delete(np.delete(S, r, 0), r, 1))[0] for r in range(56)]
        assert 0.85 * min(held) <= bound.value <= max(held)
        assert bound.value <= np.linalg.eigvalsh(S)[1] * (1 + 1e-12)


def test_a_twisted_ring_proves_nothing_and_gives_a_way_out():
    ring = ang.simulate.ring(12, 0.0, rng=0).C
    z = ang.simulate.ring(12, 0.0, rng=0).z * np.exp(2j * np.pi * np.arange(12) / 12)
    s = s_of(ring, z)
    bound = factorization_bound(as_operator(ring), z, s, NEVER)
    assert bound.value == -math.inf
    assert bound.estimate < 0
    v = bound.direction  # z is critical: what is taken off to make v orthogonal to it changes nothing
    assert np.vdot(v, s * v - ring @ v).real == pytest.approx(bound.estimate, rel=1e-9)
    assert abs(np.vdot(z, v)) < 1e-12


def test_off_the_optimum_a_positive_curvature_is_not_taken_for_a_negative_one():
    # z is moved along the softest mode, so that Su is far from 0: the inverse, deflated by u, has an eigenvalue of the
    # wrong sign there, but S has a second eigenvalue of 0.054 all the same and the gap stays second order.
    grid = ang.simulate.grid(12, 12, 0.3, rng=0)
    optimum = ang.synchronize(grid.C).z
    S = np.diag(s_of(grid.C, optimum)) - grid.C.toarray()
    soft = np.linalg.eigh((optimum.conj()[:, None] * S * optimum).real)[1][:, 1]
    for size in np.geomspace(1e-3, 1e-2, 12):
        z = optimum * np.exp(1j * size * soft)
        certificate = ang.certify(grid.C, z, method="factorization", tolerance=1e-2)
        missing = float((np.vdot(optimum, grid.C @ optimum) - np.vdot(z, grid.C @ z)).real)
        assert missing <= certificate.gap_bound <= 10 * missing


def test_weights_over_many_orders_are_proved_by_the_degree_weighted_form():
    # The second eigenvalue of S is at most 1e-10 of the largest weight and each shift is buried in rounding; relative
    # to the degrees it is of order one.
    weights = 10.0 ** np.linspace(6, -12, 40)
    C = path(weights)
    z, s = np.ones(41, dtype=complex), s_of(C, np.ones(41))
    bound = factorization_bound(as_operator(C), z, s, lambda bound: bound.value > 0)
    assert bound.weights is not None
    assert np.array_equal(np.log2(bound.weights) % 2, np.zeros(41))  # powers of four: their roots scale exactly
    root = np.sqrt(bound.weights)
    relative = (np.diag(s) - C.toarray()) / root[:, None] / root[None, :]
    assert 0.001 < bound.value <= np.linalg.eigvalsh(relative)[1] * (1 + 1e-9)


def test_the_weights_are_powers_of_four_near_the_degrees():
    C = path(np.array([1.0, 5.0, 100.0, 3e-7]))
    bound = factorization_bound(
        as_operator(C), np.ones(5, dtype=complex), s_of(C, np.ones(5)), lambda b: b.weights is not None
    )
    degrees = np.asarray(abs(C).sum(axis=1)).ravel()
    assert (bound.weights <= 2 * degrees).all()
    assert (bound.weights >= degrees / 2).all()


def test_below_rounding_nothing_is_claimed():
    # two halves that hang together by 1e-18: the true second eigenvalue is positive, but not provable by S. Both have a
    # cycle: the optimum of a tree is unique whatever its weights are
    weights = np.ones(19)
    weights[9] = 1e-18
    C = path(weights).tolil()
    for a, b in ((0, 2), (17, 19)):
        C[a, b] = C[b, a] = 1.0
    C = C.tocsr()
    bound = factorization_bound(as_operator(C), np.ones(20, dtype=complex), s_of(C, np.ones(20)), ALWAYS)
    assert bound.value <= 1e-18
    certificate = ang.certify(C, np.ones(20), method="factorization")
    assert certificate.verdict is Verdict.CERTIFIED  # zero misfit
    assert not certificate.unique


@pytest.mark.parametrize("scale", [1e-315, 1e-200, 1e200])
def test_the_bound_does_not_depend_on_the_scale(scale):
    C = ang.simulate.grid(5, 6, 0.3, rng=0).C
    z = ang.synchronize(C).z
    reference, certificate = (ang.certify(c, z, method="factorization") for c in (C, C * scale))
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.lambda_2 == pytest.approx(reference.lambda_2 * scale, rel=1e-6)


def test_single_precision_data_are_taken_as_they_are():
    C = ang.simulate.grid(5, 6, 0.3, rng=0).C.astype(np.complex64)
    tiny = C * np.float32(1e-38)
    z = ang.synchronize(C.astype(complex)).z
    assert ang.certify(C, z, method="factorization").verdict is Verdict.CERTIFIED
    small = ang.synchronize(tiny.astype(complex)).z
    assert ang.certify(tiny, small, method="factorization").verdict is Verdict.CERTIFIED


def test_only_sparse_problems_can_be_factorized():
    dense = ang.simulate.gaussian(5, 0.1, rng=0).C
    assert not can_factorize(as_operator(dense))
    assert can_factorize(as_operator(scipy.sparse.csr_array(dense)))
    with pytest.raises(ang.errors.InputError, match="sparse matrices and edge lists"):
        ang.certify(dense, np.ones(5), method="factorization")


def test_the_work_is_known_before_it_is_done(monkeypatch):
    grid = as_operator(ang.simulate.grid(20, 20, 0.1, rng=0).C)
    z = np.ones(400, dtype=complex)
    question = Question(grid, z, np.ones(400), np.zeros(400), 0.0, np.random.default_rng(0), NEVER, Clock())
    monkeypatch.setattr(factorization._Proof, "bound", lambda _: pytest.fail("it was done all the same"))
    assert by_affordable_factorization(question, largest_work=1e4) is None
    assert by_affordable_factorization(question, largest_front=10) is None


def test_what_has_no_small_separator_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(factorization, "_LARGEST_FRONT_ON_REQUEST", 10)
    C = ang.simulate.grid(20, 20, 0.1, rng=0).C
    with pytest.raises(ang.errors.InputError, match="no small separators"):
        ang.certify(C, np.ones(400), method="factorization")


@pytest.mark.parametrize("kept", [0, 10**9], ids=["forgotten", "kept"])
def test_no_gap_is_violated(monkeypatch, kept):
    # points from 1e-9 to 0.5 rad off the best of three starts, and the worst of them, on grids with chords and weights
    monkeypatch.setattr(factorization, "_KEPT_NUMBERS", kept)
    proved = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        C = ang.simulate.grid(6, 7, rng.uniform(0.1, 0.6), rng=seed).C.tolil()
        for _ in range(rng.integers(0, 4)):
            a, b = rng.choice(42, 2, replace=False)
            C[a, b] = 10 ** rng.uniform(-1, 1) * np.exp(2j * np.pi * rng.random())
            C[b, a] = np.conj(C[a, b])
        C = scipy.sparse.csr_array(C)
        starts = [np.exp(2j * np.pi * rng.random(42)) for _ in range(3)]
        found = sorted((ang.synchronize(C, start=z, certify=False) for z in starts), key=lambda r: r.objective)
        best = found[-1].z
        z = found[0].z if seed % 5 == 0 else best * np.exp(1j * 10 ** rng.uniform(-9, -0.3) * rng.standard_normal(42))
        certificate = ang.certify(C, z, method="factorization", max_seconds=60)
        missing = float((np.vdot(best, C @ best) - np.vdot(z, C @ z)).real)
        assert missing <= certificate.gap_bound + 1e-12
        proved += certificate.lambda_2 > 0
    assert proved > 8


def twisted_torus():
    """A torus without noise, and the critical point that turns once around it."""
    torus = ang.simulate.grid(12, 12, 0.0, rng=0).C.tolil()
    for k in range(12):
        for a, b in ((12 * k, 12 * k + 11), (k, 132 + k)):
            torus[a, b] = torus[b, a] = 1.0
    plain = scipy.sparse.csr_array(abs(torus.tocsr()).astype(complex))
    return plain, np.exp(2j * np.pi * np.tile(np.arange(12), 12) / 12), np.ones(144)


def vortex_pair():
    """A grid, and the local optimum around two vortices half of its width apart."""
    grid = ang.simulate.grid(24, 24, 0.15, rng=0)
    place = np.add.outer(1j * np.arange(24), np.arange(24)).ravel()
    pair = np.angle(place - (5.5 + 11.5j)) - np.angle(place - (17.5 + 11.5j))
    ends = [
        ang.synchronize(grid.C, start=z, solver=ang.Newton(), certify=False)
        for z in (grid.z * np.exp(1j * pair), grid.z)
    ]
    assert ends[0].objective < ends[1].objective - 10
    return grid.C, ends[0].z, ends[1].z


def moved_point():
    grid = ang.simulate.grid(12, 12, 0.3, rng=0).C
    best = ang.synchronize(grid).z
    return grid, best * np.exp(1e-3j * np.random.default_rng(0).standard_normal(144)), best


@pytest.mark.parametrize("kept", [0, 10**9], ids=["forgotten", "kept"])
@pytest.mark.parametrize("case", [twisted_torus, vortex_pair, moved_point])
def test_points_that_are_not_optimal_are_refuted_with_a_witness(case, kept, monkeypatch):
    monkeypatch.setattr(factorization, "_KEPT_NUMBERS", kept)
    C, z, best = case()
    certificate = ang.certify(C, z, method="factorization")
    assert certificate.verdict is Verdict.REFUTED
    assert certificate.method == "factorization"
    w = certificate.witness
    assert np.vdot(w, C @ w).real > np.vdot(z, C @ z).real + 4 * certificate.rounding
    assert ang.certify(C, best, method="factorization").verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("case", [twisted_torus, vortex_pair, moved_point])
def test_lanczos_never_certifies_points_that_are_not_optimal(case):
    C, z, _ = case()
    for seed in range(5):
        assert ang.certify(C, z, method="lanczos", rng=seed).verdict is not Verdict.CERTIFIED


def just_indefinite(side, least, seed):
    """A grid, an optimum z, and reversed edges so strong that S has the smallest eigenvalue ``least``.

    Such an edge adds nothing to the gradient at z, and S loses a positive semidefinite matrix per unit of its strength.
    """
    rng, grid = np.random.default_rng(seed), ang.simulate.grid(side, side, 0.2, rng=seed)
    C, z = ang.as_operator(grid.C).matrix, ang.synchronize(grid.C).z
    edges = scipy.sparse.triu(C, 1).tocoo()
    chosen = rng.choice(edges.nnz, 3, replace=False)
    i, j = edges.row[chosen], edges.col[chosen]
    half = scipy.sparse.csr_array((-z[i] * np.conj(z[j]), (i, j)), shape=C.shape)
    complement = scipy.linalg.null_space(z[None].conj())

    def smallest(strength):
        D = C + strength * (half + half.conj().T)
        S = np.diag((np.conj(z) * (D @ z)).real) - D.toarray()
        return np.linalg.eigvalsh(complement.conj().T @ S @ complement)[0]

    strength = scipy.optimize.brentq(lambda t: smallest(t) - least, 0, 100)
    return C + strength * (half + half.conj().T), z


@pytest.mark.parametrize("method", ["factorization", "lanczos"])
def test_slightly_negative_eigenvalue_is_never_proved_positive(method):
    for seed in range(10):
        C, z = just_indefinite(9, -1e-3, seed)
        certificate = ang.certify(C, z, method=method, rng=seed)
        assert certificate.lambda_2 < 0
        assert certificate.verdict is not Verdict.CERTIFIED
    C, z = just_indefinite(9, 1e-3, 0)  # and the test would see a proof
    assert ang.certify(C, z, method="factorization").verdict is Verdict.CERTIFIED


def test_a_part_that_is_too_large_to_keep_leaves_the_point_open(monkeypatch):
    monkeypatch.setattr(factorization, "_KEPT_NUMBERS", 0)
    monkeypatch.setattr(factorization, "_KEPT_AGAIN_NUMBERS", 0)
    C, z, _ = vortex_pair()
    certificate = ang.certify(C, z, method="factorization")
    assert certificate.verdict is Verdict.UNDECIDED
    assert certificate.lambda_2 == -math.inf


def ring_beside_pi(n, beyond, seed):
    """A noisy ring whose angles add up to pi and a bit more, and the local optimum that is the worse by that bit."""
    rng = np.random.default_rng(seed)
    i = np.arange(n)
    noise = 0.1 * rng.standard_normal(n)
    noise -= noise.mean()
    error = noise + (np.pi + beyond) / n  # the optimum leaves the same residual on every edge
    truth = rng.uniform(-np.pi, np.pi, n)
    data = ang.Measurements(i, (i + 1) % n, truth[i] - truth[(i + 1) % n] + error, n=n)
    z = np.exp(1j * (truth - np.concatenate([[0.0], np.cumsum(noise)[:-1]])))
    missing = 2 * n * (math.cos((np.pi - beyond) / n) - math.cos((np.pi + beyond) / n))
    return data, z, missing


@pytest.mark.parametrize("n", [61, 201, 501])
def test_of_two_equal_optima_each_is_certified_and_none_is_unique(n):
    data, z, _ = ring_beside_pi(n, 0.0, n)
    certificate = ang.certify(data, z)
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.method == "factorization"
    assert certificate.confidence == 1.0
    assert not certificate.unique
    assert -1e-11 < certificate.lambda_2 < 0


def test_the_gap_beside_a_singular_matrix_is_never_violated():
    certified = singular = 0
    for k in range(60):
        rng = np.random.default_rng(k)
        n = int(rng.integers(61, 160))
        data, z, missing = ring_beside_pi(n, 10 ** rng.uniform(-14, -2), k)
        moved = 10.0 ** rng.uniform(-14, -4) * rng.standard_normal(n)
        z = z * np.exp(1j * moved)
        # f is -2 sum of 1 - cos around the optimum: what a move loses is at least the square with the curvature there
        lost = float(np.sum((moved - np.roll(moved, -1)) ** 2)) * (math.cos(np.pi / n) - 1e-3)
        certificate = ang.certify(data, z, method="factorization", max_seconds=20)
        assert certificate.gap_bound >= missing + lost - 1e-13 * n
        if certificate.verdict is Verdict.CERTIFIED:
            certified += 1
            assert missing <= 1e-8 * certificate.scale
        singular += certificate.verdict is Verdict.CERTIFIED and certificate.lambda_2 < 0
    assert singular >= 5
    assert certified < 50
