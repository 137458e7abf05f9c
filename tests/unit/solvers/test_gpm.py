"""GPM as the paper writes it (row A1)."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.problem.operators import CountingOperator
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
    # node 2 hears two neighbors that cancel exactly
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


@pytest.mark.parametrize("alpha", [0, -1, np.nan])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ang.errors.InputError, match="alpha must be positive"):
        ang.GPM(alpha)


@pytest.mark.parametrize("alpha", [4.0, np.inf])
def test_it_passes_the_shipped_check_and_is_described_with_its_alpha(alpha):
    check_solver(ang.GPM(alpha))
    assert ang.GPM(alpha).describe() == repr(ang.GPM(alpha)) == f"GPM(alpha={alpha})"
