"""The file formats by suffix, without loading NumPy: what is read and written, and by which function.

A new format takes one row here and its own module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

COLUMN_READERS = {
    ".csv": "columns.read_edges",
    ".tsv": "columns.read_edges",
    ".txt": "columns.read_edges",
    ".parquet": "columns.read_edges",
    ".npz": "arrays.read_npz",
    ".mat": "mat_file.read_mat",
    ".h5": "hdf5_file.read_hdf5",
    ".hdf5": "hdf5_file.read_hdf5",
}
"""Formats whose columns (keys, variables, datasets) have names."""
READ = (*COLUMN_READERS, ".npy", ".g2o")
"""Every suffix that :func:`angsync.read` knows."""

MEASUREMENT_WRITERS = {
    ".csv": "columns.write_edges",
    ".npz": "arrays.write_measurements_npz",
    ".parquet": "columns.write_edges",
}
MATRIX_WRITERS = {".npz": "arrays.write_matrix_npz", ".npy": "arrays.write_matrix_npy"}
RESULT = (".npz", ".csv")
"""What a result is saved as."""

G2O_WEIGHTS = ("kappa", "unit")
"""What an edge of a pose graph is weighed with: its information I33, or 1."""


def function_of(home: str) -> Callable[..., Any]:
    """The function of a row, such as ``"columns.read_edges"``, loaded now."""
    module, _, name = home.partition(".")
    function: Callable[..., Any] = getattr(importlib.import_module(f"angsync.io.{module}"), name)
    return function


def in_words(suffixes: Iterable[str]) -> str:
    """``csv, npz or parquet``."""
    *others, last = (suffix.removeprefix(".") for suffix in suffixes)
    return f"{', '.join(others)} or {last}" if others else last
