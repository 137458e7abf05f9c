"""Runs that keep three vectors: the coefficients of a full run, and the same Ritz vector."""

import numpy as np
import pytest

from angsync.kernels.lanczos.reference import Goal, Lanczos, RunEnding, smallest_ritz_vector
from angsync.kernels.lanczos.short import ShortLanczos


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    n = 300
    A = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    S = A @ A.conj().T / n + 0.5 * np.eye(n)
    u, start = rng.normal(size=n) + 0j, rng.normal(size=n) + 1j * rng.normal(size=n)
    u /= np.linalg.norm(u)
    start -= u * np.vdot(u, start)
    return S, u, start / np.linalg.norm(start)


def test_coefficients_and_vectors_are_those_of_a_full_run(problem):
    S, u, start = problem
    full, short = (kind(lambda v: S @ v, u, start, 20) for kind in (Lanczos, ShortLanczos))
    full.advance(20)
    short.advance(20)
    assert np.allclose(short.alpha, full.alpha, rtol=1e-9)
    assert np.allclose(short.beta, full.beta, rtol=1e-9)
    y = smallest_ritz_vector(full.alpha, full.beta)
    assert abs(np.vdot(short.combination(y), full.combination(y))) == pytest.approx(1, abs=1e-9)
    assert short.drift == np.inf


def test_more_growth_is_asked_for_than_of_a_full_run(problem):
    S, u, start = problem
    goal = Goal(value=0.2, limit=1e6, rounding=0.0)
    full, short = (kind(lambda v: S @ v, u, start, 100) for kind in (Lanczos, ShortLanczos))
    for run in (full, short):
        run.advance(1)
        assert run.advance(100, goal) is RunEnding.REACHED
    assert full.steps <= short.steps <= full.steps + 4


def test_memory_is_that_of_a_few_vectors(problem):
    import tracemalloc

    n = 100_000
    u, start = np.zeros(n, dtype=complex), np.zeros(n, dtype=complex)
    u[0] = start[1] = 1
    s = np.linspace(1, 2, n)
    run = ShortLanczos(lambda v: s * v, u, start + 0, 50)
    tracemalloc.start()
    run.advance(1)
    run._last = np.full(n, 1 / np.sqrt(n), dtype=complex)  # a vector that has something everywhere
    run.advance(30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert run.steps > 20
    assert peak < 5.5 * 16 * n


@pytest.mark.parametrize("wrong", [False, True])
def test_a_run_without_a_basis_is_as_strict(monkeypatch, wrong):
    """On very many nodes; here few are many. The bound is below the eigenvalue, and a way out is found again."""
    import angsync as ang
    from angsync.certificate.bounds import lanczos as module

    rng = np.random.default_rng(5)
    n, count = 400, 4000
    i = rng.integers(0, n, count)
    j = (i + rng.integers(1, n, count)) % n
    C = ang.Measurements(i, j, 0.2 * rng.normal(size=count), n=n).to_sparse()
    z = np.exp(2j * np.pi * rng.random(n)) if wrong else ang.synchronize(C, certify=False).z
    full = ang.certify(C, z, method="lanczos")
    monkeypatch.setattr(module, "_SHORT_FROM_NODES", 10)
    short = ang.certify(C, z, method="lanczos")
    s = (np.conj(z) * (C @ z)).real
    spectrum = np.linalg.eigvalsh(np.diag(s) - C.toarray())
    assert short.verdict is full.verdict
    if wrong:
        assert short.verdict is ang.Verdict.REFUTED
        assert short.lambda_min <= spectrum[0]
    else:
        assert short.verdict is ang.Verdict.CERTIFIED
        assert 0 < short.lambda_2 <= spectrum[1]
