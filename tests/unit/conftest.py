"""Fixtures of several rooms."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import stand_in
from reference.batch import KERNELS

from angsync import kernels
from angsync.kernels.batch import reference


@pytest.fixture(params=("numpy", *KERNELS))
def batch_solver(request, monkeypatch):
    """The kernel of stacks: NumPy, or compiled with each set of instructions that this machine has."""
    chosen = KERNELS.get(request.param, reference).solve
    monkeypatch.setattr(kernels, "solve_batch", chosen)
    return chosen


@pytest.fixture
def device(monkeypatch):
    """A function: a matrix as an array of a stand-in for CuPy, on a machine without CUDA kernels."""
    monkeypatch.setitem(sys.modules, "cupy", stand_in.Module("cupy"))
    monkeypatch.setattr("angsync.problem.array_libraries.cupy", lambda: None)
    return lambda matrix: stand_in.Array(np.array(matrix))


@pytest.fixture(scope="session")
def results():
    """Run the whole reproduction at tiny sizes."""
    from reproduction import TINY

    from angsync.study.reproduce import run_experiments

    return run_experiments(quick=True, size=TINY)
