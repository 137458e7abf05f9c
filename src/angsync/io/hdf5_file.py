"""HDF5 files: datasets i, j, angle[, weight][, n][, labels] or C at the root. Needs the extra 'hdf5'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import FileFormatError, MissingDependencyError
from angsync.io.columns import ColumnNames
from angsync.io.failures import reading
from angsync.io.named_arrays import from_arrays

_KNOWN = ("C", "value", "n", "labels")


def read_hdf5(path: Path, names: ColumnNames) -> Any:
    """Measurements or the matrix C."""
    arrays = load_datasets(path, names, column_major=False)
    with reading(path, "HDF5"):
        return from_arrays(arrays, names, path)


def load_datasets(path: Path, names: ColumnNames, column_major: bool) -> dict[str, Any]:
    """What is at the root under a name that matters; other names are kept without content, for messages.

    ``column_major`` is MATLAB's custom: every matrix is stored transposed.
    """
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError("h5py", "hdf5", f"reading {path}") from None
    wanted = {names.i, names.j, names.angle, names.weight or "weight", *_KNOWN}
    arrays: dict[str, Any] = {}
    with reading(path, "HDF5"), h5py.File(path, "r") as file:
        for name in file:
            if name not in wanted:
                arrays[name] = None
                continue
            item = file[name]
            if isinstance(item, h5py.Dataset):
                arrays[name] = _dataset(h5py, item, name, path, column_major)
            elif "MATLAB_sparse" in item.attrs:
                arrays[name] = _matlab_sparse(item)
            else:
                raise FileFormatError(f"{path}: {name!r} is a group, but a dataset is needed under this name.")
    return arrays


def _dataset(h5py: Any, dataset: Any, name: str, path: Path, column_major: bool) -> Any:
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.array(dataset.asstr()[()].tolist(), dtype=str)
    if dataset.dtype.kind == "O":
        raise FileFormatError(f"{path}: {name!r} holds references (a MATLAB cell array?), but numbers are needed.")
    array = _complex(dataset[()])
    return array.T if column_major else array


def _complex(array: Any) -> Any:
    """MATLAB writes complex numbers as pairs named real and imag, which h5py leaves as records."""
    if array.dtype.names == ("real", "imag"):
        joined = np.empty(array.shape, dtype=np.result_type(array["real"].dtype, np.complex64))
        joined.real, joined.imag = array["real"], array["imag"]
        return joined
    return array


def _matlab_sparse(group: Any) -> Any:
    """Compressed columns: data, ir (row of each entry), jc (where each column starts)."""
    import scipy.sparse

    starts = group["jc"][()].astype(np.int64)
    shape = (int(group.attrs["MATLAB_sparse"]), starts.size - 1)
    if "data" not in group:  # MATLAB leaves data and ir out of a matrix of zeros
        return scipy.sparse.csr_array(shape)
    columns = scipy.sparse.csc_array(
        (_complex(group["data"][()]), group["ir"][()].astype(np.int64), starts), shape=shape
    )
    columns.check_format(full_check=True)  # conversion runs compiled code that trusts the indices
    return columns.tocsr()
