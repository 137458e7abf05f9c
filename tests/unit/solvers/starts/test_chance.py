"""Leaving the real line."""

from __future__ import annotations

import numpy as np

import angsync as ang
from angsync.solvers.starts.chance import leave_the_real_line


def test_real_problems_leave_the_real_line_and_complex_ones_do_not_move():
    rng = np.random.default_rng(0)
    real = ang.as_operator(np.ones((4, 4)))
    turned = leave_the_real_line(real, np.ones(4, dtype=complex), rng)
    assert np.abs(turned.imag).max() > 1e-3
    assert np.allclose(np.abs(turned), 1)
    z = np.ones(4, dtype=complex)
    complex_one = ang.as_operator(ang.simulate.gaussian(4, 1.0, rng=0).C)
    assert leave_the_real_line(complex_one, z, rng) is z
