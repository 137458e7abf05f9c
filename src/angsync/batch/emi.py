"""The objective of maximum-likelihood phases of interferogram stacks (EMI)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, ShapeError


def emi_matrix(C: ArrayLike, coherence: ArrayLike | None = None) -> NDArray:
    r"""The objective of the maximum-likelihood phases of a stack of coherence matrices, :math:`-|\Gamma|^{-1} \circ C`.

    (Ansari, De Zan and Bamler, *Efficient phase estimation for interferogram stacks*, IEEE TGRS 56(7), 2018.) The
    result is nearly negative definite, so the power method needs the shift
    :math:`\lambda_{\max}(|\Gamma|^{-1} \circ C)`; a batch finds that by itself. ``coherence`` is :math:`|\Gamma|`, the
    moduli of C unless given. A problem whose coherence is singular, with a condition number
    :math:`\||\Gamma|\|_1 \||\Gamma|^{-1}\|_1` above a tenth of 1 / eps in the precision it is given in, comes back as
    NaN, which a batch reports as NOT_FINITE: its inverse would be made of rounding errors.
    """
    C = np.asarray(C)
    if C.ndim < 2 or C.shape[-1] != C.shape[-2]:
        raise ShapeError(f"C must be square matrices (..., n, n), but its shape is {C.shape}.")
    gamma = np.abs(C) if coherence is None else np.asarray(coherence)
    if gamma.shape != C.shape:
        raise ShapeError(f"coherence must have the shape of C, {C.shape}, not {gamma.shape}.")
    if np.iscomplexobj(gamma):
        raise InputError(f"coherence must be real, the moduli of Gamma, but its dtype is {gamma.dtype}.")
    limit = 0.1 / float(np.finfo(gamma.dtype).eps if gamma.dtype.kind == "f" else np.finfo(np.float64).eps)
    wide = gamma.astype(np.float64).reshape(math.prod(C.shape[:-2]), *C.shape[-2:])
    try:
        inverse = np.linalg.inv(wide)
    except np.linalg.LinAlgError:  # one of them is exactly singular, and NumPy does not say which
        inverse = np.stack([_inverse_or_nan(matrix) for matrix in wide])
    with np.errstate(invalid="ignore", over="ignore"):
        condition = np.abs(wide).sum(axis=1).max(axis=1) * np.abs(inverse).sum(axis=1).max(axis=1)
        inverse[~(condition <= limit)] = np.nan
        return (-inverse.reshape(C.shape) * C).astype(C.dtype if np.iscomplexobj(C) else np.complex128)


def _inverse_or_nan(matrix: NDArray) -> NDArray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
