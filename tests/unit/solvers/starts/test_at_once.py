"""Phases that are ready at once, for every kind of operator."""

from __future__ import annotations

import numpy as np
import pytest
from problems import gaussian
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.problem.operators import as_operator
from angsync.solvers.starts.at_once import at_once, in_words


@pytest.mark.parametrize(
    ("C", "words"),
    [
        (ang.simulate.grid(20, 20, 0.1, rng=0).C, "a breadth-first tree"),
        (gaussian(40, 0.2), "the phases that one node sees"),
        (aslinearoperator(gaussian(40, 0.2)), "a few products with C"),
        (aslinearoperator(ang.simulate.grid(20, 20, 0.1, rng=0).C), "a few products with C"),
    ],
)
def test_far_better_than_chance(C, words):
    operator = as_operator(C)
    z = at_once(operator)
    assert np.abs(z) == pytest.approx(np.ones(operator.n))
    assert in_words(operator) == words
    assert np.vdot(z, operator.apply(z)).real > 0.2 * abs(operator.to_dense()).sum()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_alone_find_the_signal_under_strong_noise(dtype):
    # the noise is 0.31 sqrt(n): the phases of one product with a vector of ones have an objective of either sign
    problem = ang.simulate.gaussian(1500, 12.0, rng=0)
    operator = as_operator(aslinearoperator(problem.C.astype(dtype)))
    z = at_once(operator)
    assert z.dtype == dtype
    assert np.vdot(z, operator.apply(z)).real > 0.3 * np.vdot(problem.z, problem.C @ problem.z).real


@pytest.mark.parametrize("C", [np.zeros((5, 5)), np.ones((5, 5)), np.eye(1), np.array([[0, 1j], [-1j, 0]])])
def test_products_that_lead_nowhere_new(C):
    z = at_once(as_operator(aslinearoperator(C.astype(complex))))
    assert np.abs(z) == pytest.approx(np.ones(len(C)))
    best = {0: 0.0, 5: 25.0, 1: 1.0, 2: 2.0}[len(C) if C.any() else 0]
    assert np.vdot(z, C @ z).real == pytest.approx(best)
