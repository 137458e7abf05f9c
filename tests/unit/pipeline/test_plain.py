"""Dense problems as they are: unusual arrays and scales, no iterations, and the whole history."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
@pytest.mark.parametrize("n", [60, 410])
@pytest.mark.parametrize("kind", [np.matrix, np.ma.array])
def test_other_kinds_of_arrays_are_taken_as_plain_ones(n, kind):
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    result = ang.synchronize(kind(C))
    assert type(result.z) is np.ndarray
    assert np.array_equal(result.z, ang.synchronize(C).z)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(np.complex64, s) for s in (1e-36, 1e18, 1e30)] + [(np.complex128, s) for s in (1e-310, 1e-160, 1e160, 1e290)],
)
@pytest.mark.parametrize("n", [30, 100])
def test_the_scale_of_c_changes_nothing(n, kind, scale):
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    usual = ang.synchronize(C.astype(kind))
    scaled = ang.synchronize((scale * C).astype(kind))
    assert scaled.certificate.verdict is ang.Verdict.CERTIFIED
    assert scaled.iterations == usual.iterations
    assert np.isfinite(scaled.history.residual).all()
    # both have converged, and C is rounded anew: at 1e-310 to thirteen digits, in complex64 to seven
    assert ang.distance(scaled.z, usual.z) < (1e-4 if kind is np.complex64 else 1e-9)


@pytest.mark.parametrize("n", [60, 410])
def test_without_iterations_the_start_is_the_answer(n):
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    start = np.exp(2j * np.pi * np.random.default_rng(0).random(n))
    stopping = ang.Stopping(max_iterations=0)
    result = ang.synchronize(C, start=start, stopping=stopping, certify=False, on_failure="ignore")
    assert (result.iterations, len(result.history.objective)) == (0, 1)
    assert ang.distance(result.z, start) < 1e-12


@pytest.mark.parametrize("seed", [6, 16])
def test_the_history_tells_every_iterate_once(seed):
    # weights over thirty orders of magnitude: Anderson's method ends where rounding hides the light rows, and a step
    # that gains nothing hands over to Newton's method
    n = 30
    rng = np.random.default_rng(seed)
    z = np.exp(2j * np.pi * rng.random(n))
    weights = 10.0 ** rng.uniform(-30, 0, (n, n))
    noise = 0.1 * (rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    upper = np.triu((np.outer(z, z.conj()) + noise) * weights, 1)
    C = upper + upper.conj().T
    stopping = ang.Stopping(tolerance=0.0, max_iterations=400)
    result = ang.synchronize(C, certify=False, stopping=stopping, on_failure="ignore")
    assert len(result.history.objective) == result.iterations + 1
    assert (np.diff(result.history.objective) >= -1e-13 * np.abs(C).sum()).all()
