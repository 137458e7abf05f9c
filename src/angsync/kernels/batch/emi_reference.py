r"""The objective of interferogram stacks, :math:`-|\Gamma|^{-1} \circ C`, with NumPy: what ``emi.h`` computes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.proof_reference import cholesky

INVERTED, INDEFINITE, SINGULAR, UNEVEN = 0, 1, 2, 3
"""What became of a problem: its coherence was inverted; it was, though it is not positive definite; it is singular to
working precision, or not finite, and NaN is written; it is not symmetric."""

UNEVEN_SHARE = 1e-3  # relative difference of the two triangles of a coherence above which it is no symmetric matrix


def emi(
    C: NDArray,
    coherence: NDArray | None,
    beta: NDArray[np.float64],
    limit: float,
    out: NDArray,
    state: NDArray[np.int8],
) -> None:
    """Write -G^-1 o C into ``out`` for matrices C (count, n, n), G = (1 - beta) coherence + beta I with its own beta,
    and what became of each into ``state``.

    ``coherence`` are the moduli of C where it is None; its upper triangle counts. A condition number of G (the product
    of two 1-norms) above ``limit`` makes a problem SINGULAR.
    """
    n = C.shape[1]
    gamma = np.abs(C.astype(np.complex128)) if coherence is None else coherence.astype(np.float64)
    mirrored = gamma.swapaxes(1, 2)
    with np.errstate(invalid="ignore"):
        limits = UNEVEN_SHARE * np.maximum(np.abs(gamma), np.abs(mirrored))
        uneven = (np.abs(gamma - mirrored) > limits).any(axis=(1, 2)) & (coherence is not None)
    upper = np.triu(gamma, 1)
    G = (1 - beta)[:, None, None] * (upper + upper.swapaxes(1, 2))
    np.einsum("kii->ki", G)[:] = (1 - beta)[:, None] * np.einsum("kii->ki", gamma) + beta[:, None]
    finite = np.isfinite(G).all(axis=(1, 2))
    G[~finite] = np.eye(n)
    _, positive = cholesky(G)
    inverse = _inverses(G)
    with np.errstate(invalid="ignore", over="ignore"):
        condition = np.abs(G).sum(axis=1).max(axis=1) * np.abs(inverse).sum(axis=1).max(axis=1)
        invertible = finite & (condition <= limit)
        inverse[~invertible] = np.nan
        out[:] = -inverse * C
    state[:] = np.where(uneven, UNEVEN, np.where(~invertible, SINGULAR, np.where(positive, INVERTED, INDEFINITE)))


def _inverses(matrices: NDArray[np.float64]) -> NDArray:
    try:
        found: NDArray = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:  # one of them is exactly singular, and NumPy does not say which
        found = np.stack([_inverse_or_nan(matrix) for matrix in matrices])
    return found


def _inverse_or_nan(matrix: NDArray[np.float64]) -> NDArray:
    try:
        return np.asarray(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
