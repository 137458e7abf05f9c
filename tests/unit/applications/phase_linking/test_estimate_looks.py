"""Looks that cannot be: more than a window has samples, infinitely many, or no number."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.errors import InputError


@pytest.mark.parametrize("looks", [49.5, 1e9, np.inf, np.nan, -3, "a"])
def test_a_window_has_no_more_looks_than_samples(looks):
    slc = phase_linking.simulate(4, (8, 8)).slc
    with pytest.raises(InputError, match="looks must be"):
        phase_linking.link(slc, window=(7, 7), looks=looks)


def test_as_many_looks_as_samples_are_taken():
    slc = phase_linking.simulate(4, (8, 8)).slc
    assert phase_linking.link(slc, window=(7, 7), looks=49).looks.max() == 49


@pytest.mark.parametrize("looks", [np.inf, np.nan, "a", [3.0, np.inf]])
def test_matrices_have_finitely_many_looks(looks):
    C = np.broadcast_to(phase_linking.coherence_of(4), (2, 4, 4))
    with pytest.raises(InputError, match="looks must be"):
        phase_linking.link_covariance(C, looks=looks)


@pytest.mark.parametrize("window", [3.5, "axb", None, (3, 3.5)])
def test_a_window_is_made_of_whole_numbers(window):
    slc = phase_linking.simulate(4, (8, 8)).slc
    with pytest.raises(InputError, match="window must be"):
        phase_linking.link(slc, window=window)
