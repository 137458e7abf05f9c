"""What the coefficients of a Lanczos run prove: compiled against NumPy, and both against what is true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import tridiagonal

from angsync.kernels.lanczos import reference
from angsync.kernels.lanczos.reference import Goal, RunEnding

compiled = pytest.importorskip(
    "angsync.kernels.lanczos.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
BOTH = [compiled, reference]


def coefficients(steps, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(steps), 0.2 + rng.random(steps)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 60])
def test_growth_is_the_sum_of_the_squared_polynomials(module, steps):
    alpha, beta = coefficients(steps)
    smallest = np.linalg.eigvalsh(tridiagonal(alpha, beta))[0]
    for away in (1e-3, 0.1, 1.0, 10.0):
        shift = smallest - away
        q = [0.0, 1.0]
        for k in range(steps):
            q.append(((shift - alpha[k]) * q[-1] - (beta[k - 1] if k else 0.0) * q[-2]) / beta[k])
        assert module.growth(alpha, beta, shift) == pytest.approx(sum(x * x for x in q), rel=1e-6)
    for shift in (smallest + 1e-9, smallest + 0.1, 100.0):
        assert module.growth(alpha, beta, shift) == -1


@pytest.mark.parametrize("module", BOTH)
def test_growth_at_the_ends_of_arithmetic(module):
    alpha, beta = coefficients(200)
    assert module.growth(alpha, beta, -1e6) == np.inf
    assert module.growth(alpha, np.append(beta[:-1], 0.0), -10.0) == np.inf  # the whole space: nothing is left over
    # what is not a number proves nothing
    for k in (0, 3, 9):
        for which in (0, 1):
            arrays = coefficients(10)
            arrays[which][k] = np.nan
            assert not module.growth(*arrays, -10.0) >= 1
            assert module.verdict(*arrays, Goal(-10.0, 1.0, 0.0)) is RunEnding.GOING_ON


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("steps", [1, 2, 3, 24, 25, 90])
@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**60])
def test_the_smallest_ritz_pair(module, steps, scale):
    alpha, beta = coefficients(steps, seed=steps)
    alpha, beta = scale * alpha, scale * beta
    T = tridiagonal(alpha, beta)
    smallest = np.linalg.eigvalsh(T)[0]
    assert module.smallest_ritz_value(alpha, beta) == pytest.approx(smallest, rel=1e-13, abs=1e-14 * scale)
    y = module.smallest_ritz_vector(alpha, beta)
    assert np.linalg.norm(y) == pytest.approx(1)
    assert np.linalg.norm(T @ y - smallest * y) < 1e-13 * scale


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("limit", [2.0, 1e4, 1e13])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_what_is_proved_is_the_most_that_can_be(module, limit, steps):
    alpha, beta = coefficients(steps)
    value = module.proved_by_lanczos(alpha, beta, limit)
    smallest = np.linalg.eigvalsh(tridiagonal(alpha, beta))[0]
    assert value < smallest + 1e-14
    assert reference.growth(alpha, beta, value - 1e-14) >= limit * (1 - 1e-9)
    if reference.growth(alpha, beta, smallest - 1e-12) < limit:
        assert reference.growth(alpha, beta, value + 1e-5 * (smallest - value)) < limit
    else:  # a space that is nearly invariant
        assert value > smallest - 1e-12
    alone = np.append(beta[:-1], 0.0)
    assert module.proved_by_lanczos(alpha, alone, limit) == pytest.approx(smallest, rel=1e-12, abs=1e-13)


def test_every_ending_compiled_and_in_numpy():
    seen = set()
    for seed in range(150):
        rng = np.random.default_rng(seed)
        alpha, beta = coefficients(int(rng.integers(1, 50)), seed)
        alpha += rng.uniform(-1, 4)
        goal = Goal(
            math.inf if rng.random() < 0.2 else rng.uniform(-2, 3), 10.0 ** rng.uniform(0, 20), 0.03, rng.random() < 0.5
        )
        ending = compiled.verdict(alpha, beta, goal)
        assert ending is reference.verdict(alpha, beta, goal)
        seen.add(ending)
        # what it says is what was proved, less the rounding
        value = reference.proved_by_lanczos(alpha, beta, goal.limit) - 0.03 * math.sqrt(alpha.size)
        assert (ending is RunEnding.REACHED) == (value >= goal.value)
    assert seen == {RunEnding.GOING_ON, RunEnding.REACHED, RunEnding.SETTLED, RunEnding.HOPELESS}


@pytest.mark.parametrize("module", BOTH)
def test_a_negative_eigenvalue_is_settled_once_it_is_known_to_a_tenth(module):
    alpha, beta = coefficients(20)
    smallest = np.linalg.eigvalsh(tridiagonal(alpha, beta))[0]
    assert smallest < 0
    # what is proved, less the rounding of 20 steps, is within a tenth of it just when the growth there allows it
    growth = reference.growth(alpha, beta, 1.1 * smallest + 0.01 * math.sqrt(20))
    for factor, ending in ((0.999, RunEnding.SETTLED), (1.001, RunEnding.GOING_ON)):
        assert module.verdict(alpha, beta, Goal(math.inf, factor * growth, 0.01)) is ending
    # not before 20 steps, and not for a positive one
    assert module.verdict(alpha[:19], beta[:19], Goal(math.inf, 1.0, 0.01)) is RunEnding.GOING_ON
    assert module.verdict(alpha + 10, beta, Goal(math.inf, 1.0, 0.01)) is RunEnding.GOING_ON
