"""The writers of problems: the suffix of the file decides which format it gets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from angsync.errors import OutputError
from angsync.io.csv_file import write_measurements_csv
from angsync.io.npz_file import write_matrix_npy, write_matrix_npz, write_measurements_npz
from angsync.io.parquet_file import write_measurements_parquet
from angsync.problem.measurements import Measurements

_MEASUREMENTS = {
    ".csv": write_measurements_csv,
    ".npz": write_measurements_npz,
    ".parquet": write_measurements_parquet,
}
_MATRIX = {".npz": write_matrix_npz, ".npy": write_matrix_npy}


def write_measurements(
    measurements: Measurements, path: str | os.PathLike[str], truth: ArrayLike | None = None
) -> None:
    """Write an edge list that :func:`angsync.read` reads back: csv, npz or parquet, by the suffix.

    Columns ``i, j`` (labels where there are some, else indices), ``angle``, ``weight``. Complex values keep
    their modulus: npz stores ``value`` beside the weight; csv and parquet have no complex column, so there
    the weight written is ``measurements.strength``, which gives the same matrix C. Labels other than whole
    numbers are stored as text. ``truth`` (true angles, where known) is stored and not read back.
    """
    file = Path(path)
    _writer(_MEASUREMENTS, file, "an edge list")(measurements, file, truth)


def write_matrix(C: Any, path: str | os.PathLike[str], truth: ArrayLike | None = None) -> None:
    """Write a matrix that :func:`angsync.read` reads back: npz (the key C, or sparse) or npy (dense)."""
    file = Path(path)
    _writer(_MATRIX, file, "a matrix")(C, file, truth)


def _writer(writers: dict[str, Any], path: Path, what: str) -> Any:
    try:
        return writers[path.suffix.lower()]
    except KeyError:
        raise OutputError(
            f"cannot write {path}: {what} is written as {' or '.join(writers)}, not as {path.suffix!r}. "
            "Change the suffix."
        ) from None
