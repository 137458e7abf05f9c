"""MATLAB files, up to v7 (scipy) and v7.3 (HDF5 inside): variables i, j, angle[, weight][, n], or C.

Node numbers are MATLAB's own, from 1 (files that count from 0 work too): they are labels of the nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from angsync.io.columns import ColumnNames
from angsync.io.failures import reading
from angsync.io.hdf5_file import load_datasets
from angsync.io.named_arrays import from_arrays

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path, names: ColumnNames) -> Any:
    """Measurements or the matrix C."""
    with reading(path, "a MATLAB file"):
        if _is_version_7_3(path):
            variables = load_datasets(path, names, column_major=True)
        else:
            variables = _load_version_5(path)
        return from_arrays(variables, names, path, first_node=1)


def _is_version_7_3(path: Path) -> bool:
    with open(path, "rb") as stream:
        start = stream.read(520)
    # MATLAB puts a text header of 512 bytes before the HDF5 content; other programs may not
    return start.startswith((_HDF5_SIGNATURE, b"MATLAB 7.3")) or start[512:] == _HDF5_SIGNATURE


def _load_version_5(path: Path) -> dict[str, Any]:
    import scipy.io
    import scipy.sparse

    # given open, because scipy would add a suffix to a name that it does not find
    with open(path, "rb") as stream:
        content = scipy.io.loadmat(stream)
    variables = {name: value for name, value in content.items() if not name.startswith("__")}
    for name, value in variables.items():
        if scipy.sparse.issparse(value):
            value = scipy.sparse.csc_array(value)
            value.check_format(full_check=True)
            variables[name] = value.tocsr()
    return variables
