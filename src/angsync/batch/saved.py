"""The file of a batch result: one npz archive of plain arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError
from angsync.io.arrays import load_arrays
from angsync.io.atomic import atomic_open, check_writable
from angsync.io.failures import existing_file, listed, reading

_VERSION = 2  # of the layout; 1 had no pieces
SUFFIX = ".npz"
_KINDS = {
    "objective": "f", "residual": "f", "iterations": "i", "status": "i", "components": "i", "verdict": "i",
    "gap_bound": "f", "relative_gap": "f", "lambda_2": "f",
}  # fmt: skip
_NEEDED = ("z", "objective", "residual", "iterations", "status", "tolerance", "gauge", "seconds")


def save(path: str | os.PathLike[str], numbers: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
    """Write tolerance, gauge and seconds, and the arrays of a result."""
    with atomic_open(check_writable(path, SUFFIX), "wb") as stream:
        np.savez(stream, batch_version=_VERSION, **numbers, **arrays)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str], statuses: int) -> dict[str, Any]:
    """The fields of a result from its file; ``statuses``: how many codes there are."""
    file = existing_file(path)
    with reading(file, "the result of a stack (npz)"):
        found = load_arrays(file)
        version = found.pop("batch_version", None)
        if version is None or version.shape != () or version.dtype.kind not in "iu" or not 1 <= version <= _VERSION:
            raise FileFormatError(
                f"{file} is no result of a stack, of versions up to {_VERSION}: write one with result.save."
            )
        missing = [name for name in _NEEDED if name not in found]
        if missing:
            raise FileFormatError(f"{file} lacks {listed(missing)}: it is no complete result of a stack.")
        _check(file, found, statuses)
        gauge = found.pop("gauge")[()]
        fields = {name: float(found.pop(name)) for name in ("tolerance", "seconds")}
        kept = {name: array for name, array in found.items() if name == "z" or name in _KINDS}
        return {**fields, **kept, "gauge": int(gauge) if gauge.dtype.kind in "iu" else str(gauge)}


def _check(file: Path, found: Mapping[str, NDArray], statuses: int) -> None:
    z = found["z"]
    if z.dtype.kind != "c" or z.ndim == 0:
        raise FileFormatError(f"{file}: z must hold complex numbers (..., n), not {z.dtype} of the shape {z.shape}.")
    for name, kind in _KINDS.items():
        array = found.get(name)
        if array is not None and (array.dtype.kind != kind or array.shape != z.shape[:-1]):
            raise FileFormatError(
                f"{file}: {name} has the type {array.dtype} and the shape {array.shape}, which do not fit z of the "
                f"shape {z.shape}: the file is damaged, or of another kind."
            )
    for name, codes in (("status", statuses), ("verdict", 2)):
        array = found.get(name)
        if array is not None and array.size and not (array.min() >= 0 and array.max() < codes):
            raise FileFormatError(f"{file}: {name} holds codes that there are none of; they are 0 to {codes - 1}.")
    for name, kinds in (("tolerance", "fiu"), ("seconds", "fiu"), ("gauge", "Uiu")):
        if found[name].shape != () or found[name].dtype.kind not in kinds:
            raise FileFormatError(f"{file}: {name} must be one value, but it is {found[name].dtype} of the shape "
                                  f"{found[name].shape}.")  # fmt: skip
