"""Certificates of a stack of small problems: gap and verdict of each from the bounds that the kernels prove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.gap import SQUARES_FROM, SQUARES_TO
from angsync.kernels.batch.numbers import NOT_FINITE
from angsync.kernels.rounding import gamma

_SMALLEST = math.ulp(0.0)  # the smallest positive number
_PROBLEMS_AT_ONCE = 4096  # all that is computed for them stays in the cache

CLAIMS = ("verdict", "gap_bound", "relative_gap", "lambda_2")
"""What is claimed of each problem, as in :class:`angsync.certificate.verdict.Certificate`; verdict 0 is CERTIFIED."""


def certificates(field: dict[str, NDArray[np.float64]], n: int, names: Sequence[str] = CLAIMS) -> dict[str, NDArray]:
    """Gap and verdict from the bound on S, for arrays of problems.

    The formulas are those of :class:`angsync.certificate.gap.Gap` for one problem, without its weights and its bounds
    on the second eigenvalue; a test compares the two.

    ``field`` holds what :data:`angsync.kernels.batch.numbers.FIELDS` names, the ``status``, and the number of pieces of
    each problem (``components``) where it is known: what is not in one piece is never CERTIFIED. ``names`` are the
    claims that are wanted: those of :data:`CLAIMS`, "lambda_min", "unique", "scale" and "rounding".
    """
    shape = field["bound"].shape
    flat = {name: values.ravel() for name, values in field.items()}
    count = flat["bound"].size
    claims: dict[str, NDArray] = {name: np.empty(count, np.int8 if name == "verdict" else float) for name in names}
    for first in range(0, count, _PROBLEMS_AT_ONCE):
        part = slice(first, first + _PROBLEMS_AT_ONCE)
        found = _claims({name: values[part] for name, values in flat.items()}, n)
        for name in names:
            claims[name][part] = found[name]
    return {name: values.reshape(shape) for name, values in claims.items()}


def _claims(field: dict[str, NDArray[np.float64]], n: int) -> dict[str, NDArray]:
    g = math.sqrt(2) * gamma(2 * n + 8)
    nodes = field["nodes"]
    several = nodes > 1
    m = np.where(several, nodes, 1.0)
    value, f = field["bound"], field["bare_objective"]
    # below the normal numbers each of a few n^2 operations is off by half of the smallest one instead
    least = 8 * n * n * _SMALLEST
    rounding = (g + gamma(64)) * field["rows_total"] + least
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        misfit = np.maximum(field["moduli"] - f, 0) + rounding + gamma(n * n + 64) * field["moduli"]
        e = (field["gradient"] + g * field["rows_norm"]) / np.sqrt(m)
        offset = rounding / m
        root = np.hypot(value + offset, 2 * e)
        below = np.where(value > 0, (value - offset + root) / 2, 1)
        positive = -(e * e + value * offset) / below
        far = ~((below > SQUARES_FROM) & (below < SQUARES_TO))
        if far.any():  # each problem by its own size: no bit of it depends on its neighbors
            positive = np.where(far, -(e * (e / below) + offset * (value / below)), positive)
        smallest = np.where(value > 0, positive, (value - offset - root) / 2)
        smallest = np.where(np.isneginf(value), -np.inf, smallest)
        # f of the matrix given, whose triangles differ by rounding, is within the sum of these differences of ours
        unknown = rounding + 2 * field["skew"] if "skew" in field else rounding
        gap = np.minimum(m * np.maximum(0, -smallest), misfit) + unknown
        scale = np.maximum(np.minimum(np.abs(f), misfit), 4 * unknown / GAP_TOLERANCE)
        lambda_2 = value - g * field["rows_most"]
        # as Gap.proves_uniqueness; no entry of the diagonal of S exceeds the sum of moduli of its row
        ratio = e * np.sqrt(m) / (value - offset)
        most = (1 + g) * field["rows_most"] + offset + ratio * ratio * (value - offset) / m
        unique = (value > offset) & (value - offset > 2 * most * ratio * ratio)
        relative = np.where(scale > 0, gap / np.where(scale > 0, scale, 1), np.where(gap > 0, np.inf, 0.0))
    bad = field["status"] == NOT_FINITE
    gap = np.where(bad, np.nan, np.where(several, gap, 0.0))
    relative = np.where(bad, np.nan, np.where(several, relative, 0.0))
    lambda_2 = np.where(bad, np.nan, np.where(several, lambda_2, np.inf))
    # Among the smallest numbers of all, rounding may be as large as f: there it is no scale for a gap.
    proved = (relative <= GAP_TOLERANCE) & (~several | (least <= GAP_TOLERANCE * np.abs(f)) | (f == 0))
    if "components" in field:
        proved &= field["components"] == 1
        lambda_2 = np.where(field["components"] != 1, np.minimum(lambda_2, 0.0), lambda_2)
    verdict = np.where(proved, 0, 1).astype(np.int8)
    return {
        "verdict": verdict,
        "gap_bound": gap,
        "relative_gap": relative,
        "lambda_2": lambda_2,
        "lambda_min": np.minimum(smallest, 0) - g * field["rows_most"],
        "unique": unique,
        "scale": scale,
        "rounding": unknown,
    }


def whole_only(claims: dict[str, Any], components: NDArray[np.int32]) -> dict[str, Any]:
    """The claims about one problem that was solved alone, as far as they are claims about one piece."""
    if claims and components[0] != 1:
        return claims | {"verdict": 1, "lambda_2": min(claims["lambda_2"], 0.0)}
    return claims
