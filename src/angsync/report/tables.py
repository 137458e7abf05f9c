"""A result as named columns: one row per node, or one row per measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from angsync.errors import ErrorBarWarning, InputError, warn_user
from angsync.problem.frames import measured_columns, node_column

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

TABLES = ("nodes", "measurements")


def columns_of(result: SyncResult, of: str, *, standard_errors: bool = True) -> dict[str, NDArray]:
    """The columns of the table of nodes or of measurements; angles are in radians."""
    if of == "nodes":
        return _of_nodes(result, standard_errors)
    if of == "measurements":
        return _of_measurements(result, standard_errors)
    raise InputError(f"of must be one of {', '.join(map(repr, TABLES))}, not {of!r}.")


def _of_nodes(result: SyncResult, standard_errors: bool) -> dict[str, NDArray]:
    angles = np.asarray(result.angles)
    columns = {"node": node_column(result.labels, np.arange(angles.size)), "angle": angles}
    if standard_errors:
        columns["standard_error"] = _errors(result, angles.size)
    return {**columns, "component": np.asarray(result.components)}


def _errors(result: SyncResult, n: int) -> NDArray[np.float64]:
    """Standard errors; NaN, with a warning, where there are none, and for isolated nodes."""
    try:
        errors = np.array(result.standard_errors(), dtype=float)
    except InputError as error:
        warn_user(f"The column standard_error is NaN: {error}", ErrorBarWarning)
        return np.full(n, np.nan)
    errors[np.asarray(result.isolated)] = np.nan
    return errors


def _of_measurements(result: SyncResult, standard_errors: bool) -> dict[str, NDArray]:
    measurements, residuals = result.measurements, result.edge_residuals()
    columns = measured_columns(measurements)
    columns["residual"] = np.asarray(residuals.wrapped)
    if standard_errors:
        columns["standardized"] = np.asarray(residuals.standardized)
    if result.robust is not None:
        columns["distrusted"] = np.asarray(result.robust.distrusted)
    return columns
