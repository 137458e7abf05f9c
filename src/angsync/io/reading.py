"""The reader of problems: the suffix of the file decides which format it is."""

from __future__ import annotations

import os
from typing import Any

from angsync.errors import FileFormatError, InputError
from angsync.io.columns import ColumnNames
from angsync.io.csv_file import read_csv
from angsync.io.failures import existing_file
from angsync.io.g2o_file import read_g2o
from angsync.io.hdf5_file import read_hdf5
from angsync.io.mat_file import read_mat
from angsync.io.npz_file import read_npy, read_npz
from angsync.io.parquet_file import read_parquet

_WITH_COLUMNS = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
    ".mat": read_mat,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
}
SUFFIXES = (*_WITH_COLUMNS, ".npy", ".g2o")


def read(
    path: str | os.PathLike[str],
    *,
    i: str = "i",
    j: str = "j",
    angle: str = "angle",
    weight: str | None = None,
    weights: str = "kappa",
) -> Any:
    """Read a problem: edges come back as :class:`Measurements`, a matrix as the matrix it is.

    Parameters
    ----------
    path
        A file whose suffix (in any case) names its format: csv, tsv, txt, parquet, npz, npy, mat, h5, hdf5
        or g2o.
    i, j, angle, weight
        Names of the columns (keys, variables, datasets) of an edge list. ``weight=None`` uses the column
        ``weight`` where there is one. In a table, node columns hold any labels; in npz and hdf5 files they
        hold indices when the file says ``n``, and labels otherwise.
    weights
        Pose graphs (g2o) only: ``"kappa"`` weighs an edge with its information I33, ``"unit"`` with 1.

    Returns
    -------
    Measurements, numpy.ndarray or scipy.sparse.csr_array
    """
    if weights not in ("kappa", "unit"):
        raise InputError(f"weights is {weights!r}, but it must be 'kappa' or 'unit'.")
    file = existing_file(path)
    suffix = file.suffix.lower()
    if suffix == ".g2o":
        return read_g2o(file, weights)
    if suffix == ".npy":
        return read_npy(file)
    if suffix not in _WITH_COLUMNS:
        raise FileFormatError(
            f"{file}: the suffix {file.suffix!r} is not known; known are {', '.join(sorted(SUFFIXES))}. "
            "Rename or convert the file."
        )
    return _WITH_COLUMNS[suffix](file, ColumnNames(i, j, angle, weight))
