"""How probable it is that an answer is far off, by all causes together."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import angsync as ang
from angsync.errors import CorruptionWarning
from angsync.pipeline.robust.marginal import doubt


def test_large_noise_on_long_loops_is_not_credible():
    rng = np.random.default_rng(0)
    n = 60
    i, j = np.r_[np.arange(n), rng.integers(0, n, 20)], np.r_[(np.arange(n) + 1) % n, rng.integers(0, n, 20)]
    theta = rng.uniform(-3, 3, n)
    data = ang.Measurements(i, j, theta[i] - theta[j] + 0.2 * rng.standard_normal(i.size), n=n)
    with pytest.warns(CorruptionWarning, match="the phases are off by more than 10 degrees on average"):
        report = ang.synchronize(data, solver=ang.Robust()).robust
    assert report.credible is False


@pytest.mark.parametrize(("chance", "credible", "said"), [(0.1, True, False), (0.2, True, True), (0.35, False, True)])
def test_a_doubt_is_said_before_it_is_a_verdict(chance, credible, said, monkeypatch):
    monkeypatch.setattr(doubt, "_chance_of_another", lambda *given: chance)
    rng = np.random.default_rng(3)
    i, j = np.r_[np.arange(12), np.arange(12)], np.r_[np.arange(1, 13), np.arange(3, 15)] % 12
    measurements = ang.Measurements(i, j, 0.02 * rng.standard_normal(i.size))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CorruptionWarning)
        robust = ang.synchronize(measurements, solver=ang.Robust()).robust
    assert robust.credible is credible
    assert (f"{chance:.0%} the phases are off" in robust.note) is said
    assert [f"{chance:.0%}" in str(one.message) for one in told] == [True] * said
