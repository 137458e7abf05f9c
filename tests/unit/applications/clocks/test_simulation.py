"""Networks with known truth."""

import numpy as np
import pytest

from angsync.applications import clocks
from angsync.errors import InputError


def test_links_are_near_and_say_the_truth_up_to_jitter():
    made = clocks.simulate(200, jitter=0.5, bad=0.05, rng=1)
    a = made.links
    distance = np.linalg.norm(made.position[a.i] - made.position[a.j], axis=1)
    assert distance.max() < np.sqrt(12.6 / (np.pi * 200))
    assert 950 < len(a) < 1250
    error = a.offset - (made.offset[a.i] - made.offset[a.j])
    good = error[~made.is_bad]
    assert good.std() == pytest.approx(0.5, rel=4 / np.sqrt(2 * good.size))
    assert np.abs(np.abs(error[made.is_bad]) - 10).max() < 5 * 0.5
    assert made.is_bad.sum() == round(0.05 * len(a))


def test_rounds_are_lost_and_clocks_drift():
    made = clocks.simulate(50, jitter=0.0, rounds=4, interval=2.0, drift=1.0, lost=0.25, rng=2)
    a = made.links
    assert np.unique(a.time).tolist() == [-3.0, -1.0, 1.0, 3.0]
    whole = len(clocks.simulate(50, rng=2).links) * 4
    assert abs(len(a) - 0.75 * whole) < 4 * np.sqrt(whole * 0.75 * 0.25)
    np.testing.assert_allclose(
        a.offset, made.offset[a.i] - made.offset[a.j] + (made.skew[a.i] - made.skew[a.j]) * a.time, atol=1e-9
    )


def test_what_cannot_be_simulated_is_refused():
    for options in ({"n": 1}, {"lost": 1.0}, {"radio_range": 1e-9}):
        with pytest.raises(InputError):
            clocks.simulate(**{"n": 5, **options})
