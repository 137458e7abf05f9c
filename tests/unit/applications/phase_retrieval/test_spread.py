"""Error bars of a signal that was synchronized and not polished."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval import measure, recover, simulate


def test_error_bars_are_those_of_many_repetitions():
    truth = simulate(16, 3, rng=3)
    rng = np.random.default_rng(0)
    off = []
    for _ in range(80):
        data = truth.intensities + 1e-4 * rng.standard_normal(truth.intensities.shape)
        result = recover(data, truth.masks, polish=False, certify=False)
        turned = result.signal * np.exp(1j * np.angle(np.vdot(result.signal, truth.signal)))
        off.append(turned / truth.signal - 1)
    result = recover(measure(truth.signal, truth.masks), truth.masks, sigma=1e-4, polish=False)
    # 80 repetitions: 8 % a standard deviation
    assert np.sqrt(np.mean(np.imag(off) ** 2, axis=0)) == pytest.approx(result.phase_error, rel=0.32)
    sizes = np.abs(truth.signal) * np.sqrt(np.mean(np.real(off) ** 2, axis=0))
    assert sizes == pytest.approx(result.size_error, rel=0.32)


def test_probes_agree_with_all_intensities_one_by_one(monkeypatch):
    problem = simulate(24, 3, 40, rng=4)
    exact = recover(problem.intensities, problem.masks, polish=False)
    monkeypatch.setattr("angsync.applications.phase_retrieval.spread._EXACT_UP_TO_INTENSITIES", 10)
    probed = recover(problem.intensities, problem.masks, polish=False)
    # 200 probes: 5 % a standard deviation, common to many entries
    assert probed.phase_error == pytest.approx(exact.phase_error, rel=0.2)
    assert probed.size_error == pytest.approx(exact.size_error, rel=0.2)
