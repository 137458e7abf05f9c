"""Phase (angular) synchronization: phases from noisy differences, and proved, refuted or undecided on every answer.

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

if TYPE_CHECKING:  # for type checkers and editors: the names of the table below
    from angsync import applications as applications
    from angsync import batch as batch
    from angsync import circle as circle
    from angsync import errors as errors
    from angsync import simulate as simulate
    from angsync import testing as testing
    from angsync import theory as theory
    from angsync import uncertainty as uncertainty
    from angsync.batch.result import BatchResult as BatchResult
    from angsync.certificate.certify import certify as certify
    from angsync.certificate.verdict import Certificate as Certificate
    from angsync.certificate.verdict import Verdict as Verdict
    from angsync.circle import align as align
    from angsync.circle import distance as distance
    from angsync.front_door import synchronize as synchronize
    from angsync.io import read as read
    from angsync.pipeline.result import SyncResult as SyncResult
    from angsync.pipeline.robust.settings import Robust as Robust
    from angsync.pipeline.save_best import SaveBest as SaveBest
    from angsync.pipeline.saved import load_result as load_result
    from angsync.problem.measurements import Measurements as Measurements
    from angsync.problem.operators import as_operator as as_operator
    from angsync.solvers import GPM as GPM
    from angsync.solvers import AcceleratedGPM as AcceleratedGPM
    from angsync.solvers import LowRankSDP as LowRankSDP
    from angsync.solvers import Newton as Newton
    from angsync.solvers.starts.eigenvector import eigenvector_estimator as eigenvector_estimator
    from angsync.solvers.stopping import Status as Status
    from angsync.solvers.stopping import Stopping as Stopping
    from angsync.uncertainty import predicted_errors as predicted_errors
    from angsync.uncertainty.connectivity import Connectivity as Connectivity
    from angsync.uncertainty.connectivity import connectivity_of as connectivity_of

# The public names and the module that each one comes from.
_HOME = {
    "AcceleratedGPM": "solvers",
    "BatchResult": "batch.result",
    "Certificate": "certificate.verdict",
    "Connectivity": "uncertainty.connectivity",
    "GPM": "solvers",
    "LowRankSDP": "solvers",
    "Measurements": "problem.measurements",
    "Newton": "solvers",
    "SaveBest": "pipeline.save_best",
    "Robust": "pipeline.robust.settings",
    "Status": "solvers.stopping",
    "Stopping": "solvers.stopping",
    "SyncResult": "pipeline.result",
    "Verdict": "certificate.verdict",
    "align": "circle",
    "as_operator": "problem.operators",
    "certify": "certificate.certify",
    "connectivity_of": "uncertainty.connectivity",
    "distance": "circle",
    "eigenvector_estimator": "solvers.starts.eigenvector",
    "load_result": "pipeline.saved",
    "predicted_errors": "uncertainty",
    "read": "io",
    "synchronize": "front_door",
}
_MODULES = ("applications", "batch", "circle", "errors", "simulate", "testing", "theory", "uncertainty")

__all__ = sorted([*_HOME, *_MODULES])


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
