"""Every claim of the reproduction is seen to fail when something is wrong."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from reproduction import ROW_OF_EXPERIMENT, TINY

from angsync import circle, simulate, theory, uncertainty
from angsync.certificate import relaxation
from angsync.problem import objective
from angsync.solvers import GPM
from angsync.solvers.starts import eigenvector
from angsync.study.reproduce import CLAIMS, EXPERIMENTS, seed_of
from angsync.study.reproduce import efficiency as efficiency_module
from angsync.study.reproduce.rows import Trials


def _shrunk(function, factor, *names):
    """The function with these fields of its result multiplied by a factor."""

    @functools.wraps(function)
    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        return dataclasses.replace(found, **{name: getattr(found, name) * factor for name in names})

    return wrong


def _largest_in_modulus(operator, tolerance, rng):
    values, vectors = np.linalg.eigh(np.asarray(operator.apply(np.eye(operator.n, dtype=complex))))
    return vectors[:, int(np.argmax(np.abs(values)))]


def _scaled_step(self, operator, state, step=GPM.step):
    return step(GPM(alpha=1.01 * min(self.alpha, 1e6)), operator, state)


def _wrong_constants(function, **factors):
    """Theorem 3 with wrong constants of Proposition 5."""

    @functools.wraps(function)
    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        values = {name: getattr(found.constants, name) * factor for name, factor in factors.items()}
        return dataclasses.replace(found, constants=dataclasses.replace(found.constants, **values))

    return wrong


def _half_the_right_side(function, inner=None):
    @functools.wraps(function)
    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        sides = found if inner is None else getattr(found, inner)
        halved = dataclasses.replace(sides, right=sides.right / 2)
        return halved if inner is None else dataclasses.replace(found, **{inner: halved})

    return wrong


_ORIGINAL_DISTANCE, _ORIGINAL_GAUSSIAN = circle.distance, simulate.gaussian
_ORIGINAL_CONSTANT, _ORIGINAL_BOUND = objective.least_squares_constant, relaxation.dual_bound

PLANTED = {
    "M1: 10 % more noise": (simulate, "gaussian", lambda n, s, rng=None: _ORIGINAL_GAUSSIAN(n, 1.1 * s, rng=rng)),
    "M2: wrong constant": (objective, "least_squares_constant", lambda C: 1.0001 * _ORIGINAL_CONSTANT(C)),
    "M3: 1 % too large": (circle, "distance", lambda w, z, q=2: 1.01 * _ORIGINAL_DISTANCE(w, z, q)),
    "M3: 1 % too small": (circle, "distance", lambda w, z, q=2: 0.99 * _ORIGINAL_DISTANCE(w, z, q)),
    "A1: step size off by 1 %": (GPM, "step", _scaled_step),
    "A2: largest eigenvalue in modulus": (eigenvector, "leading_eigenvector", _largest_in_modulus),
    "A3: bound too low": (relaxation, "dual_bound", lambda C, y: 0.9999 * _ORIGINAL_BOUND(C, y)),
    "F1: 1/2 for 8": (theory, "eigenvector_error_bound", _shrunk(theory.eigenvector_error_bound, 1 / 16, "bound")),
    "F3: 1/4 for 4": (theory, "maximizer_error_bound", _shrunk(theory.maximizer_error_bound, 1 / 16, "bound")),
    "F4: distance": (theory, "critical_point_bounds", _shrunk(theory.critical_point_bounds, 1 / 60, "distance")),
    "T1: an eighth": (theory, "l2_error_bound", _shrunk(theory.l2_error_bound, 1 / 8, "bounds")),
    "T2: an eighth": (theory, "linf_error_bound", _shrunk(theory.linf_error_bound, 1 / 8, "bounds")),
    "P1: 1 for 2": (theory, "normalization_bound", _half_the_right_side(theory.normalization_bound)),
    "P2: 1 for 2": (theory, "one_step_bound", _half_the_right_side(theory.one_step_bound, "inequality")),
    "P2: identity": (
        theory, "one_step_bound", lambda *a: dataclasses.replace(theory.estimation.one_step_bound(*a), identity_error=1)
    ),
    "C1: l2": (theory, "gaussian_error_bounds", _shrunk(theory.gaussian_error_bounds, 1 / 30, "l2")),
    "C1: l-infinity": (theory, "gaussian_error_bounds", _shrunk(theory.gaussian_error_bounds, 1 / 30, "linf")),
    "C1: square": (theory, "gaussian_error_bounds", _shrunk(theory.gaussian_error_bounds, 1e-4, "expected_square")),
    "C1: conditions": (
        theory, "gaussian_error_bounds",
        lambda n, s, *a: theory.estimation.gaussian_error_bounds(n, 2 * s, *a),
    ),
    "T3: rate": (theory, "linear_convergence", _shrunk(theory.linear_convergence, 1e-3, "rate")),
    "T3: factor": (theory, "linear_convergence", _shrunk(theory.linear_convergence, 1e-3, "factor")),
    "C2: rate": (theory, "linear_convergence", _shrunk(theory.linear_convergence, 1e-3, "rate")),
    "P3: 4/5 for 8": (theory, "optimum_distance_bound", _shrunk(theory.optimum_distance_bound, 1 / 10, "bound")),
    "P4: 4/5 for 8": (theory, "critical_distance_bound", _shrunk(theory.critical_distance_bound, 1 / 10, "bound")),
    "P5: a0": (theory, "linear_convergence", _wrong_constants(theory.linear_convergence, a0=10)),
    "P5: a1": (theory, "linear_convergence", _wrong_constants(theory.linear_convergence, a1=1 / 4)),
    "P5: a2": (theory, "linear_convergence", _wrong_constants(theory.linear_convergence, a2=1 / 4)),
    "B1: efficiency": (efficiency_module, "cramer_rao", lambda n, s: 0.8 * s**2 / 2 * (n - 1) / n),
    "B1: definition": (theory, "cramer_rao_bound", lambda m, s: 1.001 * uncertainty.cramer_rao_bound(m, s)),
}  # fmt: skip


def test_every_row_with_a_verdict_has_a_planted_mistake():
    assert {name[:2] for name in PLANTED} == set(CLAIMS) - {"F2"} == set(ROW_OF_EXPERIMENT)


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_turns_the_row_red(mistake, monkeypatch):
    row = mistake[:2]
    monkeypatch.setattr(*PLANTED[mistake])
    name = ROW_OF_EXPERIMENT[row]
    piece = EXPERIMENTS[name](TINY, Trials(seed_of(0, name)))
    assert not next(found for found in piece.rows if found.id == row).held
