"""The ascent on unit rows; what the relaxation proves is tested with the certificate."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.solvers import LowRankSDP
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Status, Stopping


def test_rows_stay_on_the_spheres_and_the_objective_never_falls():
    operator = ang.as_operator(ang.simulate.gaussian(40, 0.8 * 40**0.5, rng=0).C)
    solver = LowRankSDP()
    start = solver.lift(np.ones(40, dtype=complex), np.random.default_rng(0))
    assert start.shape == (40, 7)  # 7^2 > 40
    outcome = iterate(operator, solver, start, Stopping(max_iterations=100))
    assert np.abs(np.linalg.norm(outcome.z, axis=1) - 1).max() < 1e-12
    assert np.diff(outcome.history.objective).min() >= -1e-12 * abs(outcome.objective)
    assert outcome.status in (Status.CONVERGED, Status.STALLED)


def test_the_loop_measures_the_rows_and_not_phases():
    C = ang.simulate.gaussian(20, 2.0, rng=0).C
    solver = LowRankSDP(rank=3)
    Y = solver.lift(np.ones(20, dtype=complex), np.random.default_rng(0))
    outcome = iterate(ang.as_operator(C), solver, Y, Stopping(max_iterations=0))
    assert outcome.objective == pytest.approx(float(np.trace(Y.conj().T @ C @ Y).real), rel=1e-12)
    s = np.sum(Y.conj() * (C @ Y), axis=1).real
    gradient = C @ Y - s[:, None] * Y
    assert outcome.residual == pytest.approx(np.linalg.norm(gradient) / np.linalg.norm(C @ Y), rel=1e-10)


@pytest.mark.parametrize(("n", "rank", "expected"), [(1, None, 1), (15, None, 4), (16, None, 5), (3, 8, 3), (40, 8, 8)])
def test_the_rank_is_the_smallest_whose_square_is_above_n_unless_given(n, rank, expected):
    assert LowRankSDP(rank=rank).rank_for(n) == expected


@pytest.mark.parametrize("settings", [{"rank": 0}, {"max_inner": 0}])
def test_bad_settings(settings):
    with pytest.raises(ang.errors.InputError, match=next(iter(settings))):
        LowRankSDP(**settings)
