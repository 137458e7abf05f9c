"""Norms and residuals."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.problem.residual import norm


def test_norm_neither_overflows_nor_underflows():
    assert norm(np.array([3e200, 4e200])) == pytest.approx(5e200)
    assert norm(np.array([3e-200, 4e-200j])) == pytest.approx(5e-200)
    assert norm(np.zeros(3)) == 0


@pytest.mark.parametrize("n", [9_999, 10_000, 10_001, 32_768, 131_072, 131_073])
def test_the_norm_of_a_long_vector(n):
    """Up to 131,072 entries it is added up from parts of 10,000, none left out and none counted twice."""
    x = np.ones(n)
    x[[0, 5_000, n - 1]] = 3.0
    assert norm(x) == np.sqrt(n - 3 + 27.0)
    assert norm(1j * x) == np.sqrt(n - 3 + 27.0)
    assert norm(x[::-1]) == norm(x)
    assert norm(1e200 * x) == pytest.approx(1e200 * norm(x))
