"""Lower bounds on S(z) for many small problems, with NumPy: what ``proof.h`` computes, and Cholesky on stacks.

Cholesky factorizations of S + t u u^H - mu I, as in :mod:`angsync.certificate.bounds.cholesky`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.rounding import UNIT_ROUNDOFF


def cholesky(A: NDArray, grain: NDArray | None = None) -> tuple[NDArray, NDArray[np.bool_]]:
    """The factor, with one over its diagonal in place of the diagonal, and where all pivots are positive.

    With ``grain``, pivots up to it are taken for 0 and their coordinates left out.
    """
    A = A.copy()
    good = np.ones(len(A), dtype=bool)
    tiny = np.finfo(A.real.dtype).tiny
    for j in range(A.shape[1]):
        pivot = A[:, j, j].real
        if grain is None:
            some = pivot > tiny
            good &= some
        else:
            some = pivot > np.maximum(grain[:, j], tiny)
            good &= pivot >= -grain[:, j]
        inverse = np.where(some, 1 / np.sqrt(np.where(some, pivot, 1)), 0)
        column = A[:, j + 1 :, j] * inverse[:, None]
        A[:, j + 1 :, j] = column
        A[:, j, j] = inverse
        A[:, j + 1 :, j + 1 :] -= column[:, :, None] * column.conj()[:, None, :]
    return A, good


def bounds(C: NDArray[np.complex128], rows: NDArray[np.float64], z: NDArray[np.complex128]) -> dict[str, Any]:
    """The lower bound on S over the complement of z, the numbers that the gap is made of, and the residual."""
    n = z.shape[1]
    z = z / np.abs(z)
    w = np.matmul(C, z[:, :, None])[:, :, 0]
    turned, image = z.conj() * w, np.linalg.norm(w, axis=1)
    s, b = turned.real, turned.imag
    here = rows > 0
    nodes = here.sum(axis=1)
    count = np.maximum(nodes, 1)
    gradient = np.sqrt(np.sum(b**2, axis=1))
    largest, most = np.abs(s).max(axis=1), rows.max(axis=1)
    lift = 2 * largest + 2 * gradient / np.sqrt(count)
    lift[lift == 0] = 1
    u = np.where(here, z, 0)
    matrix = u[:, :, None] * u.conj()[:, None, :] * (lift / count)[:, None, None] - C
    np.einsum("kii->ki", matrix)[:] = np.where(here, s + (lift / count)[:, None], lift[:, None])
    forming = 8 * UNIT_ROUNDOFF * (most + largest + 3 * lift)
    trace = s.sum(axis=1) + lift + (n - nodes) * lift
    g = math.sqrt(2) * (2 * n + 8) * UNIT_ROUNDOFF / (1 - (2 * n + 8) * UNIT_ROUNDOFF)
    backward = g / (1 - g) * (1 + 1e-10)
    bound = np.full(len(z), -np.inf)
    # the estimate chooses the shift, the factorization proves it
    estimate = np.linalg.eigvalsh(matrix)[:, 0]
    below = 2 * most + largest
    for share in (0.95, 0.0, -1e-9, -1e-3, -0.03, -0.3, -1.0):
        at = np.flatnonzero(np.isneginf(bound) & ((share <= 0) | (estimate > 0)))
        if at.size == 0:
            continue
        shift = share * (estimate[at] if share > 0 else below[at])
        shifted = matrix[at] - shift[:, None, None] * np.eye(n)
        _, good = cholesky(shifted)
        value = shift - backward * np.maximum(trace[at] - n * shift, 0) - forming[at]
        bound[at[good]] = value[good]
    return {
        "residual": gradient / np.where(image > 0, image, 1),
        "bound": bound,
        "bare_objective": s.sum(axis=1),
        "gradient": gradient,
        "rows_total": rows.sum(axis=1),
        "rows_norm": np.sqrt(np.sum(rows**2, axis=1)),
        "rows_most": most,
        "moduli": np.abs(C).sum(axis=(1, 2)),
        "nodes": nodes,
    }
