"""A result that only looks like one: whatever a page may have to show."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from angsync.problem.measurements import Measurements
from angsync.uncertainty.connectivity import connectivity_of


class FakeVerdict(Enum):
    CERTIFIED = "certified"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class FakeStatus(Enum):
    CONVERGED = "The residual met its tolerance."
    ITERATION_LIMIT = "Stopped at max_iterations; raise it, or let solver='auto' choose."


def make_certificate(verdict: str = "CERTIFIED", **changes: Any) -> SimpleNamespace:
    fields: dict[str, Any] = {
        "gap_bound": 3.2e-9,
        "relative_gap": 1.1e-12,
        "lambda_min": -2e-14,
        "lambda_2": 5.5,
        "unique": True,
        "method": "cholesky",
        "confidence": 1.0,
        "tolerance": 1e-8,
        "out_of_time": False,
        "untried": "",
        "undecided_nodes": (),
        "interrupted": False,
    }
    return SimpleNamespace(verdict=FakeVerdict[verdict], **{**fields, **changes})


def make_measurements(n: int, rng: np.random.Generator) -> Measurements:
    """Each node against the four after it, in a ring; all pairs where there are fewer than ten nodes."""
    if n < 10:
        i, j = np.triu_indices(n, 1)
    else:
        i = np.tile(np.arange(n), 4)
        j = (i + np.repeat(np.arange(1, 5), n)) % n
    return Measurements(i, j, rng.uniform(-3, 3, i.size), n=n)


def make_result(n: int = 12, iterations: int = 20, **changes: Any) -> SimpleNamespace:
    rng = np.random.default_rng(7)
    angles = rng.uniform(-np.pi, np.pi, n)
    angles[:1] = 0
    residual = 0.5 ** np.arange(iterations + 1)
    measurements = changes.pop("measurements", None) or make_measurements(n, rng)
    wrapped = changes.pop("wrapped", rng.normal(0, 0.1, len(measurements)))
    fields: dict[str, Any] = {
        "z": np.exp(1j * angles),
        "angles": angles,
        "objective": 100.0,
        "residual": float(residual[-1]),
        "status": FakeStatus.CONVERGED,
        "converged": True,
        "message": "Residual below its tolerance after 20 iterations.",
        "iterations": iterations,
        "matvecs": iterations + 1,
        "seconds": 0.0123,
        "history": SimpleNamespace(objective=100.0 - residual**2, residual=residual, step=residual),
        "certificate": make_certificate(),
        "starts": None,
        "robust": None,
        "method": "GPM, because the problem is dense.",
        "components": np.zeros(n, dtype=int),
        "isolated": np.zeros(0, dtype=int),
        "labels": None,
        "gauge": "first",
        "measurements": measurements,
        "source": measurements,
        "edge_residuals": lambda: SimpleNamespace(
            wrapped=wrapped,
            standardized=wrapped,
            leverage=np.full(len(measurements), 0.2),
            measurements=measurements,
            z=np.exp(1j * angles),
        ),
        "standard_errors": lambda: np.linspace(0.0, 0.1, n),
        "connectivity": lambda: connectivity_of(measurements),
    }
    return SimpleNamespace(**{**fields, **changes})


@pytest.fixture
def certificate() -> Callable[..., SimpleNamespace]:
    return make_certificate


@pytest.fixture
def result() -> Callable[..., SimpleNamespace]:
    return make_result


@pytest.fixture
def empty_history() -> SimpleNamespace:
    return SimpleNamespace(objective=np.zeros(0), residual=np.zeros(0), step=np.zeros(0))
