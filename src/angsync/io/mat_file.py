"""MATLAB files, up to v7 and v7.3 (HDF5 inside): variables i, j, angle[, weight][, n][, labels], or C.

Node numbers are MATLAB's own, from 1 (files that count from 0 work too): they are labels of the nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from angsync.errors import FileFormatError
from angsync.io.columns import ColumnNames
from angsync.io.failures import reading
from angsync.io.hdf5_file import load_datasets
from angsync.io.mat4 import load_version_4
from angsync.io.mat5 import is_version_5, load_version_5
from angsync.io.named_arrays import from_arrays

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path, names: ColumnNames) -> Any:
    """Measurements or the matrix C."""
    with reading(path, "a MATLAB file"):
        variables = _variables(path, names)
        wanted = names.wanted
        for name in wanted & variables.keys():
            if variables[name] is None:
                raise FileFormatError(f"{path}: {name} holds a cell array or a structure, not numbers or text.")
        return from_arrays(variables, names, path, first_node=1)


def _variables(path: Path, names: ColumnNames) -> dict[str, Any]:
    with open(path, "rb") as stream:
        start = stream.read(520)
    # MATLAB puts a text header of 512 bytes before the HDF5 content; other programs may not
    if start.startswith((_HDF5_SIGNATURE, b"MATLAB 7.3")) or start[512:] == _HDF5_SIGNATURE:
        return load_datasets(path, names, column_major=True)
    # a file of version 4 begins with a small number, one of version 5 with text
    if 0 in start[:4]:
        return load_version_4(path, names.wanted)
    if is_version_5(start):
        return load_version_5(path, names.wanted)
    raise FileFormatError(
        f"{path} is not a MATLAB file, or its beginning is damaged. Mend its suffix or make it again."
    )
