"""Samples that are no looks of their own."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.applications.phase_linking.correlation import in_words, samples_per_look
from angsync.errors import AngsyncWarning


def noise(shape=(4, 120, 130), seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def test_independent_samples_are_a_look_each():
    assert samples_per_look(noise(), (11, 11)) == pytest.approx(1, abs=0.02)
    assert in_words(noise(), (11, 11)) == ("", "")
    assert samples_per_look(noise((4, 10, 10)), (11, 11)) == 1  # too few to tell


def test_averages_of_two_neighbors_are_correlated():
    x = noise()
    oversampled = x[:, :, 1:] + x[:, :, :-1]  # correlation 1/2 at lag 1, none beyond
    expected = 1 + 2 * (1 - 1 / 11) * 0.25
    assert samples_per_look(oversampled, (11, 11)) == pytest.approx(expected, abs=0.03)
    both = oversampled[:, 1:] + oversampled[:, :-1]
    assert samples_per_look(both, (11, 11)) == pytest.approx(expected**2, abs=0.06)
    both[0, 3, 4] = np.nan
    with pytest.warns(AngsyncWarning, match=r"worth 5\d.* looks.*Pass looks=5"):
        linked = phase_linking.link(both[:, :60, :60])
    assert any("too narrow by 1.5" in note for note in linked.notes)
    phase_linking.link(both[:, :20, :20], looks=57)  # said: nothing to warn about


def test_fill_values_are_no_samples():
    filled = noise()
    filled[:, :, :40] = 3
    assert in_words(filled, (11, 11)) == ("", "")
