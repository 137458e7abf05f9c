"""Phases from a file: a saved result, or plain arrays and tables that somebody else made."""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError
from angsync.io.columns import check_names, node_column
from angsync.io.failures import existing_file, listed, reading
from angsync.io.npz_arrays import load_array, load_arrays
from angsync.io.result_file import is_result_archive, load_fields, phases_of, result_from_arrays


def read_phases(path: str | os.PathLike[str]) -> tuple[NDArray, tuple[Hashable, ...] | None]:
    """Phases ``z`` (complex) and the labels of their nodes, or None where the order is that of the indices.

    Accepts a saved result (npz or csv), an .npy array (complex z, or real angles in radians), an .npz archive
    with ``z`` or ``angles`` (and optionally ``labels``), and a csv table with a column ``angle``.
    """
    file = existing_file(path)
    suffix = file.suffix.lower()
    labels: tuple[Hashable, ...] | None = None
    if suffix == ".csv":
        fields = load_fields(file)
        z, labels = fields["z"], fields["labels"]
    elif suffix == ".npy":
        with reading(file, "npy"):
            z = _phases(load_array(file), file, "the array")
    elif suffix == ".npz":
        z, labels = _from_archive(file)
    else:
        raise FileFormatError(f"{file}: phases are read from .npz, .csv or .npy, not from {file.suffix!r}.")
    if not np.isfinite(z).all():
        where = int(np.argmax(~np.isfinite(z)))
        raise FileFormatError(f"{file}: the phase of entry {where} is not finite. Mend the file.")
    return z, labels


def _from_archive(path: Path) -> tuple[NDArray, tuple[Hashable, ...] | None]:
    with reading(path, "npz"):
        arrays = load_arrays(path, ("format", "z", "angles", "labels"))
        if is_result_archive(arrays):
            fields = result_from_arrays(load_arrays(path), path)
            return fields["z"], fields.get("labels")
        name = next((name for name in ("z", "angles") if name in arrays), None)
        if name is None:
            raise FileFormatError(
                f"{path} holds no phases: neither 'z' (complex) nor 'angles' (radians). "
                f"It holds {listed(arrays)}; rename an array."
            )
        z = _phases(arrays[name], path, name)
        if "labels" not in arrays:
            return z, None
        labels = tuple(node_column(arrays["labels"], "labels").ravel().tolist())
        if len(labels) != z.shape[-1]:
            raise FileFormatError(f"{path}: there are {len(labels)} labels for {z.shape[-1]} phases.")
        check_names(labels)
        return z, labels


def _phases(array: Any, path: Path, name: str) -> NDArray:
    if array.dtype.kind not in "iufc" or array.ndim == 0 or array.size == 0:
        raise FileFormatError(
            f"{path}: {name} is an array of {array.dtype} with shape {array.shape}, but phases are complex "
            "numbers or real angles (radians), one a node."
        )
    return array if array.dtype.kind == "c" else phases_of(array)
