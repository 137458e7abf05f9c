"""The reader of problems: the suffix of the file decides which format it is."""

from __future__ import annotations

import os
from typing import Any

from angsync.errors import FileFormatError, InputError
from angsync.io.columns import ColumnNames
from angsync.io.failures import existing_file
from angsync.io.formats import COLUMN_READERS, G2O_WEIGHTS, READ, function_of


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
    if weights not in G2O_WEIGHTS:
        raise InputError(f"weights is {weights!r}, but it must be 'kappa' or 'unit'.")
    file = existing_file(path)
    suffix = file.suffix.lower()
    if suffix == ".g2o":
        from angsync.io.g2o_file import read_g2o

        return read_g2o(file, weights)
    if suffix == ".npy":
        from angsync.io.npz_file import read_npy

        return read_npy(file)
    if suffix not in COLUMN_READERS:
        raise FileFormatError(
            f"{file}: the suffix {file.suffix!r} is not known; known are {', '.join(sorted(READ))}. "
            "Rename or convert the file."
        )
    return function_of(COLUMN_READERS[suffix])(file, ColumnNames(i, j, angle, weight))
