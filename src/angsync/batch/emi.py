"""The objective of maximum-likelihood phases of interferogram stacks (EMI)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync.errors import AngsyncWarning, InputError, ShapeError, warn_user
from angsync.kernels.batch import emi_reference
from angsync.kernels.batch.emi_reference import INDEFINITE, UNEVEN
from angsync.kernels.batch.numbers import MAX_ORDER


def emi_matrix(
    C: ArrayLike, coherence: ArrayLike | None = None, *, beta: ArrayLike = 0.0, looks: float | None = None
) -> NDArray:
    r"""The objective of the maximum-likelihood phases of a stack of coherence matrices, :math:`-|\Gamma|^{-1} \circ C`.

    (Ansari, De Zan and Bamler, *Efficient phase estimation for interferogram stacks*, IEEE TGRS 56(7), 2018.) The
    result is nearly negative definite, so the power method needs the shift
    :math:`\lambda_{\max}(|\Gamma|^{-1} \circ C)`; a batch finds that by itself.

    A problem whose coherence is singular, with a condition number :math:`\||\Gamma|\|_1 \||\Gamma|^{-1}\|_1` above a
    tenth of 1 / eps in the precision it is given in, comes back as NaN, which a batch reports as NOT_FINITE: its
    inverse would be made of rounding errors. Where :math:`|\Gamma|` can be inverted but is not positive definite, it is
    no covariance of anything, and the likelihood is a formula only; this is warned about, once, with counts.

    Parameters
    ----------
    C
        Hermitian matrices (..., n, n).
    coherence
        :math:`|\Gamma|`, symmetric, the moduli of C unless given.
    beta
        From 0 to 1: :math:`(1 - \beta) |\Gamma| + \beta I` is inverted in place of :math:`|\Gamma|`. Moduli of sample
        coherences are too large where the truth is small; a few per cent make the inverse of them harmless. A number,
        or one for each problem.
    looks
        How many samples each coherence was estimated from, where that is known: fewer than n leave
        :math:`|\Gamma|` without support, which is warned about where beta is 0.

    Examples
    --------
    >>> coherence = np.array([[1, 0.8, 0.5], [0.8, 1, 0.7], [0.5, 0.7, 1]])
    >>> ang.batch.emi_matrix(coherence.astype(complex)).shape
    (3, 3)
    """
    _refuse_masked(C, coherence)
    C = np.asarray(C)
    if C.ndim < 2 or C.shape[-1] != C.shape[-2]:
        raise ShapeError(f"C must be square matrices (..., n, n), but its shape is {C.shape}.")
    n, leading = C.shape[-1], C.shape[:-2]
    shares = np.asarray(beta, dtype=np.float64)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise InputError(f"beta must be between 0 and 1, but it is {beta!r}.")
    try:
        shares = np.ascontiguousarray(np.broadcast_to(shares, leading).reshape(-1))
    except ValueError:
        raise ShapeError(f"beta has the shape {shares.shape}, which does not broadcast to {leading}.") from None
    if looks is not None and not looks > 0:
        raise InputError(f"looks must be a positive number, but it is {looks}.")
    if looks is not None and looks < n and not np.any(beta):
        warn_user(
            f"a coherence of {n} dates from {looks:g} looks cannot be inverted with confidence: take more looks than "
            "dates, or a beta of a few per cent.",
            AngsyncWarning,
        )
    gamma = None if coherence is None else np.asarray(coherence)
    if gamma is not None and gamma.shape != C.shape:
        raise ShapeError(f"coherence must have the shape of C, {C.shape}, not {gamma.shape}.")
    if gamma is not None and np.iscomplexobj(gamma):
        raise InputError(f"coherence must be real, the moduli of Gamma, but its dtype is {gamma.dtype}.")
    narrow = C.real.dtype if gamma is None else gamma.dtype
    limit = 0.1 / float(np.finfo(narrow if narrow.kind == "f" else np.float64).eps)
    shape = (math.prod(leading), n, n)
    wide = C if C.dtype == np.complex64 else C.astype(np.complex128, copy=False)
    problems = np.ascontiguousarray(wide).reshape(shape)
    if gamma is not None:
        kind = np.float32 if gamma.dtype == np.float32 else np.float64
        gamma = np.ascontiguousarray(gamma, dtype=kind).reshape(shape)
    out, state = np.empty_like(problems), np.zeros(shape[0], dtype=np.int8)
    invert = kernels.emi if n <= MAX_ORDER else emi_reference.emi
    invert(problems, gamma, shares, limit, out, state)
    _report(state, leading)
    return out.reshape(C.shape)


def _refuse_masked(*given: ArrayLike | None) -> None:
    for array in given:
        if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
            raise InputError(
                "emi_matrix inverts whole matrices, but some entries are masked: fill them (a coherence of 0), or "
                "leave out the dates that are masked."
            )


def _report(state: NDArray[np.int8], leading: tuple[int, ...]) -> None:
    if (state == UNEVEN).any():
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(state == UNEVEN)), leading))
        raise InputError(f"coherence must be symmetric, but that of problem {index} is not.")
    count = int(np.count_nonzero(state == INDEFINITE))
    if count:
        warn_user(
            f"in {count} of {state.size} problems |Gamma| is not positive definite: no covariance has such moduli, and "
            "its inverse weighs phases wrongly. Pass beta (0.05, say), or take more looks.",
            AngsyncWarning,
        )
