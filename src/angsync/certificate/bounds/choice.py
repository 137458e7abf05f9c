"""Which proof that S(z) is positive semidefinite on the complement of z for which problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.sparse import can_factorise, factorisation_bound
from angsync.certificate.bounds.spectrum import SpectralBound, cholesky_bound, half_diagonal_bound, lanczos_bound
from angsync.certificate.gap import Rounding
from angsync.errors import InputError
from angsync.kernels.rounding import gamma
from angsync.problem.operators import (
    DenseOperator,
    HermitianOperator,
    count_products,
    innermost,
    narrow_distance,
    narrow_rounding,
    shifted_matrix,
    to_dense,
)
from angsync.solvers.preconditioner import kind_for, strongest_affordable

Method = Literal["auto", "cholesky", "factorisation", "lanczos"]
_DENSE_ANYWAY = 60  # up to here a dense proof is the fastest of all
_FEW_STEPS = 10
_CHOLESKY_FIRST = 200  # up to here the deterministic proof is the default
_CHOLESKY_AT_ALL = 5000  # up to here it is tried when Lanczos cannot decide
_CHOLESKY_LIMIT = 15_000  # above, two dense matrices of this order do not fit ordinary memory
FAILURE = 1e-10
"""Probability that a bound by Lanczos is wrong."""
QUICK = range(48, _CHOLESKY_FIRST + 1)
"""Orders of dense problems for which :func:`quick_bound` is tried first."""


def quick_bound(
    operator: HermitianOperator, z: NDArray, s: NDArray[np.float64], b: NDArray[np.float64]
) -> SpectralBound | None:
    """One factorisation, without an estimate before it: enough for most small dense problems; None for others."""
    base, exponent = innermost(operator)
    sums = operator.abs_row_sums()
    if not isinstance(base, DenseOperator) or base.dtype != np.complex128 or sums is None or abs(exponent) > 1000:
        return None  # (2 ** 1024 is not a number of double precision)
    most = float(sums.max(initial=0.0))
    return half_diagonal_bound(base.matrix, 2.0**-exponent, s, z, gradient=float(np.linalg.norm(b)), row_sum=most)


def spectral_bound(
    operator: HermitianOperator,
    z: NDArray,
    s: NDArray[np.float64],
    b: NDArray[np.float64],
    method: Method,
    rng: np.random.Generator,
    good_enough: Callable[[SpectralBound], bool],
    rounding: Rounding,
    *,
    thorough: bool = True,
) -> SpectralBound:
    """A lower bound on S over the complement of z by ``method``, or by what suits the problem.

    ``good_enough`` says when a bound proves what is asked for; then nothing dearer is tried, and without ``thorough``
    nothing dearer is tried at all.
    """
    n, error = operator.n, rounding.eigenvalue
    # there may be two runs, and either may be believed: together they fail with this probability
    failure = FAILURE / 2 if method == "auto" else FAILURE

    def by_cholesky() -> SpectralBound:
        if n > _CHOLESKY_LIMIT:
            raise InputError(f"method='cholesky' is for n up to {_CHOLESKY_LIMIT}, but n is {n}: use method='lanczos'.")
        S = -to_dense(operator).astype(np.complex128)
        S[np.diag_indices(n)] += s
        return cholesky_bound(S, z)

    def by_factorisation() -> SpectralBound:
        if not can_factorise(operator):
            raise InputError(
                "method='factorisation' is for sparse matrices and edge lists: use 'cholesky' or 'lanczos'."
            )
        return factorisation_bound(operator, z, s, good_enough)

    def by_lanczos(max_steps: int = 400) -> SpectralBound:
        # of a product with S, and of the inner products of length n in the recurrence
        size = error + gamma(2 * n + 8) * float(np.abs(s).max())
        dense = shifted_matrix(operator, s, narrow=False)
        bound = lanczos_bound(
            dense or (lambda v: s * v - operator.apply(v)),
            z,
            rng,
            max_steps=max_steps,
            # by so much more than is asked for that it proves the answer to be unique, too
            good_enough=lambda value: good_enough(SpectralBound(value - error, 1.0, "lanczos", z, value)),
            rounding=size,
            failure=failure,
        )
        count_products(operator, dense.products if dense else 0)
        return dataclasses.replace(bound, confidence=1 - FAILURE)

    def by_narrow_lanczos() -> SpectralBound | None:
        """The same with the narrow copy of a dense C: another Hermitian matrix, whose distance from C is bounded."""
        narrow = shifted_matrix(operator, s, narrow=True)
        if narrow is None:
            return None
        distance = narrow_distance(operator)
        bound = lanczos_bound(
            narrow,
            z,
            rng,
            good_enough=lambda value: good_enough(SpectralBound(value - distance - error, 1.0, "lanczos", z, value)),
            rounding=narrow_rounding(operator) + error,
            max_steps=120,
            give_up=True,
            failure=failure,
        )
        count_products(operator, narrow.products)
        return dataclasses.replace(bound, value=bound.value - distance, confidence=1 - FAILURE)

    if method != "auto":
        return {"cholesky": by_cholesky, "factorisation": by_factorisation, "lanczos": by_lanczos}[method]()
    sparse = can_factorise(operator) and n > _DENSE_ANYWAY
    slow = sparse and kind_for(operator) != "jacobi"
    if slow and kind_for(operator) == "multigrid":
        # A factor would not fit, and the second eigenvalue is too small for any number of Lanczos steps that fits:
        # a few of them still find what is clearly wrong.
        return by_lanczos(max_steps=_FEW_STEPS)
    if n in QUICK and not sparse:
        quick = quick_bound(operator, z, s, b)
        if quick is not None and good_enough(quick):
            return quick
    first = by_factorisation if slow else by_cholesky if n <= _CHOLESKY_FIRST else by_lanczos
    narrow = by_narrow_lanczos() if first is by_lanczos else None
    bound = first() if narrow is None or not good_enough(narrow) else narrow
    if good_enough(bound) or bound.estimate < 0 or first is by_cholesky or not thorough:
        return bound
    if sparse and not slow and strongest_affordable(operator) == "direct":
        second = by_factorisation()
        if good_enough(second):
            return second
    return by_cholesky() if n <= _CHOLESKY_AT_ALL else bound
