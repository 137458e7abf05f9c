"""Calls that cannot be meant get one message, and what is not known is said in words."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.errors import AngsyncWarning, FileFormatError, InputError


def test_files_that_hold_no_images(tmp_path):
    noise = tmp_path / "r.npy"
    noise.write_bytes(np.random.default_rng(0).bytes(200))
    with pytest.raises(FileFormatError, match=r"r\.npy"):
        phase_linking.link(str(noise))
    np.save(noise, np.array([None, {}], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match=r"r\.npy"):
        phase_linking.link(str(noise))
    folder = tmp_path / "nothing"
    folder.mkdir()
    with pytest.raises(FileFormatError, match="holds no GeoTIFFs"):
        phase_linking.link(str(folder))


@pytest.mark.parametrize("factor", [1e160, 1e-160])
def test_values_whose_squares_are_no_numbers_are_refused(factor):
    slc = phase_linking.simulate(4, (8, 8)).slc.astype(complex)
    with pytest.raises(InputError, match="whose squares cannot be computed"):
        phase_linking.link(slc * factor, 5)


def test_networks_of_another_form_are_refused():
    phase, coherence = np.zeros((3, 4, 4)), np.full((3, 4, 4), 0.5)
    with pytest.raises(InputError, match="gauge must be"):
        phase_linking.link_network(phase, coherence, [(0, 1), (1, 2), (0, 2)], gauge="a")
    with pytest.raises(InputError, match="pairs must have"):
        phase_linking.link_network(phase, coherence, [(0, 1), (1, 2), (0,)])


def test_what_is_not_known_is_said_in_words():
    with pytest.warns(AngsyncWarning, match="no pixel"):
        linked = phase_linking.link(np.zeros((3, 5, 5), complex))
    assert "nan" not in str(linked)
    assert "not known" in str(linked)
