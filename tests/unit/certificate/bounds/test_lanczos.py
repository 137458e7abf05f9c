"""Lanczos on the complement of a vector: its estimates, its bounds, and what ends a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

import angsync as ang
from angsync import kernels
from angsync.certificate.bounds import lanczos as module
from angsync.certificate.bounds.bound import SpectralBound
from angsync.certificate.bounds.lanczos import _aim, extreme_values, lanczos, lanczos_bound, least_proof
from angsync.certificate.gap import Gap
from angsync.certificate.rounding import Rounding
from angsync.kernels.lanczos import reference as lanczos_reference
from angsync.problem.intake import normalized
from angsync.problem.operators import CountingOperator, as_operator
from angsync.problem.randomness import proof_generator
from angsync.solvers.stopping import Clock

needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


def problem(n, share=0.2, seed=0):
    """C, s and z of unit norm near the optimum of a dense problem."""
    C = ang.simulate.gaussian(n, share * n**0.5, rng=seed).C
    z = ang.synchronize(C, certify=False).z
    return C, np.real(np.conj(z) * (C @ z)), z / n**0.5


class ExpiredAfter(Clock):
    """A clock that has expired after so many looks at it, and notes them."""

    def __init__(self, looks, seen=lambda: None):
        super().__init__()
        self.most, self.looks, self.seen, self.notes = looks, 0, seen, []

    @property
    def expired(self):
        self.looks += 1
        self.notes.append(self.seen())
        return self.looks > self.most


def test_lanczos_finds_both_ends_off_the_deflated_vector(matrix_with_spectrum):
    S, z = matrix_with_spectrum(np.linspace(1.0, 9.0, 30))
    u = z / np.linalg.norm(z)
    run = lanczos(lambda v: S @ v, u, np.random.default_rng(0), max_steps=30, enough=lambda *_: False)
    assert run.smallest == pytest.approx(1.0)
    assert run.largest == pytest.approx(9.0)
    v = run.smallest_vector()
    assert abs(np.vdot(u, v)) < 1e-12  # the zero eigenvalue of z is not seen
    assert np.linalg.norm(S @ v - v) < 1e-6


def test_lanczos_stops_at_an_invariant_space(matrix_with_spectrum):
    S, z = matrix_with_spectrum(np.full(30, 2.0))
    run = lanczos(
        lambda v: S @ v, z / np.linalg.norm(z), np.random.default_rng(0), max_steps=30, enough=lambda *_: False
    )
    assert run.alpha.size == 1
    assert run.remainder < 1e-13
    bound = lanczos_bound(
        lambda v: S @ v, z, np.random.default_rng(0), is_proof=lambda _: False, clock=Clock(), rounding=1e-15
    )
    assert 2 - 1e-7 < bound.value <= 2 + 1e-12  # five times the rounding, over an overlap of 2e-6


def test_the_bound_holds_exactly_where_the_start_overlaps_enough(matrix_with_spectrum):
    # No probability: x^H b is known here, and the bound is told just that much. It holds for every start and any number
    # of steps, and it is no better than it should be: with the whole space it is the eigenvalue itself.
    values = np.concatenate([[0.3], np.linspace(0.5, 2.0, 39)])
    S, z = matrix_with_spectrum(values)
    u = z / np.linalg.norm(z)
    x = scipy.linalg.eigh(S + 9 * np.outer(u, u.conj()))[1][:, 0]
    for seed in range(40):
        for steps in (1, 2, 3, 5, 8, 13, 39):
            stream = proof_generator(np.random.default_rng(seed))  # that of the bound below
            run = lanczos(lambda v: S @ v, u, stream, max_steps=steps, enough=lambda *_: False)
            overlap = abs(np.vdot(x, run.basis[:, 0])) ** 2
            beta = np.append(run.beta, run.remainder)
            if run.smallest > 0.3 + 1e-9:  # once it is found, rounding decides on which side of it 0.3 lies
                assert overlap * lanczos_reference.growth(run.alpha, beta, 0.3) <= 1 + 1e-6
            bound = lanczos_bound(
                lambda v: S @ v,
                z,
                np.random.default_rng(seed),
                failure=39 * overlap * (1 - 1e-9),
                max_steps=steps,
                is_proof=lambda _: False,
                clock=Clock(),
                rounding=0.0,
            )
            assert bound.value <= 0.3 + 1e-9
            if steps == 39:  # one step before the end nothing of x is left but its part along the last vector
                assert bound.value > 0.3 - 1e-6


def test_the_failure_probability_holds(matrix_with_spectrum):
    # failure = 0.1: over 400 runs the count of failures is at most Binomial(400, 0.1), which exceeds 70 with a
    # probability below 1e-5 (mean 40, standard deviation 6; 70 is 5 of them).
    S, z = matrix_with_spectrum(np.linspace(0.0, 1.0, 60))
    misses = 0
    for seed in range(400):
        bound = lanczos_bound(
            lambda v: S @ v,
            z,
            np.random.default_rng(seed),
            failure=0.1,
            max_steps=12,
            is_proof=lambda _: False,
            clock=Clock(),
            rounding=0.0,
        )
        misses += bound.value > 0
    assert misses <= 70


def test_lanczos_bounds_from_below(matrix_with_spectrum, spectrum):
    S, z = matrix_with_spectrum(spectrum)
    for seed in range(20):
        bound = lanczos_bound(
            lambda v: S @ v,
            z,
            np.random.default_rng(seed),
            is_proof=lambda nu: nu > 0,
            clock=Clock(),
            rounding=1e-14,
        )
        assert bound.value <= spectrum.min()
        assert bound.confidence == 1 - 1e-10


def test_what_is_proved_is_where_the_growth_is_the_reciprocal_of_the_overlap(matrix_with_spectrum):
    S, z = matrix_with_spectrum(np.linspace(1.0, 2.0, 200))
    settings = {"failure": 0.02, "max_steps": 25, "is_proof": lambda _: False, "clock": Clock()}
    bound = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), rounding=0.0, **settings)
    # the same run, seen from outside: polynomials by their recurrence
    u = z / np.linalg.norm(z)
    stream = proof_generator(np.random.default_rng(0))
    run = lanczos(lambda v: S @ v, u, stream, max_steps=25, enough=lambda *_: False)
    beta = np.append(run.beta, run.remainder)

    def growth(shift):
        q = [0.0, 1.0]
        for k in range(25):
            q.append(((shift - run.alpha[k]) * q[-1] - (beta[k - 1] if k else 0.0) * q[-2]) / beta[k])
        return sum(x * x for x in q)

    assert growth(bound.value) == pytest.approx(2 * 199 / 0.02, rel=1e-4)
    assert bound.value < run.smallest
    assert bound.estimate == pytest.approx(run.smallest, rel=1e-13)
    rounded = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), rounding=1e-5, **settings)
    rate = 5 * math.sqrt(199 / 0.02)
    assert rounded.value == pytest.approx(bound.value - rate * 1e-5 * 5, rel=1e-9)
    # where errors are taken not to conspire with the start, the matrix of the run is at their distance, and that is all
    settings["errors_may_conspire"] = False
    bound = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), rounding=0.0, **settings)
    assert growth(bound.value) == pytest.approx(199 / 0.02, rel=1e-4)
    rounded = lanczos_bound(lambda v: S @ v, z, np.random.default_rng(0), rounding=0.01, **settings)
    assert rounded.value == pytest.approx(bound.value - 0.01 * 5, rel=1e-9)


def test_a_run_ends_once_the_goal_is_proved_or_out_of_reach_or_there_is_no_time(matrix_with_spectrum):
    S, z = matrix_with_spectrum(np.linspace(1.0, 4.0, 300))
    calls = []

    def product(v):
        calls.append(1)
        return S @ v

    def steps(is_proof, clock=None, **settings):
        calls.clear()
        found = lanczos_bound(
            product,
            z,
            np.random.default_rng(0),
            is_proof=is_proof,
            clock=clock or Clock(),
            rounding=1e-14,
            max_steps=120,
            **settings,
        )
        return len(calls), found.value

    taken, value = steps(lambda nu: nu > 0.5)
    assert 5 < taken < 40
    assert 0.5 < value < 1.0
    more, value = steps(lambda nu: nu > 0.9)
    assert taken < more < 80
    assert 0.9 < value < 1.0
    assert steps(lambda nu: nu > 1.2)[0] == 120
    assert steps(lambda nu: nu > 1.2, give_up=True)[0] < more
    assert steps(lambda nu: nu > 5.0)[0] == 120  # above the mean of the spectrum: no goal
    assert steps(lambda nu: nu > 5.0, give_up=True)[0] == 1
    late = ExpiredAfter(10)
    assert steps(lambda nu: nu > 5.0, clock=late)[0] == 11  # there is a look between any two products
    assert late.looks == 11


@pytest.mark.parametrize("steps", [1, 2, 3, 24, 25, 40])
def test_the_extreme_ritz_values_of_few_and_of_many_steps(steps):
    rng = np.random.default_rng(steps)
    alpha, beta = rng.standard_normal(steps), rng.random(steps - 1)
    expected = np.linalg.eigvalsh(np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1))
    assert extreme_values(alpha, beta) == pytest.approx((expected[0], expected[-1]), rel=1e-12)


@needs_compiled
def test_the_clock_is_looked_at_between_parts_of_a_run(monkeypatch):
    C, s, u = problem(300)
    monkeypatch.setattr(module, "_ENTRIES_AT_ONCE", 4 * 300**2)
    S = kernels.ShiftedMatrix(C, None, 1.0, s)
    clock = ExpiredAfter(3, lambda: S.products)
    lanczos_bound(S, u, np.random.default_rng(0), is_proof=lambda _: False, clock=clock, rounding=1e-12)
    assert clock.notes == [1, 5, 9, 13]


@needs_compiled
def test_products_of_the_certificate_are_counted(monkeypatch):
    C = ang.simulate.gaussian(500, 0.3 * 500**0.5, rng=0).C
    z = ang.synchronize(C, certify=False).z
    made = []
    whole = kernels.ShiftedMatrix

    class Noted(whole):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(kernels, "ShiftedMatrix", Noted)
    operator = CountingOperator(as_operator(C))
    assert ang.certify(operator, z).verdict is ang.Verdict.CERTIFIED
    assert len(made) == 1
    assert made[0].copy is not None
    assert operator.products == made[0].products + 1  # the one with z
    # where the copy cannot decide, it ends early and C itself follows
    made.clear()
    before = operator.products
    monkeypatch.setattr("angsync.problem.operators.Operator.narrow_distance", lambda _: 0.5)
    assert ang.certify(operator, z).verdict is ang.Verdict.CERTIFIED
    assert [one.copy is None for one in made] == [False, True]
    assert made[0].products < 5 < made[1].products
    assert operator.products - before == made[0].products + made[1].products + 1


@needs_compiled
@pytest.mark.parametrize("method", ["auto", "lanczos"])
def test_what_is_asked_of_a_run_is_more_than_the_rounding_of_s(monkeypatch, method):
    # ... or a certificate could be good enough and leave open whether the answer is unique
    C, _, u = problem(420)
    asked = []

    def noted(*arguments, is_proof, **settings):
        asked.append(is_proof)
        return lanczos_bound(*arguments, is_proof=is_proof, **settings)

    monkeypatch.setattr("angsync.certificate.bounds.lanczos.lanczos_bound", noted)
    assert ang.certify(C, u * 420**0.5, method=method).unique
    operator = normalized(as_operator(C))
    error = Rounding.of(operator, u, operator.abs_row_sums(), None).eigenvalue
    distance = operator.narrow_distance() if method == "auto" else 0.0
    assert len(asked) == 1
    assert asked[0](distance + 1.0)
    assert not asked[0](distance + error)


@needs_compiled
def test_the_distance_of_the_copy_is_subtracted(monkeypatch):
    C, s, u = problem(420)
    exact = np.linalg.eigvalsh(np.diag(s) - C + 10 * s.max() * np.outer(u, u.conj()))[0]
    exponent = normalized(as_operator(C)).exponent
    monkeypatch.setattr(
        "angsync.problem.operators.Operator.narrow_distance", lambda _: math.ldexp(0.6 * exact, -exponent)
    )
    certificate = ang.certify(C, u * 420**0.5)
    assert certificate.verdict is ang.Verdict.CERTIFIED
    # the run had to prove 0.6 of the eigenvalue and something more, of which that something is left
    assert 0 < certificate.lambda_2 < 0.4 * exact


@needs_compiled
@pytest.mark.parametrize("n", [250, 420])
def test_a_certificate_proves_uniqueness_and_no_more_than_there_is(n):
    for share in (0.02, 0.2, 0.35):
        C, s, u = problem(n, share)
        z = u * n**0.5
        complement = np.linalg.svd(u.conj()[None, :])[2][1:].conj().T
        exact = np.linalg.eigvalsh(complement.conj().T @ (np.diag(s) - C) @ complement)[0]
        certificate = ang.certify(C, z)
        assert certificate.method == "lanczos"
        assert (certificate.verdict is ang.Verdict.CERTIFIED) == (exact > 0)
        if exact > 0:
            assert certificate.unique
            assert 0 < certificate.lambda_2 < exact


@pytest.mark.parametrize("seed", range(20))
def test_the_least_value_that_is_proof_is_known_without_a_search(seed):
    rng = np.random.default_rng(seed)
    n, error = 50, 10.0 ** rng.uniform(-16, -6)
    rounding = Rounding(n * error, np.full(n, error))
    misfit = math.inf if seed % 5 else 10.0 ** rng.uniform(-12, 0)
    gap = Gap(10.0 ** rng.uniform(-9, -1) * rng.standard_normal(n), misfit, rounding)
    enough, most = 10.0 ** rng.uniform(-8, 0), 10.0 ** rng.uniform(-2, 2)

    def is_proof(value):
        bound = SpectralBound(value, 1.0, "lanczos", np.ones(n), value)
        return value > 0 and gap(bound) <= enough

    assert _aim(gap.least_value(enough), most) == least_proof(is_proof, most)


@pytest.mark.parametrize("known_by_products", [False, True])
def test_data_made_with_the_seed_of_the_call_are_seen_whole(known_by_products):
    """S is negative along what QR makes orthogonal to the first draws of seed 0: those were the start of the run."""
    n, rng = 300, np.random.default_rng(0)
    drawn = [rng.standard_normal(n) + 1j * rng.standard_normal(n) for _ in range(2)]
    Q = np.linalg.qr(np.stack([np.ones(n), *drawn], axis=1))[0]
    S = np.eye(n) - Q @ Q.conj().T + Q @ np.diag([0, 1.5, -0.5]) @ Q.conj().T
    C = 5 * np.eye(n) - (S + S.conj().T) / 2
    data = scipy.sparse.linalg.aslinearoperator(C) if known_by_products else C
    assert ang.certify(data, np.ones(n, dtype=complex)).verdict is ang.Verdict.REFUTED
