"""The writers of problems: the suffix of the file decides which format it gets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from angsync.errors import OutputError
from angsync.io.columns import warn_of_labels
from angsync.io.formats import MATRIX_WRITERS, MEASUREMENT_WRITERS, function_of
from angsync.problem.measurements import Measurements


def write_measurements(
    measurements: Measurements, path: str | os.PathLike[str], truth: ArrayLike | None = None
) -> None:
    """Write an edge list that :func:`angsync.read` reads back: csv, npz or parquet, by the suffix.

    Columns ``i, j`` (labels where there are some, else indices), ``angle``, ``weight``. Complex values keep
    their modulus: npz stores ``value`` beside the weight; csv and parquet have no complex column, so there
    the weight written is ``measurements.strength``, which gives the same matrix C. Labels other than whole
    numbers are stored as text, with a warning. ``truth`` (true angles, where known) is stored and not read back.
    """
    file = Path(path)
    writer = _writer(MEASUREMENT_WRITERS, file, "an edge list")
    warn_of_labels(measurements.labels)
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
