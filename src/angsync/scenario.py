"""Simulated problems by name, and as files: what ``angsync simulate`` does."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from angsync import simulate
from angsync.io import write_matrix, write_measurements
from angsync.io.atomic import check_writable
from angsync.simulate import Problem


def from_name(
    model: str,
    *,
    n: int,
    sigma: float,
    probability: float,
    rows: int,
    columns: int,
    law: Any,
    holonomy: float | None,
    rng: Any,
) -> Problem:
    """The problem of this name; each model takes the settings that concern it."""
    makers = {
        "gaussian": lambda: simulate.gaussian(n, sigma, rng=rng),
        "phase_noise": lambda: simulate.phase_noise(n, sigma, law=law, rng=rng),
        "outliers": lambda: simulate.outliers(n, probability, sigma=sigma, rng=rng),
        "erdos_renyi": lambda: simulate.erdos_renyi(n, probability, sigma, rng=rng),
        "grid": lambda: simulate.grid(rows, columns, sigma, rng=rng),
        "ring": lambda: simulate.ring(n, sigma, holonomy=holonomy, rng=rng),
    }
    return makers[model]()


def write_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the matrix of a dense problem, or the edges of a graph; npz files also hold the truth (angles)."""
    path = check_writable(path)
    truth = np.angle(problem.z)
    dense = isinstance(problem.C, np.ndarray)
    if dense and path.suffix.lower() in (".npz", ".npy"):
        write_matrix(problem.C, path, truth=truth if path.suffix.lower() == ".npz" else None)
    else:
        write_measurements(problem.measurements, path, truth=truth)
