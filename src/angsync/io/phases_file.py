"""Phases from a file: a saved result, or plain arrays and tables of other programs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncWarning, FileFormatError, InputError, warn_user
from angsync.io.arrays import load_array, load_arrays
from angsync.io.columns import check_names, node_column
from angsync.io.failures import existing_file, listed, quoted, reading
from angsync.io.result_file import is_result, result_from_arrays
from angsync.io.table import Table, read_table
from angsync.problem.units import FULL_TURN, radians, warn_of_degrees

_SAME_PHASE = 1e-5  # the rounding of single precision is 1e-7: a larger difference is a change made by hand
_Labels = tuple[Hashable, ...] | None


def read_phases(path: str | os.PathLike[str]) -> tuple[NDArray, _Labels]:
    """Return phases ``z`` (complex) and the labels of their nodes, or None if the file names no nodes.

    Accepts a saved result, an .npy array (complex z, or real angles in radians), an .npz archive with ``z`` or
    ``angles`` (and optionally ``labels``), and a csv table with a column ``angle``.
    """
    file = existing_file(path)
    readers = {".csv": _of_table, ".npy": _of_array, ".npz": _of_archive}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise FileFormatError(f"{file}: phases are read from .npz, .csv or .npy, not from {file.suffix!r}.")
    with reading(file, "a file of phases"):
        z, labels = reader(file)
        if not np.isfinite(z).all():
            raise InputError(f"the phase of entry {int(np.argmax(~np.isfinite(z)))} is not finite. Correct it.")
        if labels is not None:
            if len(labels) != z.shape[-1]:
                raise InputError(f"there are {len(labels)} labels for {z.shape[-1]} phases.")
            if len(set(labels)) != len(labels):
                doubled = Counter(labels).most_common(1)[0][0]
                raise InputError(f"the node {quoted(doubled)} has more than one phase. Keep one.")
            check_names(labels)
    return z, labels


def _of_array(path: Path) -> tuple[NDArray, _Labels]:
    return _phases(load_array(path), "the array"), None


def _of_archive(path: Path) -> tuple[NDArray, _Labels]:
    arrays = load_arrays(path, {"format", "z", "angles", "labels"})
    if is_result(arrays):
        fields = result_from_arrays(load_arrays(path))
        return fields["z"], fields.get("labels")
    name = next((name for name in ("z", "angles") if name in arrays), None)
    if name is None:
        raise InputError(
            f"it holds no phases: neither 'z' (complex) nor 'angles' (radians), but {listed(arrays)}. Rename an array."
        )
    labels = tuple(node_column(arrays["labels"], "labels").ravel().tolist()) if "labels" in arrays else None
    return _phases(arrays[name], name), labels


def _phases(array: Any, name: str) -> NDArray:
    if array.dtype.kind not in "iufc" or array.ndim == 0 or array.size == 0:
        raise InputError(
            f"{name} is an array of {array.dtype} with shape {array.shape}, but phases are complex "
            "numbers or real angles (radians), one per node."
        )
    return array if array.dtype.kind == "c" else _of_angles(array)


def _of_angles(angles: NDArray) -> NDArray:
    """Return phases with these angles in radians; angles so large that nothing is left of them are refused."""
    epsilon = np.finfo(angles.dtype).eps if angles.dtype.kind == "f" else np.finfo(float).eps
    warn_of_degrees(angles, "phases", "If so, convert them (np.deg2rad).", None)
    return np.exp(1j * radians(angles.ravel(), "rad", float(epsilon)).reshape(angles.shape))


def _of_table(path: Path) -> tuple[NDArray, _Labels]:
    table = read_table(path, ("angle",))
    if "angle" not in table:
        raise InputError(
            f"there is no column 'angle'; the columns found are {listed(table.names)}. "
            "Phases are read from a column 'angle' in radians."
        )
    name = next((name for name in ("node", "label") if name in table), None)
    if name is None and "i" in table and "j" in table:
        raise InputError(
            "it holds measurements of pairs (columns i and j), not phases. Give one row per node: a column 'angle' in "
            "radians, and 'node' for its name."
        )
    if not len(table):
        raise InputError("it has a header but no rows: there are no phases in it.")
    labels = None if name is None else tuple(table.nodes(name)[0].tolist())
    others = [column for column in table.names if column not in ("angle", "real", "imag")]
    if name is None and others:
        warn_user(
            f"{path}: there is no column 'node', so the phases are taken in the order of the rows; {listed(others)} "
            "is not used. If a column names the nodes, call it 'node'.",
            AngsyncWarning,
        )
    exact = "real" in table and "imag" in table
    z = _exact(table) if exact else _of_angles(table.numbers("angle"))
    return z, labels


def _exact(table: Table) -> NDArray:
    """Return z from the columns ``real`` and ``imag``; ``angle`` may be in any unit, but must be the same phase."""
    z = table.numbers("real") + 1j * table.numbers("imag")
    units = [np.exp(1j * radians(table.numbers("angle"), unit, float(np.finfo(float).eps))) for unit in FULL_TURN]
    apart = min((np.abs(z - one * np.abs(z)) > _SAME_PHASE for one in units), key=np.count_nonzero)
    if apart.any():
        raise FileFormatError(
            f"{table.where(int(np.argmax(apart)))}: angle contradicts real and imag. "
            "Correct one of them, or remove the columns real and imag."
        )
    return z
