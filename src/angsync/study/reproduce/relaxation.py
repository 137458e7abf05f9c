"""A3: the semidefinite relaxation compared with GPM."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync import simulate
from angsync.certificate.relaxation import Relaxation, relax
from angsync.certificate.verdict import Verdict
from angsync.front_door import synchronize
from angsync.problem.operators import as_operator
from angsync.solvers import GPM, LowRankSDP
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Clock, Stopping
from angsync.study.reproduce.rows import Piece, Row, Trials, frequency
from angsync.study.reproduce.sizes import Size

_LOW = 0.2
"""Noise (over sqrt n) up to which the relaxation has to be tight."""
_TOLERANCE = 1e-6  # relative: gap of the bounds, and difference of the optimum from that of GPM


def solve_relaxation(C: NDArray, rng: np.random.Generator, tolerance: float = 1e-9) -> Relaxation:
    """The relaxation from the eigenvector estimator."""
    operator = as_operator(C)
    stopping = Stopping(tolerance=tolerance, max_iterations=200)
    z = eigenvector_estimator(operator)
    return relax(operator, z, solver=LowRankSDP(), stopping=stopping, clock=Clock(), rng=rng)


def semidefinite_relaxation(size: Size, trials: Trials) -> Piece:
    """A3: bounds in the right order and close, tight at low noise, where the optimum is GPM's."""
    settings = [
        (n, noise) for n in (20, 50) for noise in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0) for _ in range(size.relaxations)
    ]
    disorder, gap, disagreement = 0.0, 0.0, 0.0
    tight_low = low = tight_high = not_above = 0
    for k, rng in trials(len(settings)):
        n, noise = settings[k]
        problem = simulate.gaussian(n, noise * math.sqrt(n), rng=rng)
        found = solve_relaxation(problem.C, rng)
        result = synchronize(
            problem.C, solver=GPM(4.0), stopping=Stopping(max_iterations=2000), on_failure="ignore", rng=0
        )
        size_of_f = abs(found.value)
        disorder = max(disorder, (found.value - found.upper_bound) / size_of_f)
        gap = max(gap, (found.upper_bound - found.value) / size_of_f)
        not_above += not result.objective <= found.upper_bound * (1 + 1e-12)
        if noise <= _LOW:
            low += 1
            tight_low += found.tight
            certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
            if certified:
                disagreement = max(disagreement, abs(found.value - result.objective) / size_of_f)
            else:
                disagreement = math.inf
        else:
            tight_high += found.tight
    measured = (
        f"proved bound within {gap:.0e} of the value (relative); tight in {tight_low} of {low} problems with sigma <= "
        f"{_LOW} sqrt(n), where f* = the certified f of GPM to {disagreement:.0e}; tight in "
        f"{frequency(tight_high, len(settings) - low)} above; GPM above the bound in {not_above}"
    )
    held = (
        disorder <= 1e-12 and gap <= _TOLERANCE and tight_low == low and disagreement <= _TOLERANCE and not_above == 0
    )
    return Piece((Row("A3", measured, held, f"{_TOLERANCE:g} relative, 1e-12 for the order", len(settings)),))
