"""Error bars of linked phases: the model of the coherences, the formula against a simulation, and the C twin."""

from __future__ import annotations

import numpy as np
import pytest

from angsync import kernels
from angsync.applications.phase_linking.simulated import MODELS, coherence_of
from angsync.kernels.batch import bars_reference


def sampled(G, looks, count, seed):
    """Sample coherences (count, n, n) of Gaussian looks."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2, count, len(G), looks)) / np.sqrt(2)
    x = np.linalg.cholesky(G) @ (noise[0] + 1j * noise[1])
    C = x @ x.conj().swapaxes(1, 2)
    over = 1 / np.sqrt(np.einsum("kii->ki", C).real)
    return C * over[:, :, None] * over[:, None, :]


def made_by(kernel, C, *, looks=60.0, beta=0.1, moduli=None, weights=1, reference=0):
    out = np.empty(C.shape[:2])
    kernel(C, np.full(len(C), beta), np.full(len(C), looks), moduli, weights, reference, out)
    return out


@pytest.mark.parametrize("model", MODELS)
def test_the_model_finds_coherences_of_many_looks(model):
    G = coherence_of(20, model=model)
    size = np.abs(sampled(G, 5000, 1, 1))
    found = bars_reference.coherence_model(size, np.ones((1, 20), dtype=bool), np.array([5000.0]))[0]
    # a pair's sample coherence errs by at most 0.7 / sqrt(5000) = 0.01; lags are pooled over 15 % of their length
    assert np.abs(found - G).max() < 0.06
    np.testing.assert_array_equal(np.diagonal(found), 1)


def test_without_an_event_a_stationary_coherence_depends_on_the_lag_alone_to_a_few_per_cent():
    G = coherence_of(20)
    found = bars_reference.coherence_model(
        np.abs(sampled(G, 200, 30, 2)), np.ones((30, 20), dtype=bool), np.full(30, 200.0)
    )
    assert np.abs(found.mean(axis=0) - G).max() < 0.05


def test_a_perfect_model_gives_the_cramer_rao_error():
    # with W = -G^-1 and beta = 0 the sandwich is the inverse of the Fisher information 2 L (G o G^-1 - I)
    G = coherence_of(6, gamma_inf=0.6, tau=1e4, gamma_0=0.6)  # all pairs alike: the model is exact
    looks = 1e6
    expected = np.sqrt(np.diag(np.linalg.inv((2 * looks * (G * np.linalg.inv(G) - np.eye(6)))[1:, 1:])))
    errors = made_by(bars_reference.bars, G[None].astype(complex), looks=looks, beta=0.0)
    np.testing.assert_allclose(errors[0, 1:], expected, rtol=1e-3)
    assert errors[0, 0] == 0


def test_a_date_without_data_has_no_error_bar_and_changes_nothing_for_a_complete_graph():
    G = coherence_of(7)
    C = sampled(G, 80, 3, 3)
    with_gap = np.insert(np.insert(C, 7, 0, axis=1), 7, 0, axis=2)
    errors = made_by(bars_reference.bars, with_gap)
    assert np.isnan(errors[:, 7]).all()
    np.testing.assert_allclose(errors[:, :7], made_by(bars_reference.bars, C), rtol=1e-10)
    assert np.isnan(made_by(bars_reference.bars, with_gap, reference=7)).all()


def test_what_is_not_known_has_the_error_of_chance():
    C = np.eye(5, dtype=complex)[None]
    errors = made_by(bars_reference.bars, C)
    np.testing.assert_allclose(errors[0, 1:], np.pi / np.sqrt(3))
    one_look = np.ones((1, 5, 5), dtype=complex)  # singular without beta
    one_look[0, 0, 1] = one_look[0, 1, 0] = 0.5
    np.testing.assert_allclose(made_by(bars_reference.bars, one_look, beta=0.0)[0, 1:], np.pi / np.sqrt(3))


@pytest.mark.skipif(not kernels.COMPILED, reason="the kernels are not compiled")
@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [2, 3, 9, 30])
def test_the_compiled_kernel_does_the_same(kind, n):
    from angsync.kernels.batch import compiled

    C = sampled(coherence_of(n, model="event"), 40, 21, n)
    if n > 3:
        C[4, 2, :] = C[4, :, 2] = 0
        C[5, 1, :] = C[5, :, 1] = 0
    C = C.astype(kind)
    moduli = np.random.default_rng(0).uniform(0.5, 1.5, (21, n))
    for how in ({}, {"moduli": moduli}, {"weights": 0, "moduli": moduli}, {"beta": 0.02}):
        expected = made_by(bars_reference.bars, C, reference=1, **how)
        np.testing.assert_allclose(made_by(compiled.bars, C, reference=1, **how), expected, rtol=1e-6)
