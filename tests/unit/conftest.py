"""Fixtures of several rooms."""

from __future__ import annotations

import pytest

from angsync import kernels
from angsync.kernels.batch import reference

try:
    from angsync.kernels.batch import compiled

    SETS = compiled.available()
except ImportError:
    compiled, SETS = None, ()


@pytest.fixture(params=("numpy", *SETS))
def batch_solver(request, monkeypatch):
    """The kernel of stacks: NumPy, or compiled with each set of instructions that this machine has."""
    chosen = reference.solve
    if request.param != "numpy":
        monkeypatch.setattr(compiled, "instructions", request.param)
        chosen = compiled.solve
    monkeypatch.setattr(kernels, "solve_batch", chosen)
    return chosen
