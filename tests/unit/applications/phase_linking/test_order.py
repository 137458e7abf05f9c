"""The order of dates that error bars are worked out in; coherences that no order explains are told, and only those."""

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


def tracks(group, inside=0.7, across=0.15):
    G = np.where(group[:, None] == group, inside, across)
    np.fill_diagonal(G, 1)
    return G


@pytest.mark.parametrize("method", phase_linking.METHODS)
@pytest.mark.parametrize("group", [np.arange(12) % 2, np.array([0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0])])
def test_error_bars_of_interleaved_tracks_are_those_of_one_after_the_other(group, method):
    C = sampled(tracks(group), 100, 200)
    linked = phase_linking.link_covariance(C, looks=100, method=method, reference=4)
    (note,) = linked.notes
    assert "two kinds (tracks?)" in note
    order = np.argsort(group != group[0], kind="stable")
    place = int(np.flatnonzero(order == 4)[0])
    sorted_ = phase_linking.link_covariance(C[:, order][:, :, order], looks=100, method=method, reference=place)
    assert sorted_.notes == ()
    np.testing.assert_allclose(linked.standard_error[:, order], sorted_.standard_error, rtol=1e-9)
    # phases of a track err together, so 200 pixels are some 400 draws: 0.95 +- 3 sqrt(0.95 0.05 / 400)
    hit = np.abs(linked.phase) <= 1.96 * linked.standard_error
    assert np.delete(hit, 4, axis=1).mean() == pytest.approx(0.95, abs=0.033)


def test_dates_that_no_order_of_two_groups_explains_are_told():
    """Coherence decays with time, but the images are not sorted by it."""
    day = np.random.default_rng(3).permutation(16)
    G = np.exp(-np.abs(day[:, None] - day) / 4)
    with pytest.warns(AngsyncWarning, match="coherences are not as error bars take them to be"):
        linked = phase_linking.link_covariance(sampled(G, 100, 200), looks=100)
    assert "Sort the images by time" in str(linked)


def test_images_are_looked_at_in_places_that_chunks_do_not_change():
    rng = np.random.default_rng(8)
    root = np.linalg.cholesky(tracks(np.arange(8) % 2))
    noise = rng.standard_normal((2, 8, 30, 40)) / np.sqrt(2)
    stack = np.einsum("ij,jrc->irc", root, noise[0] + 1j * noise[1])
    stack[:, :12, :12], stack[:, 20:, 30:] = np.nan, 3  # no data, and a fill value
    whole, parts = (phase_linking.link(stack, 7, chunk=chunk) for chunk in (None, 9))
    assert "two kinds" in str(whole)
    assert whole.notes == parts.notes
    np.testing.assert_array_equal(whole.standard_error, parts.standard_error)


def test_matrices_without_data_are_not_looked_at():
    with pytest.warns(AngsyncWarning, match="no pixel holds data"):
        linked = phase_linking.link_covariance(np.full((5, 4, 4), np.nan, dtype=complex), looks=10)
    assert linked.counts["EMPTY"] == 5
    with pytest.warns(AngsyncWarning, match="no pixel holds data"):
        linked = phase_linking.link_covariance(np.zeros((0, 4, 4), dtype=complex), looks=10)
    assert linked.pixels == 0


@pytest.mark.parametrize("model", phase_linking.MODELS)
@pytest.mark.parametrize(("looks", "count"), [(25, 1), (25, 200), (100, 1), (100, 200)])
def test_what_the_model_knows_is_not_doubted(model, looks, count):
    for seed in range(5):
        C = sampled(phase_linking.coherence_of(12, model=model, gamma_inf=0.35, tau=60), looks, count, seed)
        linked = phase_linking.link_covariance(C, looks=looks)
        assert not any("coherences are not" in note for note in linked.notes)
