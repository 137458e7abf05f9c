"""NumPy's own files: .npz (edges, a matrix, or scipy.sparse's format) and .npy (a matrix); no pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from angsync.errors import FileFormatError, OutputError
from angsync.io.atomic import atomic_open
from angsync.io.columns import ColumnNames, storable_labels
from angsync.io.failures import reading
from angsync.io.named_arrays import from_arrays, matrix
from angsync.problem.measurements import Measurements

_ZIP, _NPY, _PICKLE = b"PK", b"\x93NUMPY", b"\x80"


def read_npz(path: Path, names: ColumnNames) -> Any:
    """Measurements, a dense matrix or a sparse array, told apart by the keys."""
    arrays = load_arrays(path)
    with reading(path, "npz"):
        if {"format", "shape", "data"} <= arrays.keys() and arrays["format"].dtype.kind in "SU":
            return _read_sparse(path)
        return from_arrays(arrays, names, path)


def read_npy(path: Path) -> Any:
    """The matrix of an .npy file."""
    return matrix(load_array(path), path, "the array")


def load_arrays(path: Path) -> dict[str, Any]:
    """All arrays of an .npz archive. Pickled ones are refused, needed or not."""
    with reading(path, "npz"):
        _check_start(path, _ZIP, "an npz archive (a zip file of arrays)")
        arrays: dict[str, Any] = {}
        with np.load(path, allow_pickle=False) as archive:
            for key in archive.files:
                try:
                    arrays[key] = archive[key]
                except ValueError as error:
                    if "allow_pickle" in str(error):
                        raise _pickled(path, f"its array {key!r}") from None
                    raise
        return arrays


def load_array(path: Path) -> Any:
    """The array of an .npy file; a pickled one is refused."""
    with reading(path, "npy"):
        _check_start(path, _NPY, "an npy file (one array)")
        try:
            return np.load(path, allow_pickle=False)
        except ValueError as error:
            if "allow_pickle" in str(error):
                raise _pickled(path, "it") from None
            raise


def write_measurements_npz(measurements: Measurements, path: Path, truth: ArrayLike | None) -> None:
    """Keys i, j, angle, weight, n; also value (complex values) and labels where there are some."""
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


def _read_sparse(path: Path) -> Any:
    import scipy.sparse

    sparse = scipy.sparse.load_npz(path)
    if sparse.format in ("csr", "csc", "bsr"):
        # conversions run compiled code that trusts the indices
        sparse.check_format(full_check=True)
    return scipy.sparse.csr_array(sparse)


def _numeric(C: Any, path: Path) -> Any:
    C = np.asarray(C)
    if C.dtype.kind not in "biufc":
        raise OutputError(f"cannot write {path}: the matrix holds {C.dtype}, not numbers.")
    return C


def _check_start(path: Path, expected: bytes, what: str) -> None:
    # NumPy takes any file that it does not know for a pickle; only files that are one shall be called so
    with open(path, "rb") as stream:
        start = stream.read(6)
    if start.startswith(expected):
        return
    if start.startswith(_PICKLE):
        raise _pickled(path, "it")
    raise FileFormatError(f"{path} is not {what}, or its beginning is damaged. Mend its suffix or make it again.")


def _pickled(path: Path, what: str) -> FileFormatError:
    return FileFormatError(
        f"refused to load {path}: {what} is a pickle of Python objects, which could run any code. "
        "Save plain numeric or text arrays instead (dtype not object)."
    )
