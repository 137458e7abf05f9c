"""The file formats by suffix, without loading NumPy: what is read and written, and by which function.

A new format takes one row here, beside its file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

COLUMN_READERS = {
    ".csv": "csv_file.read_csv",
    ".tsv": "csv_file.read_csv",
    ".txt": "csv_file.read_csv",
    ".parquet": "parquet_file.read_parquet",
    ".npz": "npz_file.read_npz",
    ".mat": "mat_file.read_mat",
    ".h5": "hdf5_file.read_hdf5",
    ".hdf5": "hdf5_file.read_hdf5",
}
"""Formats whose columns (keys, variables, datasets) have names."""
READ = (*COLUMN_READERS, ".npy", ".g2o")
"""Every suffix that :func:`angsync.read` knows."""

MEASUREMENT_WRITERS = {
    ".csv": "csv_file.write_measurements_csv",
    ".npz": "npz_file.write_measurements_npz",
    ".parquet": "parquet_file.write_measurements_parquet",
}
MATRIX_WRITERS = {".npz": "npz_file.write_matrix_npz", ".npy": "npz_file.write_matrix_npy"}
RESULT = (".npz", ".csv")
"""What a result is saved as."""

G2O_WEIGHTS = ("kappa", "unit")
"""What an edge of a pose graph is weighed with: its information I33, or 1."""


def function_of(home: str) -> Callable[..., Any]:
    """The function of a row, such as ``"csv_file.read_csv"``, loaded now."""
    module, _, name = home.partition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"angsync.io.{module}"), name)
    return function


def in_words(suffixes: Iterable[str]) -> str:
    """``csv, npz or parquet``."""
    *others, last = (suffix.removeprefix(".") for suffix in suffixes)
    return f"{', '.join(others)} or {last}" if others else last
