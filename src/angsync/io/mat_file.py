"""MATLAB files, up to v7 and v7.3 (HDF5 inside): variables i, j, angle[, weight][, n][, labels], or C.

Node numbers are MATLAB's own, from 1 (files that count from 0 work too): they are labels of the nodes.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import FileFormatError
from angsync.io.arrays import checked_sparse, from_arrays
from angsync.io.columns import ColumnNames
from angsync.io.failures import reading

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path, names: ColumnNames) -> Any:
    """Return measurements or the matrix C."""
    with reading(path, "a MATLAB file"):
        return from_arrays(_variables(path, names), names, path, first_node=1)


def _variables(path: Path, names: ColumnNames) -> dict[str, Any]:
    import scipy.io
    import scipy.sparse

    with open(path, "rb") as stream:
        start = stream.read(520)
    # MATLAB puts a text header of 512 bytes before the HDF5 content; other programs may not
    if start.startswith((_HDF5_SIGNATURE, b"MATLAB 7.3")) or start[512:] == _HDF5_SIGNATURE:
        from angsync.io.hdf5_file import load_datasets

        arrays = load_datasets(path, names.wanted)
        return {name: array.T if isinstance(array, np.ndarray) else array for name, array in arrays.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", scipy.io.matlab.MatReadWarning)  # a variable that is there twice
        found = scipy.io.loadmat(path, variable_names=sorted(names.wanted))
        variables: dict[str, Any] = dict.fromkeys(name for name, _, _ in scipy.io.whosmat(path))
    for name in found.keys() & names.wanted:
        content = found[name]
        if content.dtype.kind in "OV":
            raise FileFormatError(f"{path}: {name} holds a cell array or a structure, not numbers or text.")
        variables[name] = checked_sparse(content) if scipy.sparse.issparse(content) else content
    return variables
