"""The reader of problems: the suffix of the file decides which format it is."""

from __future__ import annotations

import os
from typing import Any

from angsync.errors import FileFormatError, InputError, names_keywords
from angsync.io.columns import ColumnNames
from angsync.io.failures import existing_file
from angsync.io.formats import COLUMN_READERS, G2O_WEIGHTS, READ, function_of, in_words
from angsync.problem.measurements import Measurements, Unit
from angsync.problem.units import check_unit

_UNITLESS = {
    ".g2o": "A g2o file is in radians: leave it out.",
    ".npy": "This is a matrix of complex numbers, which have no unit: leave it out.",
}


@names_keywords
def read(
    path: str | os.PathLike[str],
    *,
    i: str = "i",
    j: str = "j",
    angle: str = "angle",
    weight: str | None = None,
    weights: str = "kappa",
    unit: Unit = "rad",
    format: str | None = None,
) -> Any:
    """Read a problem: edges come back as :class:`Measurements`, a matrix as the matrix it is.

    Parameters
    ----------
    path
        A file whose suffix (in any case) names its format: csv, tsv, txt, parquet, npz, npy, mat, h5, hdf5
        or g2o. ``format`` names it where the suffix does not.
    i, j, angle, weight
        Names of the columns (keys, variables, datasets) of an edge list. ``weight=None`` uses the column
        ``weight`` where there is one. In a table, node columns hold any labels; in npz and hdf5 files they
        hold indices when the file says ``n``, and labels otherwise.
    weights
        Pose graphs (g2o) only: ``"kappa"`` weighs an edge with its information I33, ``"unit"`` with 1.
    unit
        The unit of the angles of an edge list, ``"rad"``, ``"deg"`` or ``"turn"``. What is returned is in radians.

    Returns
    -------
    Measurements, numpy.ndarray or scipy.sparse.csr_array

    Examples
    --------
    >>> np.savez("edges.npz", i=[0, 1], j=[1, 2], angle=[30, 45])
    >>> ang.read("edges.npz", unit="deg")
    Measurements(2 angles between 3 nodes)
    """
    if weights not in G2O_WEIGHTS:
        raise InputError(f"weights is {weights!r}, but it must be 'kappa' or 'unit'.")
    check_unit(unit)
    file = existing_file(path)
    suffix = file.suffix.lower() if format is None else f".{format.lower().removeprefix('.')}"
    if format is not None and suffix not in READ:
        raise InputError(f"format is {format!r}, but it must be {in_words(READ)}.")
    if unit != "rad" and suffix in (".g2o", ".npy"):
        raise InputError(f"{file}: the unit {unit!r} is for edge lists. {_UNITLESS[suffix]}")
    if suffix == ".g2o":
        from angsync.io.g2o_file import read_g2o

        return read_g2o(file, weights)
    if suffix == ".npy":
        from angsync.io.npz_file import read_npy

        return read_npy(file)
    if suffix not in COLUMN_READERS:
        raise FileFormatError(
            f"{file}: the suffix {file.suffix!r} is not known; known are {', '.join(sorted(READ))}. "
            "Rename or convert it, or name its format:",
            python="format='csv'.",
            command="--format csv.",
        )
    data = function_of(COLUMN_READERS[suffix])(file, ColumnNames(i, j, angle, weight, unit))
    if unit != "rad" and not isinstance(data, Measurements):
        raise InputError(f"{file}: the unit {unit!r} is for edge lists. {_UNITLESS['.npy']}")
    return data
