"""The column that weighs the measurements of a file or a data frame: weights, or standard deviations."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncWarning, InputError, warn_user
from angsync.problem.units import in_radians

WEIGHT, ERRORS = "weight", ("sigma", "error")
"""The names of columns that weigh the measurements if no name is given."""
_LIKELY_ERRORS = ("std", "stddev", "stdev", "stderr", "standard_error", "err", "uncertainty")


def weighing(
    found: Collection[str], ends_and_angle: Collection[str], weight: str | None, error: str | None
) -> tuple[str | None, bool]:
    """Return the column that weighs the measurements, or None, and whether it holds standard deviations.

    Several are refused, unless one was named.
    """
    if weight is not None and error is not None:
        raise InputError("both weight and error name a column, but one of them weighs the measurements. Name one.")
    if weight is not None or error is not None:
        return weight or error, weight is None
    usual = [name for name in (WEIGHT, *ERRORS) if name in found and name not in ends_and_angle]
    if len(usual) > 1:
        raise InputError(
            f"the columns {', '.join(map(repr, usual))} all weigh the measurements. Name the one to use, for example:",
            python=f"error={usual[-1]!r}.",
            command=f"--error {usual[-1]}.",
        )
    name = next(iter(usual), None)
    return name, name in ERRORS


def warn_of_unused(found: Collection[str], used: Collection[str | None]) -> None:
    """Warn of the first column that seems to weigh the measurements, but is not one of those that do."""
    likely = {WEIGHT: "weight", "weights": "weight"} | dict.fromkeys((*ERRORS, *_LIKELY_ERRORS), "error")
    unused = next((str(x) for x in found if x not in used and str(x).casefold() in likely), None)
    if unused is not None:
        role = likely[unused.casefold()]
        meant = "holds the weights" if role == "weight" else "holds the standard deviations"
        warn_user(
            f"the column {unused!r} is not used to weigh the measurements. If it {meant}, name it:",
            AngsyncWarning,
            python=f"{role}={unused!r}.",
            command=f"--{role} {shlex.quote(unused)}.",
        )


def weights_of_errors(column: Any, name: str, unit: str) -> NDArray[np.float64]:
    """Return 1 / sigma^2 (radians) for standard deviations in the unit of the angles."""
    sigma = np.asarray(column)
    if sigma.dtype.kind not in "iuf":
        raise InputError(f"{name} holds {sigma.dtype}, but standard deviations are numbers.")
    with np.errstate(divide="ignore", over="ignore"):
        weights: NDArray[np.float64] = in_radians(1.0, unit) ** -2 * sigma.astype(np.float64) ** -2
    bad = ~(np.isfinite(weights) & (weights > 0) & (sigma > 0))
    if bad.any():
        k = int(np.argmax(bad))
        raise InputError(
            f"{name}[{k}] is {sigma.flat[k]}, but a standard deviation is positive, and 1 / sigma^2 must be a "
            "finite number above 0. Correct it, or leave it out."
        )
    return weights
