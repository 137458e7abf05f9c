"""What a solver is: the hooks of the base classes, and solvers that only follow the protocol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import angsync as ang
from angsync.problem.operators import DenseOperator
from angsync.solvers.base import Solver, SolverBase, State, StateBase, as_solver
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import SINGLE_RESIDUAL_TOLERANCE, Stopping

PROBLEM = ang.simulate.gaussian(30, 1.0, rng=0)
OPERATOR = ang.as_operator(PROBLEM.C)
SHIPPED = [ang.GPM(), ang.AcceleratedGPM(), ang.Newton(), ang.LowRankSDP()]


@dataclass(frozen=True)
class OwnState:
    z: np.ndarray
    Cz: np.ndarray
    exhausted: bool = False
    memory: float = 0.0  # something that only its solver knows


@dataclass(frozen=True)
class Own:
    """The power method with a shift and a memory, by the protocol alone."""

    shift: float = 30.0

    def init(self, operator, z):
        return OwnState(z, operator.apply(z))

    def step(self, operator, state):
        w = state.Cz + self.shift * state.z
        z = w / np.abs(w)
        return OwnState(z, operator.apply(z), memory=state.memory + 1)


@pytest.mark.parametrize("solver", SHIPPED, ids=str)
def test_shipped_solvers_declare_every_hook(solver):
    assert as_solver(solver) is solver
    assert isinstance(solver, Solver)
    assert solver.describe().startswith(type(solver).__name__)
    assert isinstance(solver.limited_to(3, 1e-6), type(solver))
    z = PROBLEM.z if not isinstance(solver, ang.LowRankSDP) else solver.lift(PROBLEM.z, np.random.default_rng(0))
    state = solver.init(OPERATOR, z)
    assert isinstance(state, StateBase)
    assert isinstance(state, State)
    assert state.intermediate == ()
    assert all(np.isfinite(state.measured(0.0)))


def test_what_shipped_solvers_answer_and_how_they_print():
    assert [solver.starts for solver in SHIPPED] == [1, None, 1, 1]
    assert [solver.takes_further_starts for solver in SHIPPED] == [False, True, False, False]
    assert [solver.finishes_light_rows for solver in SHIPPED] == [False, True, True, False]
    assert [repr(solver) for solver in SHIPPED] == [
        "GPM(alpha=4.0)",
        "AcceleratedGPM(max_inner=200, starts=None)",
        "Newton(max_inner=500, preconditioner='auto')",
        "LowRankSDP(rank=None, max_inner=200)",
    ]


def test_a_solver_that_only_follows_the_protocol_is_wrapped_once():
    wrapped = as_solver(Own())
    assert isinstance(wrapped, SolverBase)
    assert as_solver(wrapped) is wrapped
    assert (str(wrapped), repr(wrapped), wrapped.describe()) == ("Own(shift=30.0)", "Own(shift=30.0)", "Own")
    assert (wrapped.starts, wrapped.takes_further_starts, wrapped.finishes_light_rows) == (1, False, False)
    assert wrapped.limited_to(1, 0.5) is wrapped
    state = wrapped.step(OPERATOR, wrapped.init(OPERATOR, PROBLEM.z))
    state = wrapped.step(OPERATOR, state)
    assert state.given.memory == 2  # its own state comes back to it


def test_it_works_at_the_front_door_and_is_named_in_the_result():
    result = ang.synchronize(PROBLEM.C, solver=Own())
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.method.startswith("Own(shift=30.0) from the eigenvector estimator, as asked for")


def test_in_single_precision_solvers_stay_in_it():
    C = ang.simulate.gaussian(20, 0.5, rng=0).C.astype(np.complex64)
    for solver in (ang.GPM(4.0), ang.GPM(np.inf), ang.Newton()):
        outcome = iterate(ang.as_operator(C), solver, np.ones(20, dtype=np.complex64), Stopping())
        assert outcome.z.dtype == outcome.Cz.dtype == np.complex64
        assert outcome.residual <= SINGLE_RESIDUAL_TOLERANCE


def test_dense_operator_is_what_solvers_see():
    assert isinstance(ang.as_operator(np.eye(2)), DenseOperator)
