"""From margins to angles: how much a large victory says, and how far apart on the circle players may be."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from angsync.applications.ranking.games import Comparisons
from angsync.errors import InputError

ENCODINGS = ("sqrt", "log", "linear", "ratio", "sign")
ANGLE = 0.2
"""Root mean square of the angles. So small that the circle is nearly a line: the data give no reason for more."""
_WIDEST = math.pi / 2
"""No two players are further apart than this, by least squares: the circle must not close behind the best of them."""


def encoded(played: Comparisons, encoding: str) -> NDArray[np.float64]:
    """What a margin counts: m, sqrt m, log(1 + m), m over the total, or 1; with its sign."""
    margin = played.margin
    size = np.abs(margin)
    if encoding == "sqrt":
        size = np.sqrt(size)
    elif encoding == "log":
        size = np.log1p(size)
    elif encoding == "ratio":
        size = np.divide(size, played.total, out=np.zeros_like(size), where=played.total > 0)
    elif encoding == "sign":
        size = np.ones_like(size)
    elif encoding != "linear":
        raise InputError(f"encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}.")
    return np.sign(margin) * size


def least_squares(n: int, i: NDArray[np.int64], j: NDArray[np.int64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores s with s_i - s_j nearest to y, of mean 0 in every connected component."""
    m = i.size
    A = scipy.sparse.csr_array(
        (np.concatenate([np.ones(m), -np.ones(m)]), (np.tile(np.arange(m), 2), np.concatenate([i, j]))), shape=(m, n)
    )
    L = scipy.sparse.csc_array(A.T @ A)
    labels = components_of(n, i, j)
    first = np.zeros(n)
    first[np.unique(labels, return_index=True)[1]] = 1.0  # one player a component is held
    s = scipy.sparse.linalg.spsolve(L + scipy.sparse.diags_array(first, format="csc"), A.T @ y)
    s = np.atleast_1d(s)
    return s - (np.bincount(labels, weights=s) / np.bincount(labels))[labels]


def components_of(n: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
    """The label of the connected component of each player."""
    graph = scipy.sparse.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def radians_a_unit(
    n: int, i: NDArray[np.int64], j: NDArray[np.int64], y: NDArray[np.float64], angle: float | None
) -> float:
    """The angle of one encoded unit.

    Given, ``angle`` is the root mean square of all angles. Otherwise it is :data:`ANGLE`, or less where players would
    come so far apart that the circle closes: after a hundred small steps the best would stand beside the worst.
    """
    largest = float(np.abs(y).max(initial=0.0))
    if largest == 0:
        return 1.0
    y = y / largest  # squares of the smallest and of the largest numbers would leave the range
    rms = math.sqrt(float(np.mean(y**2)))
    if angle is not None:
        return angle / rms / largest
    scores = least_squares(n, i, j, y)
    return min(ANGLE / rms, _WIDEST / max(float(np.ptp(scores)), 1e-300)) / largest
