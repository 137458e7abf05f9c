"""Ctrl-C during a robust fit: always INTERRUPTED, with the best so far."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from problems import corrupted, interrupt, mean_error, outcomes_of_signals

import angsync as ang
from angsync import Status
from angsync.pipeline import plain
from angsync.pipeline.robust import search, solve

PROBLEM = """
rng = np.random.default_rng(0)
n, m = 120, 2000
t = rng.uniform(0, 6.28, n)
i = rng.integers(0, n, m)
j = (i + rng.integers(1, n, m)) % n
a = t[i] - t[j] + 0.1 * rng.standard_normal(m)
bad = rng.random(m) < 0.8
a[bad] = rng.uniform(-3, 3, bad.sum())
M = ang.Measurements(i, j, angle=a, n=n)
def solve():
    return ang.synchronize(M, solver=ang.Robust(), on_failure="ignore")
"""


def at_call(original, number):
    """The function, interrupted at this call of it."""
    calls = []

    def counted(*arguments, **options):
        calls.append(1)
        return interrupt() if len(calls) == number else original(*arguments, **options)

    return counted


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize(
    ("module", "name", "number", "weights"),
    [
        (plain, "taken_in", 1, False),  # inside the first fit of all measurements
        (search, "reweight", 1, False),  # after it
        (search, "reweight", 2, True),
        (search, "vote", 1, True),
        (solve, "iterate", 9, False),
        (solve, "is_credible", 1, True),
        (solve, "_finished", 1, True),
    ],
)
def test_at_every_stage_there_is_an_answer(monkeypatch, module, name, number, weights, certify):
    problem = corrupted(n=60, good=0.75, seed=1)
    monkeypatch.setattr(module, name, at_call(getattr(module, name), number))
    result = ang.synchronize(problem.measurements, solver=ang.Robust(), certify=certify)
    assert result.status is Status.INTERRUPTED
    assert result.message.startswith(Status.INTERRUPTED.value)
    assert (result.certificate is None) if not certify else result.certificate.interrupted
    assert bool((result.robust.weights != 1).any()) is weights
    assert result.robust.credible is (True if name == "_finished" else None)
    C = problem.measurements.to_sparse()
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real)
    assert result.objective > 0.2 * abs(C).sum()
    if weights:
        assert mean_error(result.z, problem.z) < 0.1


def test_inside_a_round_of_reweighting(monkeypatch):
    original = solve.iterate
    monkeypatch.setattr(solve, "iterate", lambda *a, **o: original(*a, **o, callback=interrupt))
    result = ang.synchronize(corrupted(n=60, good=0.75, seed=1).measurements, solver=ang.Robust())
    assert result.status is Status.INTERRUPTED


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that send signals")
def test_signals_at_many_moments():
    outcomes = outcomes_of_signals(PROBLEM, 12)
    assert {status for status, _, _ in outcomes} <= {"INTERRUPTED", "CONVERGED", "late"}
    for status, objective, best in outcomes:
        if status == "INTERRUPTED":
            assert objective > 0.3 * best
