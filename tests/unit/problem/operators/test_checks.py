"""Checks that every matrix passes on its way in."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.problem.operators.checks import complex_type


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", ["c8", "f4", "f2", "c16", "f8"])
def test_the_precision_does_not_depend_on_the_order_of_the_bytes(kind, order):
    given = np.dtype(order + kind)
    precision = np.complex64 if kind in ("c8", "f4", "f2") else np.complex128
    assert complex_type(given, "C") == precision
    assert ang.synchronize(np.ones((3, 3), dtype=given)).z.dtype == precision
    assert ang.synchronize(np.ones((2, 3, 3), dtype=given)).z.dtype == precision
