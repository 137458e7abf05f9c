"""Simulated problems by name, and as files: what ``angsync simulate`` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from angsync import simulate
from angsync.errors import InputError, OutputError
from angsync.io import write_matrix, write_measurements
from angsync.io.atomic import check_writable
from angsync.io.formats import MATRIX_WRITERS, MEASUREMENT_WRITERS
from angsync.simulate import Problem

DEFAULTS: dict[str, Any] = {
    "n": 100,
    "sigma": 0.1,
    "probability": 0.5,
    "rows": 10,
    "columns": 10,
    "law": "wrapped_normal",
    "holonomy": None,
}
_SETTINGS = {
    "gaussian": ("n", "sigma"),
    "phase_noise": ("n", "sigma", "law"),
    "outliers": ("n", "probability", "sigma"),
    "erdos_renyi": ("n", "probability", "sigma", "law"),
    "grid": ("rows", "columns", "sigma"),
    "ring": ("n", "sigma", "holonomy"),
}
# the one dense model is written as a matrix or as edges, the others as edges
_SUFFIXES = {
    model: tuple(dict.fromkeys((*MEASUREMENT_WRITERS, *(MATRIX_WRITERS if model == "gaussian" else ()))))
    for model in _SETTINGS
}


def from_name(model: str, given: Mapping[str, Any], *, rng: Any) -> Problem:
    """The problem of this name; settings that are not given have their :data:`DEFAULTS`.

    A setting that does not concern the model is refused, because ignoring it would give another problem than
    the one that was asked for.
    """
    for name in given:
        if name not in _SETTINGS[model]:
            raise InputError(f"{model} has no setting {name!r}; its settings are {', '.join(_SETTINGS[model])}.")
    x = {name: given.get(name, DEFAULTS[name]) for name in _SETTINGS[model]}
    makers: dict[str, Callable[[], Problem]] = {
        "gaussian": lambda: simulate.gaussian(x["n"], x["sigma"], rng=rng),
        "phase_noise": lambda: simulate.phase_noise(x["n"], x["sigma"], law=x["law"], rng=rng),
        "outliers": lambda: simulate.outliers(x["n"], x["probability"], sigma=x["sigma"], rng=rng),
        "erdos_renyi": lambda: simulate.erdos_renyi(x["n"], x["probability"], x["sigma"], law=x["law"], rng=rng),
        "grid": lambda: simulate.grid(x["rows"], x["columns"], x["sigma"], rng=rng),
        "ring": lambda: simulate.ring(x["n"], x["sigma"], holonomy=x["holonomy"], rng=rng),
    }
    return makers[model]()


def problem_path(model: str, path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a problem of this model could not be written to ``path`` later."""
    file = Path(path)
    if file.suffix.lower() not in _SUFFIXES[model]:
        raise OutputError(
            f"cannot write {file}: {model} is written as {', '.join(_SUFFIXES[model])}, not as {file.suffix!r}. "
            "Change the suffix."
        )
    return check_writable(file)


def write_problem(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the matrix of a dense problem, or the edges of a graph; the truth (angles) too, but to npz alone."""
    file = Path(path)
    suffix = file.suffix.lower()
    truth = np.angle(problem.z)
    if isinstance(problem.C, np.ndarray) and suffix in MATRIX_WRITERS:
        write_matrix(problem.C, file, truth=truth if suffix == ".npz" else None)
    else:
        write_measurements(problem.measurements, file, truth=truth if suffix == ".npz" else None)
