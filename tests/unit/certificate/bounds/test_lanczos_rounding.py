"""What rounding may do to a run of Lanczos: errors that conspire with the start, and how large they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

import angsync as ang
from angsync import kernels
from angsync.certificate.bounds import lanczos as module
from angsync.certificate.bounds.lanczos import lanczos_bound
from angsync.kernels.rounding import gamma
from angsync.solvers.stopping import Clock

needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


def problem(n, share):
    """C, s and z of unit norm near the optimum of a dense problem."""
    C = ang.simulate.gaussian(n, share * n**0.5, rng=0).C
    z = ang.synchronize(C, certify=False).z
    return C, np.real(np.conj(z) * (C @ z)), z / n**0.5


def test_errors_that_conspire_with_the_start_prove_nothing(matrix_with_spectrum, monkeypatch):
    # The start has 1e-5 of the negative eigenvector x, more than the 1.3e-6 that it has but for a probability of 1e-10.
    # Errors of 2e-5 hide it: no vector after the first has any of x. With the assumption that errors do not do so, the
    # run "proves" that all eigenvalues are positive; without it, nothing.
    S, z = matrix_with_spectrum(np.concatenate([[-1.0], np.linspace(0.5, 1.0, 59)]))
    u = z / np.linalg.norm(z)
    x = scipy.linalg.eigh(S)[1][:, 0]
    start = module.random_start(u, np.random.default_rng(0))
    start = start - x * (np.vdot(x, start) - 1e-5)
    start /= np.linalg.norm(start)
    monkeypatch.setattr(module, "random_start", lambda *_: start)
    seen = []

    def product(v):
        w = S @ v
        seen.append(v)
        # what the recurrence will take away of x: alpha v and beta times the vector before
        along = np.vdot(v, w).real * np.vdot(x, v)
        if len(seen) > 1:
            along += np.vdot(seen[-2], w).real * np.vdot(x, seen[-2])
        error = x * (np.vdot(x, w) - along)
        assert np.linalg.norm(error) < 3e-5
        return w - error

    def proved(**settings):
        seen.clear()
        return lanczos_bound(
            product, z, np.random.default_rng(0), max_steps=20, is_proof=lambda _: False, clock=Clock(), rounding=3e-5,
            **settings,
        ).value  # fmt: skip

    assert proved(errors_may_conspire=False) > 0.1
    assert proved() < -1


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-17, reason="long doubles are doubles here")
@pytest.mark.parametrize("product", ["function", pytest.param("matrix", marks=needs_compiled)])
def test_what_a_run_leaves_open_is_no_more_than_it_says(product):
    # the errors of the three-term recurrence, in 80 bits, against the rounding of the products and what was taken away
    C, s, u = problem(250, 0.3)
    S = kernels.ShiftedMatrix(C, None, 1.0, s) if product == "matrix" else (lambda v: s * v - C @ v)
    run = kernels.begin_lanczos(S, u, module.random_start(u, np.random.default_rng(0)), 30)
    run.advance(30)
    wide = np.diag(s).astype(np.clongdouble) - C.astype(np.clongdouble)
    V, alpha, beta = run.basis.astype(np.clongdouble), run.alpha, run.beta
    residuals = []
    for k in range(29):
        left = wide @ V[:, k] - alpha[k] * V[:, k] - beta[k] * V[:, k + 1] - (beta[k - 1] * V[:, k - 1] if k else 0)
        residuals.append(np.linalg.norm((left - u * np.vdot(u, left)).astype(complex)))
    size = np.abs(C).sum(axis=1).max()
    rounding = math.sqrt(2) * gamma(2 * 250 + 8) * size * (1 + 48 / 508) + gamma(96) * np.abs(s).max()
    assert 0 < run.taken < 0.1 * rounding * math.sqrt(30)
    assert np.linalg.norm(residuals) <= rounding * math.sqrt(29) + 1.1 * run.taken
    assert run.drift < 1e-10
    gram = run.basis.conj().T @ run.basis
    assert np.linalg.norm(gram - np.eye(30)) < 1e-12
