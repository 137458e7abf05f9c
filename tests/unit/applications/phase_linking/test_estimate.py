"""Blocks of coherence matrices: methods, error bars that hold, few looks, what is missing."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.applications.phase_linking.estimate import LinkStatus, Settings, estimate
from angsync.errors import InputError


def sampled(G, looks, count, seed, kind=np.complex128):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2, count, len(G), looks)) / np.sqrt(2)
    x = np.linalg.cholesky(G) @ (noise[0] + 1j * noise[1])
    C = x @ x.conj().swapaxes(1, 2)
    over = 1 / np.sqrt(np.einsum("kii->ki", C).real)
    return (C * over[:, :, None] * over[:, None, :]).astype(kind)


def cramer_rao(G, looks):
    information = 2 * looks * (G * np.linalg.inv(G) - np.eye(len(G)))
    return np.sqrt(np.diag(np.linalg.inv(information[1:, 1:])))


def rms_of(block):
    return np.degrees(np.sqrt(np.mean(np.angle(block.sync.z[:, 1:]) ** 2)))


def run(C, looks, method="mle", beta=0.1, reference=0):
    return estimate(C, np.full(len(C), float(looks)), Settings(method, beta, reference))


@pytest.mark.parametrize("model", phase_linking.MODELS)
@pytest.mark.parametrize("method", phase_linking.METHODS)
def test_error_bars_hold(model, method):
    G = phase_linking.coherence_of(12, model=model, gamma_inf=0.35, tau=60)
    block = run(sampled(G, 81, 400, 31), 81, method)
    hit = np.abs(np.angle(block.sync.z)) <= 1.96 * block.standard_error
    good = np.flatnonzero(np.degrees(cramer_rao(G, 81)) < 10) + 1
    # asked for: 90 to 99 % for each date; 400 pixels at 95 % have a standard error of 1.1 %, and there are 11 dates
    assert 0.93 <= hit[:, good].mean() <= 0.98
    assert hit[:, good].mean(axis=0).min() >= 0.90
    assert hit[:, good].mean(axis=0).max() <= 0.995


def test_the_likelihood_is_at_least_as_good_as_the_eigenvectors_and_near_the_bound():
    G = phase_linking.coherence_of(30, gamma_0=0.99, gamma_inf=0.95)
    C = sampled(G, 121, 400, 7)
    errors = {method: rms_of(run(C, 121, method)) for method in phase_linking.METHODS}
    bound = np.degrees(np.sqrt(np.mean(cramer_rao(G, 121) ** 2)))
    # the rms of 400 x 29 correlated phases has a standard error of about 2.5 %
    assert errors["mle"] <= 1.08 * bound
    assert errors["mle"] <= 1.02 * min(errors.values())
    block = run(C, 121)
    assert (block.sync.verdict == 0).all()
    assert (block.status == LinkStatus.CONVERGED).all()


def test_few_looks_raise_beta_and_keep_the_phases():
    G = phase_linking.coherence_of(30, gamma_0=0.99)
    for looks in (10, 20):
        C = sampled(G, looks, 200, looks)
        assert rms_of(run(C, looks)) <= 1.03 * rms_of(run(C, looks, "evd"))
    assert run(C, 30).beta[0] == pytest.approx(0.4)
    assert run(C, 10).beta[0] == 0.5
    assert run(C, 400).beta[0] == 0.1


def test_few_looks_without_regularization_are_never_certified():
    G = phase_linking.coherence_of(12)
    block = run(sampled(G, 6, 20, 5), 6, beta=0.0)
    assert (block.status == LinkStatus.FEW_LOOKS).all()
    assert (block.sync.verdict == 1).all()
    one = run(sampled(G, 1, 3, 5), 1)
    assert (one.status == LinkStatus.FEW_LOOKS).all()
    assert np.isnan(one.standard_error).all()


@pytest.mark.parametrize("method", phase_linking.METHODS)
def test_missing_dates_and_empty_pixels_are_told_and_never_certified(method):
    C = sampled(phase_linking.coherence_of(8), 60, 5, 6)
    whole = run(C, 60, method)
    gap = C.copy()
    gap[0] = 0
    gap[1, 3] = gap[1, :, 3] = 0
    gap[2, 0] = gap[2, :, 0] = 0
    looks = np.full(5, 60.0)
    looks[0] = 0
    block = estimate(gap, looks, Settings(method, 0.1, 0))
    assert [LinkStatus(int(code)).name for code in block.status] == [
        "EMPTY", "CONVERGED", "NO_REFERENCE", "CONVERGED", "CONVERGED",
    ]  # fmt: skip
    assert np.isnan(block.sync.z[[0, 2]]).all()
    assert np.isnan(block.standard_error[[0, 2]]).all()
    assert np.isnan(block.sync.z[1, 3])
    assert np.isfinite(np.delete(block.sync.z[1], 3)).all()
    assert np.isfinite(np.delete(block.standard_error[1], 3)).all()
    if method == "mle":
        assert block.sync.verdict.tolist() == [1, 0, 1, 0, 0]
    np.testing.assert_allclose(block.sync.z[3:], whole.sync.z[3:], atol=1e-12)


def test_the_reference_is_a_gauge():
    C = sampled(phase_linking.coherence_of(6), 60, 4, 8)
    first, third = run(C, 60), run(C, 60, reference=2)
    np.testing.assert_allclose(third.sync.z, first.sync.z * first.sync.z[:, 2:3].conj(), atol=1e-8)
    np.testing.assert_array_equal(third.standard_error[:, 2], 0)
    np.testing.assert_allclose(third.standard_error[:, 0], first.standard_error[:, 2], rtol=1e-8)


def test_settings_are_checked():
    with pytest.raises(InputError, match="method must be one of"):
        Settings("lse", 0.1, 0)
    with pytest.raises(InputError, match="beta"):
        Settings("mle", 1.5, 0)
