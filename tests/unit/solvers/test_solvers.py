"""GPM as the paper writes it (row A1), Newton, and the checks that every solver must pass."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

import angsync as ang
from angsync.problem.operators import CountingOperator, DenseOperator
from angsync.solvers import newton
from angsync.solvers.gpm import GPMState
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Stopping
from angsync.testing import check_solver


@pytest.mark.parametrize("alpha", [0.5, 4.0, 100.0])
def test_gpm_is_algorithm_1_literally(alpha):
    C = ang.simulate.gaussian(12, 1.0, rng=0).C
    z = np.exp(1j * np.random.default_rng(1).uniform(0, 6, 12))
    operator = ang.as_operator(C)
    state = ang.GPM(alpha).init(operator, z)
    for _ in range(5):
        w = (np.eye(12) + alpha / 12 * C) @ z
        z = w / np.abs(w)
        state = ang.GPM(alpha).step(operator, state)
        assert np.abs(state.z - z).max() < 1e-13
        assert np.abs(state.Cz - C @ z).max() < 1e-12


def test_alpha_inf_is_the_projected_power_method():
    C = ang.simulate.gaussian(12, 1.0, rng=0).C
    operator = ang.as_operator(C)
    state = ang.GPM(np.inf).step(operator, ang.GPM(np.inf).init(operator, np.ones(12, dtype=complex)))
    w = C @ np.ones(12)
    assert np.abs(state.z - w / np.abs(w)).max() < 1e-13


def test_a_zero_entry_of_w_keeps_its_phase():
    # node 2 hears two neighbours that cancel exactly
    C = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=complex)
    z = np.array([1, -1, 1j])
    state = ang.GPM(np.inf).step(ang.as_operator(C), GPMState(z, C @ z))
    assert state.z[2] == 1j
    assert np.allclose(np.abs(state.z), 1)


def test_one_product_a_step():
    operator = CountingOperator(ang.as_operator(ang.simulate.gaussian(20, 0.5, rng=0).C))
    outcome = iterate(operator, ang.GPM(4.0), np.ones(20, dtype=complex), Stopping(tolerance=0, max_iterations=7))
    assert outcome.iterations == 7
    assert operator.products == 8


def test_complex64_stays_complex64():
    C = ang.simulate.gaussian(20, 0.5, rng=0).C.astype(np.complex64)
    for solver in (ang.GPM(4.0), ang.GPM(np.inf), ang.Newton()):
        outcome = iterate(ang.as_operator(C), solver, np.ones(20, dtype=np.complex64), Stopping())
        assert outcome.z.dtype == outcome.Cz.dtype == np.complex64
        assert outcome.residual <= 1e-5


@pytest.mark.parametrize("alpha", [0, -1, np.nan])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ang.errors.InputError, match="alpha must be positive"):
        ang.GPM(alpha)


def test_max_inner_must_be_positive():
    with pytest.raises(ang.errors.InputError, match="max_inner"):
        ang.Newton(max_inner=0)


@pytest.mark.parametrize("solver", [ang.GPM(4.0), ang.GPM(np.inf), ang.Newton(), ang.Newton(max_inner=3)])
def test_shipped_solvers_pass_the_shipped_check(solver):
    check_solver(solver, monotone=isinstance(solver, ang.Newton))


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


@dataclass(frozen=True)
class Leaves(ang.GPM):
    def step(self, operator, state):
        z = state.z * 1.01
        return GPMState(z, operator.apply(z))


@dataclass(frozen=True)
class StaleProduct(ang.GPM):
    def step(self, operator, state):
        new = super().step(operator, state)
        return GPMState(new.z, new.Cz * (1 + 1e-3))


@dataclass
class NotFrozen:
    alpha: float = 4.0

    def init(self, operator, z):
        return ang.GPM().init(operator, z)

    def step(self, operator, state):
        return ang.GPM().step(operator, state)


@dataclass(frozen=True)
class GaugeDependent(ang.GPM):
    def step(self, operator, state):
        new = super().step(operator, state)
        z = new.z * np.exp(0.1j * new.z.real)
        return GPMState(z, operator.apply(z))


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Leaves(), "converge|left"),
        (StaleProduct(), "not the product"),
        (NotFrozen(), "frozen"),
        (GaugeDependent(), "converge|equivariant|objective"),
    ],
)
def test_the_shipped_check_can_fail(solver, message):
    with pytest.raises(AssertionError, match=message):
        check_solver(solver)


def test_the_monotone_check_can_fail():
    with pytest.raises(AssertionError, match="fall"):
        check_solver(ang.GPM(np.inf), monotone=True)


def test_dense_operator_is_what_solvers_see():
    assert isinstance(ang.as_operator(np.eye(2)), DenseOperator)


def test_newton_refuses_a_step_that_would_lose_objective(monkeypatch):
    # A model that lies: every inner step claims a gain, but points downhill. The safeguard must not take it.
    problem = ang.simulate.gaussian(15, 0.5, rng=0)
    operator = ang.as_operator(problem.C)
    start = ang.Newton().init(operator, problem.z * np.exp(0.3j * np.arange(15)))
    honest = newton.maximise_model

    def lying(*arguments):
        inner = honest(*arguments)
        return dataclasses.replace(inner, t=-inner.t)

    monkeypatch.setattr(newton, "maximise_model", lying)
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
    monkeypatch.setattr(newton, "_SLOW", 1)
    automatic = ang.Newton()
    first = automatic.init(operator, grid.z)
    assert first.kind == "jacobi"
    assert automatic.step(operator, first).kind == "direct"


class Exact:
    """A preconditioner that is the identity, so that lengths are plain lengths."""

    def solve(self, r):
        return r.copy()


@pytest.mark.parametrize("radius", [1e-3, 0.5, 1e6])
def test_the_inner_solution_maximises_the_model_within_the_radius(radius):
    # against the exact solution of the trust-region problem on the complement of the constant vector
    rng = np.random.default_rng(0)
    A = rng.standard_normal((12, 8))
    H = A @ A.T
    centre = np.eye(12) - 1 / 12
    H = centre @ (H + np.eye(12)) @ centre
    b = rng.standard_normal(12)
    b -= b.mean()
    inner = newton.maximise_model(lambda t: H @ t, b, Exact(), radius, 1e30, 500)
    t = inner.t
    assert inner.gain == pytest.approx(2 * b @ t - t @ H @ t, rel=1e-10)
    assert np.linalg.norm(t) == pytest.approx(inner.length, rel=1e-8)
    assert np.linalg.norm(t) <= radius * (1 + 1e-12)
    if radius == 1e6:
        assert not inner.at_boundary
        assert np.abs(H @ t - b).max() < 1e-4
    else:
        assert inner.at_boundary
        # Steihaug: at least the Cauchy point
        step = min(radius / np.linalg.norm(b), (b @ b) / (b @ H @ b))
        assert inner.gain >= 2 * step * (b @ b) - step**2 * (b @ H @ b) - 1e-12


def test_negative_curvature_goes_to_the_boundary():
    H = -np.diag([1.0, 2.0, 3.0])
    inner = newton.maximise_model(lambda t: H @ t, np.array([1.0, -1.0, 0.0]), Exact(), 0.7, 1.0, 50)
    assert inner.at_boundary
    assert np.linalg.norm(inner.t) == pytest.approx(0.7)
    assert inner.gain > 2 * 0.7  # more than the linear part: b has length sqrt 2, and H bends upwards
    nothing = newton.maximise_model(lambda t: H @ t, np.ones(3), Exact(), 0.7, 1.0, 50)  # b is a constant: no gradient
    assert nothing.gain == nothing.length == 0.0
