"""The ways in which users make a matrix: the model and the level of noise are those of the others."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.study.bench.problems import SAME_OPTIMUM, sigma_of
from angsync.study.bench.ways import WAYS, ways_at


@pytest.mark.parametrize("name", list(WAYS))
@pytest.mark.parametrize("level", SAME_OPTIMUM)
def test_every_way_is_the_same_model_at_the_same_level(name, level):
    if name not in ways_at(level):
        pytest.skip("not tried at this level")
    n = 300
    C = WAYS[name](n, level, 1)
    assert np.array_equal(C, WAYS[name](n, level, 1))
    truth = np.exp(1j * np.random.default_rng(1).uniform(0, 2 * np.pi, n))
    turned = (truth.conj()[:, None] * C * truth[None, :])[np.triu_indices(n, 1)]
    mean, spread = turned.mean(), turned.std()
    # 44,850 entries: the spread of their mean is sigma / 212, so six times that is 0.028 sigma
    assert abs(spread / abs(mean) / sigma_of(level, n) - 1) < 0.05 + 0.028 * sigma_of(level, n)
    result = ang.synchronize(C)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert abs(np.vdot(truth, result.z)) > 0.9 * n


def test_the_list_has_what_users_have():
    C = {name: make(50, "0.1", 0) for name, make in WAYS.items()}
    assert not np.array_equal(C["outer plus noise"], C["outer plus noise"].conj().T)
    assert C["Fortran order"].flags.f_contiguous
    assert not C["Fortran order"].flags.c_contiguous
    assert C["complex64"].dtype == np.complex64
    assert np.allclose(np.abs(C["exp of angles"]), 1)
