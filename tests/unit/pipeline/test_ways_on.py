"""Ways on from a point that is not the best one."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import Verdict


def test_the_default_pipeline_leaves_the_twisted_ring():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.objective == pytest.approx(60, rel=1e-12)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "refuted" in result.method


def test_an_explicit_solver_is_literal_and_its_point_is_refuted():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, solver=ang.GPM(4.0), start=twisted)
    assert ang.distance(result.z, twisted) < 1e-6
    assert result.certificate.verdict is Verdict.REFUTED


def test_the_history_ends_at_the_answer_also_after_an_escape():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.history.objective[-1] == pytest.approx(60, rel=1e-12)
    assert result.history.objective.size == result.iterations + 1
    # the jump itself is an iteration, and seen by the callback
    seen = []
    ang.synchronize(ring.C, start=twisted, callback=lambda p: seen.append((p.iteration, p.objective)))
    assert [k for k, _ in seen] == list(range(len(seen)))
    assert len(seen) == result.history.objective.size
    lattice = ang.simulate.grid(20, 20, 0.5, rng=0)
    result = ang.synchronize(lattice.C, start="random")
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-10)
    assert result.history.objective.size == result.iterations + 1
