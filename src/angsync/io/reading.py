"""Read and write problems: the suffix of the file decides which format it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from angsync.errors import FileFormatError, InputError, OutputError, names_keywords
from angsync.io.columns import ColumnNames
from angsync.io.failures import existing_file
from angsync.io.formats import (
    COLUMN_READERS,
    G2O_WEIGHTS,
    MATRIX_WRITERS,
    MEASUREMENT_WRITERS,
    READ,
    function_of,
    in_words,
)
from angsync.problem.measurements import Measurements, Unit
from angsync.problem.units import check_unit


@names_keywords
def read(
    path: str | os.PathLike[str],
    *,
    i: str = "i",
    j: str = "j",
    angle: str = "angle",
    weight: str | None = None,
    error: str | None = None,
    weights: str = "kappa",
    unit: Unit = "rad",
    format: str | None = None,
) -> Any:
    """Read a problem: edges come back as :class:`Measurements`, a matrix as the matrix it is.

    Parameters
    ----------
    path
        A file whose suffix (in any case) names its format: csv, tsv, txt, parquet, npz, npy, mat, h5, hdf5
        or g2o. ``format`` names it if the suffix does not.
    i, j, angle
        Names of the columns (keys, variables, datasets) of an edge list. In a table, node columns hold any labels; in
        npz and hdf5 files they hold indices if the file says ``n``, and labels otherwise.
    weight, error
        Name of the column of weights, or of standard deviations in ``unit``, which give the weights 1 / error**2 (error
        in radians). Default: the column ``weight``, ``sigma`` or ``error``, if the file has one of them.
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
    return read_named(path, ColumnNames(i, j, angle, weight, error, unit), weights, format)


def read_named(path: str | os.PathLike[str], names: ColumnNames, weights: str, format: str | None) -> Any:
    """Do the work of :func:`read`; afterwards ``names`` tells where the weights came from."""
    if weights not in G2O_WEIGHTS:
        raise InputError(f"weights is {weights!r}, but it must be 'kappa' or 'unit'.")
    check_unit(names.unit)
    file = existing_file(path)
    suffix = file.suffix.lower() if format is None else f".{format.lower().removeprefix('.')}"
    if format is not None and suffix not in READ:
        raise InputError(f"format is {format!r}, but it must be {in_words(READ)}.")
    if weights != G2O_WEIGHTS[0] and suffix != ".g2o":
        raise _only_for(file, "pose graphs (g2o)", "weights", weights)
    if suffix in (".g2o", ".npy"):
        _refuse_names(file, names)
    if suffix == ".g2o":
        from angsync.io.g2o_file import read_g2o

        return read_g2o(file, weights)
    if suffix == ".npy":
        from angsync.io.arrays import read_npy

        return read_npy(file)
    if suffix not in COLUMN_READERS:
        raise FileFormatError(
            f"{file}: the suffix {file.suffix!r} is not known; known are {', '.join(sorted(READ))}. "
            "Rename or convert it, or name its format:",
            python="format='csv'.",
            command="--format csv.",
        )
    data = function_of(COLUMN_READERS[suffix])(file, names)
    if not isinstance(data, Measurements):
        _refuse_names(file, names)
    return data


def _refuse_names(file: Path, names: ColumnNames) -> None:
    """Refuse names of columns and the unit of a file that has neither: a matrix, or a pose graph in radians."""
    usual = vars(ColumnNames())
    for name, given in vars(names).items():
        if name != "errors_used" and given != usual[name]:
            raise _only_for(file, "edge lists", name, given)


def _only_for(file: Path, what: str, name: str, given: str) -> InputError:
    text = f"{file}: {name} is only for {what}."
    return InputError(text, python=f"Leave out {name}={given!r}.", command=f"Leave out --{name} {given}.")


def write_measurements(
    measurements: Measurements, path: str | os.PathLike[str], truth: ArrayLike | None = None
) -> None:
    """Write an edge list that :func:`angsync.read` reads back: csv, npz or parquet, by the suffix.

    Columns ``i, j`` (labels if there are some, else indices), ``angle``, ``weight``. npz is lossless: complex values
    keep their modulus in ``value``. csv and parquet have no complex column, so the weight written there is
    ``measurements.strength``, which gives the same matrix C; nodes without measurements are lost there, with a
    warning. Labels other than whole numbers are stored as text, with a warning. ``truth`` (true angles; npz only) is
    stored and not read back.
    """
    file = Path(path)
    writer = _writer(MEASUREMENT_WRITERS, file, "an edge list")
    writer(measurements, file, truth)


def write_matrix(C: Any, path: str | os.PathLike[str], truth: ArrayLike | None = None) -> None:
    """Write a matrix that :func:`angsync.read` reads back: npz (the key C, or sparse) or npy (dense)."""
    file = Path(path)
    _writer(MATRIX_WRITERS, file, "a matrix")(C, file, truth)


def _writer(writers: dict[str, str], path: Path, what: str) -> Any:
    try:
        home = writers[path.suffix.lower()]
    except KeyError:
        raise OutputError(
            f"cannot write {path}: {what} is written as {' or '.join(writers)}, not as {path.suffix!r}. "
            "Change the suffix."
        ) from None
    return function_of(home)
