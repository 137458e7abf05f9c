"""Newton's method on phases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.solvers import newton
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Stopping
from angsync.testing import check_solver


def test_max_inner_must_be_positive():
    with pytest.raises(ang.errors.InputError, match="max_inner"):
        ang.Newton(max_inner=0)


def test_newton_from_a_rough_point_never_loses_objective_and_ends_at_second_order():
    for seed in range(5):
        lattice = ang.simulate.grid(6, 7, 0.5, rng=seed)
        z = np.exp(1j * np.random.default_rng(seed).uniform(0, 2 * np.pi, 42))
        outcome = iterate(ang.as_operator(lattice.C), ang.Newton(), z, Stopping())
        assert np.diff(outcome.history.objective).min() >= -1e-13 * abs(outcome.objective)
        from angsync.problem.criticality import criticality

        assert criticality(lattice.C, outcome.z).second_order


def test_newton_reaches_tolerances_below_the_rounding_of_f():
    problem = ang.simulate.grid(30, 30, 0.3, rng=0)
    outcome = iterate(ang.as_operator(problem.C), ang.Newton(), problem.z, Stopping(tolerance=1e-14))
    assert outcome.residual <= 1e-14


def test_newton_refuses_a_step_that_would_lose_objective(monkeypatch):
    # A model that lies: every inner step claims a gain, but points downhill. The safeguard must not take it.
    problem = ang.simulate.gaussian(15, 0.5, rng=0)
    operator = ang.as_operator(problem.C)
    start = ang.Newton().init(operator, problem.z * np.exp(0.3j * np.arange(15)))
    honest = newton.maximize_model

    def lying(*arguments):
        inner = honest(*arguments)
        return dataclasses.replace(inner, t=-inner.t)

    monkeypatch.setattr(newton, "maximize_model", lying)
    after = ang.Newton().step(operator, start)
    assert after.exhausted
    assert np.array_equal(after.z, start.z)


@pytest.mark.parametrize("kind", ["jacobi", "direct", "multigrid"])
def test_newton_reaches_one_optimum_with_every_preconditioner(kind):
    grid = ang.simulate.grid(20, 20, 0.4, rng=3)
    outcome = iterate(ang.as_operator(grid.C), ang.Newton(preconditioner=kind), grid.z, Stopping())
    reference = iterate(ang.as_operator(grid.C.toarray()), ang.Newton(), grid.z, Stopping())
    assert outcome.objective == pytest.approx(reference.objective, rel=1e-13)
    assert np.diff(outcome.history.objective).min() >= -1e-13 * outcome.objective
    assert ang.distance(outcome.z, reference.z, np.inf) < 1e-6
    check_solver(ang.Newton(preconditioner=kind), monotone=True)


def test_an_unknown_preconditioner_is_named():
    with pytest.raises(ang.errors.InputError, match="'jacobi', 'direct' or 'multigrid'"):
        ang.Newton(preconditioner="ilu")


def test_a_preconditioner_is_used_again_while_it_serves_and_changed_where_it_is_slow(monkeypatch):
    grid = ang.simulate.grid(20, 20, 0.4, rng=3)
    operator = ang.as_operator(grid.C)
    solver = ang.Newton(preconditioner="direct")
    state = solver.step(operator, solver.init(operator, grid.z))
    assert state.preconditioner is not None
    assert solver.step(operator, state).preconditioner is state.preconditioner
    monkeypatch.setattr(newton, "kind_for", lambda _: "jacobi")
    monkeypatch.setattr(newton, "_SLOW_ITERATIONS", 1)
    automatic = ang.Newton()
    first = automatic.init(operator, grid.z)
    assert first.kind == "jacobi"
    assert automatic.step(operator, first).kind == "direct"


@pytest.mark.parametrize("solver", [ang.Newton(), ang.Newton(max_inner=3)])
def test_it_passes_the_shipped_check(solver):
    check_solver(solver, monotone=True)
