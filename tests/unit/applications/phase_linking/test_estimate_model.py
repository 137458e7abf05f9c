"""Coherences that the model of the error bars does not know: said, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.errors import AngsyncWarning


def sampled(G, looks, count, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((2, count, len(G), looks)) / np.sqrt(2)
    x = np.linalg.cholesky(G) @ (noise[0] + 1j * noise[1])
    return x @ x.conj().swapaxes(1, 2) / looks


def test_interleaved_tracks_are_told():
    day = np.arange(12)
    G = np.where((day % 2)[:, None] == day % 2, 0.7, 0.15)
    np.fill_diagonal(G, 1)
    C = sampled(G, 100, 200)
    with pytest.warns(AngsyncWarning, match="coherences are not as error bars take them to be"):
        linked = phase_linking.link_covariance(C, looks=100)
    assert "Sort the images by time" in str(linked)
    order = np.r_[0:12:2, 1:12:2]
    linked = phase_linking.link_covariance(C[:, order][:, :, order], looks=100)
    assert linked.notes == ()


@pytest.mark.parametrize("model", phase_linking.MODELS)
@pytest.mark.parametrize(("looks", "count"), [(25, 1), (25, 200), (100, 1), (100, 200)])
def test_what_the_model_knows_is_not_doubted(model, looks, count):
    for seed in range(5):
        C = sampled(phase_linking.coherence_of(12, model=model, gamma_inf=0.35, tau=60), looks, count, seed)
        linked = phase_linking.link_covariance(C, looks=looks)
        assert not any("coherences are not" in note for note in linked.notes)
