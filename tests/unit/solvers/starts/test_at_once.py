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
        (aslinearoperator(gaussian(40, 0.2)), "one product with C"),
    ],
)
def test_far_better_than_chance(C, words):
    operator = as_operator(C)
    z = at_once(operator)
    assert np.abs(z) == pytest.approx(np.ones(operator.n))
    assert in_words(operator) == words
    assert np.vdot(z, operator.apply(z)).real > 0.2 * abs(operator.to_dense()).sum() * (words != "one product with C")
