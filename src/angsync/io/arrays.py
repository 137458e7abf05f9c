"""Named arrays: npz and npy files, and the matrix or the :class:`Measurements` that npz, mat and hdf5 files hold.

Pickles are refused: they could run any code.
"""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from angsync.errors import FileFormatError, InputError, OutputError
from angsync.io.atomic import atomic_open
from angsync.io.columns import NAME_THE_COLUMNS, ColumnNames, named_ends, node_column, to_measurements
from angsync.io.failures import check_node_count, existing_file, listed, quoted, reading
from angsync.problem.measurements import Measurements

_ZIP, _NPY, _PICKLE = b"PK", b"\x93NUMPY", b"\x80"
_SPARSE = {"format", "shape", "data"}
_FIELD_SUFFIXES = (".npz", ".h5", ".hdf5")


def load_arrays(path: Path, wanted: AbstractSet[str] | None = None) -> dict[str, Any]:
    """Return the arrays of an npz archive by name: all of them, or those ``wanted`` and None for each of the others."""
    with reading(path, "npz"):
        _check_start(path, _ZIP, "an npz archive (a zip file of arrays)")
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            if len(set(names)) != len(names):
                doubled = Counter(names).most_common(1)[0][0]
                raise InputError(f"the array {quoted(doubled)} is there twice. Keep one.")
            arrays: dict[str, Any] = dict.fromkeys(names)
            for name in names if wanted is None else wanted & arrays.keys():
                with archive.open(f"{name}.npy") as stream:
                    arrays[name] = _array(stream, path, quoted(name))
            return arrays


def load_array(path: Path) -> Any:
    """Return the array of an npy file."""
    with reading(path, "npy"):
        _check_start(path, _NPY, "an npy file (one array)")
        with open(path, "rb") as stream:
            return _array(stream, path, "it")


def _array(stream: Any, path: Path, what: str) -> Any:
    try:
        array = np.lib.format.read_array(stream, allow_pickle=False)
    except ValueError as error:
        raise (_pickled(path, what) if "pickle" in str(error) else error) from None
    if stream.read(1):  # reading to the end also compares the checksum of an archive
        raise InputError("there are more bytes than the shape of the array needs. The file is damaged.")
    if array.dtype.kind not in "biufcSUMm":
        raise InputError(f"an array holds {array.dtype}, but numbers or text are needed.")
    return array


def _check_start(path: Path, expected: bytes, what: str) -> None:
    with open(path, "rb") as stream:
        start = stream.read(len(_NPY))
    if start.startswith(_PICKLE):
        raise _pickled(path, "it")
    if not start.startswith(expected):
        raise FileFormatError(f"{path} is not {what}, or its beginning is damaged. Correct its suffix.")


def _pickled(path: Path, what: str) -> FileFormatError:
    return FileFormatError(
        f"refused to load {path}: {what} is a pickle of Python objects, which could run any code. "
        "Save plain numeric or text arrays instead (dtype not object)."
    )


def read_arrays(path: str | os.PathLike[str], needed: Sequence[str], allowed: Sequence[str] = ()) -> dict[str, Any]:
    """Return the arrays called ``needed`` of an npz or HDF5 file, and those called ``allowed`` if they exist."""
    path = Path(path)
    if path.suffix.lower() not in _FIELD_SUFFIXES:
        raise FileFormatError(
            f"cannot read {path}: named arrays are read from {', '.join(_FIELD_SUFFIXES)}, not from {path.suffix!r}."
        )
    path = existing_file(path)
    if path.suffix.lower() == ".npz":
        arrays = load_arrays(path, {*needed, *allowed})
    else:
        from angsync.io.hdf5_file import load_datasets

        arrays = load_datasets(path, {*needed, *allowed})
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise FileFormatError(
            f"{path} has no {' and no '.join(map(repr, missing))}; it holds {listed(arrays)}. Rename its arrays."
        )
    return {name: arrays[name] for name in (*needed, *allowed) if name in arrays}


def read_npz(path: Path, names: ColumnNames) -> Any:
    """Return measurements, a dense matrix or a sparse array, depending on the keys."""
    arrays = load_arrays(path, {*names.wanted, "format"})
    with reading(path, "npz"):
        if arrays.keys() >= _SPARSE and arrays["format"].dtype.kind in "SU":
            import scipy.sparse

            return checked_sparse(scipy.sparse.load_npz(path))
        return from_arrays(arrays, names, path)


def read_npy(path: Path) -> Any:
    """Return the matrix of an npy file."""
    return _matrix(load_array(path), path, "the array")


def from_arrays(arrays: Mapping[str, Any], names: ColumnNames, path: Path, first_node: int = 0) -> Any:
    """Return measurements if there are edges, else the matrix ``C`` as it is.

    ``first_node`` is the number of the first node in the format, which matters only if the file says ``n``: otherwise
    the numbers are labels.
    """
    if names.i in arrays and names.j in arrays and (names.angle in arrays or "value" in arrays):
        return _edges(arrays, names, path, first_node)
    if "C" in arrays:
        return _matrix(arrays["C"], path, "C")
    raise FileFormatError(
        f"{path} has neither edges ({names.i!r}, {names.j!r} and {names.angle!r} or 'value') nor a matrix "
        f"'C'; it holds {listed(arrays)}.",
        **NAME_THE_COLUMNS,
    )


def _matrix(array: Any, path: Path, name: str) -> Any:
    """Return the matrix, dense (numbers, two axes or more) or sparse; it is judged where it is used."""
    import scipy.sparse

    if scipy.sparse.issparse(array):
        return array
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise FileFormatError(f"{path}: {name} holds {array.dtype}, not numbers. Store a numeric matrix.")
    if array.ndim < 2:
        raise FileFormatError(
            f"{path}: {name} has shape {array.shape}, but a square matrix is needed. "
            "For an edge list store i, j and angle in an .npz file."
        )
    return array


def _edges(arrays: Mapping[str, Any], names: ColumnNames, path: Path, first_node: int) -> Measurements:
    columns = {
        name: _vector(array)
        for name, array in arrays.items()
        if array is not None and name in names.wanted - {"C", "n", "labels"}
    }
    value = columns.pop("value", None)
    if value is None and np.iscomplexobj(columns[names.angle]):
        value = columns[names.angle]
    count: int | None = None
    labels: Sequence[Any] | None = None
    if "labels" in arrays:
        labels = node_column(arrays["labels"], "labels").ravel().tolist()
        count = len(labels)
    elif "n" in arrays:
        n = np.asarray(arrays["n"])
        if n.size != 1 or n.dtype.kind not in "iuf" or not float(n.item()).is_integer():
            raise FileFormatError(f"{path}: n must be one whole number, the number of nodes.")
        count = check_node_count(int(n.item()), np.size(columns[names.i]))
        starts_at_0 = any((node_column(columns[name], name) == 0).any() for name in (names.i, names.j))
        labels = None if first_node == 0 or starts_at_0 else range(first_node, first_node + count)
    return to_measurements(columns, names, count, labels, value)


def _vector(array: Any) -> Any:
    """Return a matrix of one row or one column as a vector: MATLAB has no vectors."""
    array = np.asarray(array)
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def checked_sparse(matrix: Any) -> Any:
    """Return a sparse matrix of a file as csr. Compiled code trusts its indices, so they are checked first."""
    import scipy.sparse

    if matrix.ndim != 2 or matrix.dtype.kind not in "biufc":
        raise InputError(f"the sparse matrix has the shape {matrix.shape} and holds {matrix.dtype}: it is damaged.")
    check_node_count(max(matrix.shape), matrix.data.size)
    if matrix.format in ("csr", "csc", "bsr"):
        starts = np.asarray(matrix.indptr)
        # SciPy's own check does not look at a matrix whose last start is 0 or negative
        if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
            raise InputError("the sparse matrix is damaged: the starts of its rows or columns do not grow from 0.")
        matrix.check_format(full_check=True)
    return scipy.sparse.csr_array(matrix)


def write_measurements_npz(measurements: Measurements, path: Path, truth: ArrayLike | None) -> None:
    """Write the keys i, j, angle, weight, n; also value (complex values) and labels if there are some."""
    first, second, labels = named_ends(measurements)
    arrays = {"i": first, "j": second, "angle": measurements.angle, "weight": measurements.weight}
    arrays["n"] = np.array(measurements.n)
    if labels is not None:
        arrays["labels"] = labels
    if measurements.modulus is not None:
        arrays["value"] = measurements.modulus * np.exp(1j * measurements.angle)
    save_arrays(arrays, path, truth)


def write_matrix_npz(C: Any, path: Path, truth: ArrayLike | None) -> None:
    """Write the key C for a dense matrix, and the keys of ``scipy.sparse.save_npz`` for a sparse one."""
    import scipy.sparse

    if not scipy.sparse.issparse(C):
        save_arrays({"C": _numeric(C, path)}, path, truth)
        return
    rows = scipy.sparse.csr_array(C)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    save_arrays({**parts, "format": np.array(b"csr"), "_is_array": np.array(True)}, path, truth)


def write_matrix_npy(C: Any, path: Path, truth: ArrayLike | None) -> None:
    """Write one dense matrix and nothing else."""
    import scipy.sparse

    if truth is not None or scipy.sparse.issparse(C):
        raise OutputError(f"cannot write {path}: an .npy file holds one dense array only. Use the suffix .npz.")
    with atomic_open(path, "wb") as stream:
        np.save(stream, _numeric(C, path), allow_pickle=False)


def save_arrays(arrays: dict[str, Any], path: Path, truth: ArrayLike | None = None) -> None:
    """Write an npz archive, with the true angles if they are known."""
    if truth is not None:
        arrays = {**arrays, "truth": np.asarray(truth, dtype=float)}
    # NumPy before 2.2 cannot be told not to pickle, so objects are kept away from it
    objects = [name for name, array in arrays.items() if array.dtype.hasobject]
    if objects:
        raise OutputError(f"cannot write {path}: {', '.join(objects)} would be pickled. Use numbers or text.")
    with atomic_open(path, "wb") as stream:
        np.savez(stream, **arrays)


def _numeric(C: Any, path: Path) -> Any:
    C = np.asarray(C)
    if C.dtype.kind not in "biufc":
        raise OutputError(f"cannot write {path}: the matrix holds {C.dtype}, not numbers.")
    return C
