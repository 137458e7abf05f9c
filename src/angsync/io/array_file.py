"""Files of named arrays (npz, hdf5) that hold one field's data: which names there must be, and which there may."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from angsync.errors import FileFormatError
from angsync.io.failures import existing_file, listed

SUFFIXES = {".npz": "npz", ".h5": "hdf5", ".hdf5": "hdf5"}
"""What is read, by the end of the name."""


def read_arrays(path: str | os.PathLike[str], needed: Sequence[str], allowed: Sequence[str] = ()) -> dict[str, Any]:
    """The arrays called ``needed``, and those called ``allowed`` that are there; others are not read."""
    path = Path(path)
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise FileFormatError(
            f"cannot read {path}: named arrays are read from {', '.join(SUFFIXES)}, not from {path.suffix!r}."
        )
    path = existing_file(path)
    if kind == "npz":
        from angsync.io.npz_arrays import load_arrays

        arrays = load_arrays(path, {*needed, *allowed})
    else:
        from angsync.io.hdf5_file import load_named

        arrays = load_named(path, {*needed, *allowed})
    lacking = [name for name in needed if name not in arrays]
    if lacking:
        raise FileFormatError(
            f"{path} has no {' and no '.join(map(repr, lacking))}; it holds {listed(arrays)}. Rename its arrays."
        )
    return {name: arrays[name] for name in (*needed, *allowed) if name in arrays}
