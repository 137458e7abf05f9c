"""Thousands of random cases: the gap bound is a bound, the verdict is what it says, a witness is better."""

from __future__ import annotations

import numpy as np
import pytest
from problems import f

import angsync as ang
from angsync import Verdict

KINDS = ("gaussian", "graph", "real", "weighted", "integer")


def random_problem(kind: str, rng: np.random.Generator) -> np.ndarray:
    n = int(rng.integers(2, 13))
    if kind == "gaussian":
        return ang.simulate.gaussian(n, rng.uniform(0, 1.2) * n**0.5, rng=rng).C
    if kind == "graph":
        C = ang.simulate.erdos_renyi(n, 0.5, rng.uniform(0, 2), rng=rng).C.toarray()
    elif kind == "real":
        C = rng.standard_normal((n, n))
    elif kind == "integer":
        C = rng.integers(-2, 3, (n, n)).astype(float)
    else:
        C = rng.exponential(1, (n, n)) ** 3 * np.exp(1j * rng.normal(0, 1, (n, n)))
    C = np.triu(C, 1)
    return C + C.conj().T


def points(C, rng):
    """Optima, local optima, and perturbations of 1e-6 to 1."""
    n = C.shape[0]
    found = []
    for _ in range(3):
        start = np.exp(2j * np.pi * rng.random(n))
        found.append(ang.synchronize(C, solver=ang.Newton(), start=start, certify=False, on_failure="ignore").z)
    best = max(found, key=lambda z: f(C, z))
    near = [best * np.exp(1j * size * rng.standard_normal(n)) for size in (1e-6, 1e-4, 1e-2, 1.0)]
    return found + near + [np.exp(2j * np.pi * rng.random(n))]


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["cholesky", "lanczos"])
def test_the_gap_bound_bounds_the_gap(kind, method):
    rng = np.random.default_rng(KINDS.index(kind))
    verdicts = dict.fromkeys(Verdict, 0)
    cases = 0
    for _ in range(45):
        C = random_problem(kind, rng)
        candidates = points(C, rng)
        certificates = [ang.certify(C, z, method=method) for z in candidates]
        known = [*candidates, *(c.witness for c in certificates if c.witness is not None)]
        best = max(f(C, z) for z in known)
        for z, certificate in zip(candidates, certificates, strict=True):
            cases += 1
            verdicts[certificate.verdict] += 1
            # no allowance: gap_bound includes the rounding of f
            assert best <= f(C, z) + certificate.gap_bound
            certified = certificate.verdict is Verdict.CERTIFIED
            small = certificate.gap_bound <= certificate.tolerance * certificate.scale
            assert certified == (small and C.any())  # where nothing is measured, nothing is proved
            assert (certificate.witness is not None) == (certificate.verdict is Verdict.REFUTED)
            if certificate.witness is not None:
                assert f(C, certificate.witness) > f(C, z)
                assert np.abs(np.abs(certificate.witness) - 1).max() < 1e-12
            if certificate.unique:
                assert certified
                assert certificate.lambda_2 > 0
    assert cases == 45 * 8
    assert verdicts[Verdict.CERTIFIED] > 20
    assert verdicts[Verdict.REFUTED] > 20


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
def test_eigenvalue_bounds_are_bounds():
    rng = np.random.default_rng(99)
    for _ in range(300):
        C = random_problem(KINDS[int(rng.integers(len(KINDS)))], rng)
        z = np.exp(1j * rng.normal(0, 2, C.shape[0]))
        certificate = ang.certify(C, z)
        s = (z.conj() * (C @ z)).real
        eigenvalues = np.linalg.eigvalsh(np.diag(s) - C)
        slack = 1e-13 * np.abs(eigenvalues).max(initial=1.0)
        assert certificate.lambda_min <= min(0.0, eigenvalues[0]) + slack
        connected = certificate.method != "trivial" and not (np.abs(C).sum(axis=1) == 0).any()
        if connected and len(eigenvalues) > 1 and np.linalg.matrix_power(np.abs(C) + np.eye(len(C)), len(C)).all():
            assert certificate.lambda_2 <= eigenvalues[1] + slack


def test_the_default_pipeline_never_returns_a_point_that_its_own_certificate_refutes():
    rng = np.random.default_rng(5)
    for _ in range(60):
        n = int(rng.integers(3, 25))
        C = ang.simulate.gaussian(n, rng.uniform(0, 0.8) * n**0.5, rng=rng).C
        result = ang.synchronize(C, start=np.exp(2j * np.pi * rng.random(n)))
        assert result.certificate.verdict is not Verdict.REFUTED
