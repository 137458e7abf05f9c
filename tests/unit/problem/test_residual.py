"""Norms and residuals."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.problem.residual import norm


def test_norm_neither_overflows_nor_underflows():
    assert norm(np.array([3e200, 4e200])) == pytest.approx(5e200)
    assert norm(np.array([3e-200, 4e-200j])) == pytest.approx(5e-200)
    assert norm(np.zeros(3)) == 0
