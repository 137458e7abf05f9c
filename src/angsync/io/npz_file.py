"""NumPy's own files: .npz (edges, a matrix, or scipy.sparse's format) and .npy (a matrix); no pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from angsync.errors import InputError, OutputError
from angsync.io.atomic import atomic_open
from angsync.io.columns import ColumnNames, storable_labels
from angsync.io.failures import listed, quoted, reading
from angsync.io.limits import check_node_count
from angsync.io.named_arrays import from_arrays, matrix
from angsync.io.npz_arrays import load_array, load_arrays
from angsync.io.sparse_arrays import compressed, coordinates, diagonals
from angsync.problem.measurements import Measurements

_SPARSE = {"format", "shape", "data", "indices", "indptr", "row", "col", "offsets"}


def read_npz(path: Path, names: ColumnNames) -> Any:
    """Measurements, a dense matrix or a sparse array, told apart by the keys."""
    arrays = load_arrays(path, names.wanted | _SPARSE)
    with reading(path, "npz"):
        if {"format", "shape", "data"} <= arrays.keys() and arrays["format"].dtype.kind in "SU":
            return _sparse(arrays)
        return from_arrays(arrays, names, path)


def read_npy(path: Path) -> Any:
    """The matrix of an .npy file."""
    return matrix(load_array(path), path, "the array")


def write_measurements_npz(measurements: Measurements, path: Path, truth: ArrayLike | None) -> None:
    """Keys i, j, angle, weight, n; also value (complex values) and labels where there are some."""
    check_node_count(measurements.n, len(measurements))
    first, second = measurements.i, measurements.j
    arrays: dict[str, Any] = {}
    if measurements.labels is not None:
        labels = np.array(storable_labels(measurements.labels))
        first, second = labels[first], labels[second]
        arrays["labels"] = labels
    arrays |= {"i": first, "j": second, "angle": measurements.angle, "weight": measurements.weight}
    arrays["n"] = np.array(measurements.n)
    if measurements.modulus is not None:
        arrays["value"] = measurements.modulus * np.exp(1j * measurements.angle)
    save_arrays(arrays, path, truth)


def write_matrix_npz(C: Any, path: Path, truth: ArrayLike | None) -> None:
    """The key C for a dense matrix; the keys of ``scipy.sparse.save_npz`` for a sparse one."""
    import scipy.sparse

    if not scipy.sparse.issparse(C):
        save_arrays({"C": _numeric(C, path)}, path, truth)
        return
    rows = scipy.sparse.csr_array(C)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    save_arrays({**parts, "format": np.array(b"csr"), "_is_array": np.array(True)}, path, truth)


def write_matrix_npy(C: Any, path: Path, truth: ArrayLike | None) -> None:
    """One dense matrix and nothing else."""
    import scipy.sparse

    if truth is not None or scipy.sparse.issparse(C):
        raise OutputError(f"cannot write {path}: an .npy file holds one dense array only. Use the suffix .npz.")
    with atomic_open(path, "wb") as stream:
        np.save(stream, _numeric(C, path), allow_pickle=False)


def save_arrays(arrays: dict[str, Any], path: Path, truth: ArrayLike | None = None) -> None:
    """Write an .npz archive, with the true angles beside the data where they are known."""
    if truth is not None:
        arrays = {**arrays, "truth": np.asarray(truth, dtype=float)}
    # NumPy before 2.2 cannot be told not to pickle, so objects are kept away from it
    objects = [name for name, array in arrays.items() if array.dtype.hasobject]
    if objects:
        raise OutputError(f"cannot write {path}: {', '.join(objects)} would be pickled. Use numbers or text.")
    with atomic_open(path, "wb") as stream:
        np.savez(stream, **arrays)


def _sparse(arrays: dict[str, Any]) -> Any:
    """What ``scipy.sparse.save_npz`` wrote."""
    kind = np.asarray(arrays["format"]).astype(str).item()
    rows, columns = (int(side) for side in arrays["shape"].tolist())
    shape, data = (rows, columns), arrays["data"]
    if min(shape) < 0 or data.dtype.kind not in "biufc":
        raise InputError(f"the sparse matrix has the shape {shape} and holds {data.dtype}: it is damaged.")
    check_node_count(max(shape), data.size)
    whole = [name for name in ("indices", "indptr", "row", "col", "offsets") if arrays.get(name) is not None]
    if any(arrays[name].dtype.kind not in "iu" or arrays[name].ndim != 1 for name in whole):
        raise InputError(f"the indices of the sparse matrix ({listed(whole)}) must be vectors of whole numbers.")
    if kind in ("csr", "csc", "bsr"):
        return compressed(kind, data, arrays["indices"], arrays["indptr"], shape)
    if kind == "coo":
        return coordinates(data, arrays["row"], arrays["col"], shape)
    if kind == "dia":
        return diagonals(data, arrays["offsets"], shape)
    raise InputError(f"the sparse format {quoted(kind)} is not known; save the matrix as csr.")


def _numeric(C: Any, path: Path) -> Any:
    C = np.asarray(C)
    if C.dtype.kind not in "biufc":
        raise OutputError(f"cannot write {path}: the matrix holds {C.dtype}, not numbers.")
    return C
