"""A result as the fields of a file, and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from angsync.certificate.verdict import Certificate, Verdict
from angsync.errors import FileFormatError, names_keywords
from angsync.io.result_file import load_fields
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.report import RobustReport
from angsync.pipeline.tried_starts import Starts
from angsync.solvers.stopping import History, Status

# fields of the result that are saved under their own names
_SCALARS = ("objective", "residual", "message", "iterations", "matvecs", "seconds", "method", "gauge", "tolerance")


def fields_of(result: SyncResult) -> dict[str, Any]:
    """What is saved, by the names in the file."""
    fields: dict[str, Any] = {name: getattr(result, name) for name in _SCALARS}
    fields.update(z=result.phases, components=result.components, labels=result.labels, status=result.status.name)
    for name in ("objective", "residual", "step"):
        fields[f"history_{name}"] = getattr(result.history, name)
    certificate = result.certificate
    if certificate is not None:
        fields["certificate"] = {**certificate.numbers(), "verdict": certificate.verdict.name}
        if certificate.witness is not None:
            fields["witness"] = certificate.witness
    if result.robust is not None:
        fields["robust"] = result.robust.fields()
    if result.starts is not None:
        fields["starts"] = {"objectives": result.starts.objectives, "tolerance": result.starts.tolerance}
    return fields


def _loaded_starts(content: dict[str, Any] | None) -> Starts | None:
    return None if content is None else Starts(tuple(content["objectives"]), content["tolerance"])


@names_keywords
def load_result(path: str | os.PathLike[str]) -> SyncResult:
    """Read a file written by :meth:`SyncResult.save`.

    The problem itself is not in the file: residuals and standard errors need it and are not available. (To read a csv
    result elsewhere, skip the lines that start with ``#``.)
    """
    fields = load_fields(path)
    missing = [name for name in _SCALARS if name not in fields]
    if missing:
        raise FileFormatError(
            f"{path} holds phases but is not a saved result ({missing[0]} is missing). angsync.io.read_phases reads it."
        )
    certificate = None
    if fields.get("certificate") is not None:
        known = dict(fields["certificate"])
        verdict = Verdict[known.pop("verdict")]
        certificate = Certificate(verdict=verdict, witness=fields.get("witness"), **known)
    z = np.asarray(fields["z"])
    components = fields.get("components")
    history = {k: fields.get(f"history_{k}") for k in ("objective", "residual", "step")}
    return SyncResult(
        z=z,
        status=Status[fields.get("status", "CONVERGED")],
        history=History(**{k: np.empty(0) if v is None else np.asarray(v, dtype=float) for k, v in history.items()}),
        certificate=certificate,
        robust=None if fields.get("robust") is None else RobustReport(**fields["robust"]),
        starts=_loaded_starts(fields.get("starts")),
        components=np.zeros(z.size, dtype=np.int64) if components is None else np.asarray(components),
        labels=None if fields.get("labels") is None else tuple(fields["labels"]),
        **{name: fields[name] for name in _SCALARS},
    )
