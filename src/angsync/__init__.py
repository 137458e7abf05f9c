"""Phase (angular) synchronization with a proof of optimality on every answer.

>>> import numpy as np, angsync as ang
>>> truth = np.exp(1j * np.array([0.0, 1.0, 2.0]))
>>> result = ang.synchronize(np.outer(truth, truth.conj()))
>>> np.round(result.angles, 6).tolist(), result.certificate.verdict.name
([0.0, 1.0, 2.0], 'CERTIFIED')

Names are loaded when they are first used, so ``import angsync`` is quick and loads no optional library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from angsync import applications, batch, circle, errors, simulate, testing, theory
    from angsync.batch_result import BatchResult
    from angsync.certificate import Certificate, Verdict, certify
    from angsync.circle import align, distance
    from angsync.connectivity import Connectivity, connectivity_of
    from angsync.io import read
    from angsync.iteration import Status, Stopping
    from angsync.measurements import Measurements
    from angsync.operators import as_operator
    from angsync.pipeline import synchronize
    from angsync.result import SyncResult, load_result
    from angsync.solvers import GPM, AcceleratedGPM, LowRankSDP, Newton, Robust
    from angsync.start import eigenvector_estimator
    from angsync.uncertainty import predicted_errors

_HOME = {
    "BatchResult": "batch_result",
    "AcceleratedGPM": "solvers",
    "Certificate": "certificate",
    "Connectivity": "connectivity",
    "GPM": "solvers",
    "LowRankSDP": "solvers",
    "Measurements": "measurements",
    "Newton": "solvers",
    "Robust": "solvers",
    "Status": "iteration",
    "Stopping": "iteration",
    "SyncResult": "result",
    "Verdict": "certificate",
    "align": "circle",
    "as_operator": "operators",
    "certify": "certificate",
    "connectivity_of": "connectivity",
    "distance": "circle",
    "eigenvector_estimator": "start",
    "load_result": "result",
    "predicted_errors": "uncertainty",
    "read": "io",
    "synchronize": "pipeline",
}
_MODULES = ("applications", "batch", "circle", "errors", "simulate", "testing", "theory")

__all__ = [
    "GPM",
    "AcceleratedGPM",
    "BatchResult",
    "Certificate",
    "Connectivity",
    "LowRankSDP",
    "Measurements",
    "Newton",
    "Robust",
    "Status",
    "Stopping",
    "SyncResult",
    "Verdict",
    "align",
    "applications",
    "as_operator",
    "batch",
    "certify",
    "circle",
    "connectivity_of",
    "distance",
    "eigenvector_estimator",
    "errors",
    "load_result",
    "predicted_errors",
    "read",
    "simulate",
    "synchronize",
    "testing",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"angsync.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("angsync")
    if name in _HOME:
        value = getattr(importlib.import_module(f"angsync.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'angsync' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
