"""A rough leading eigenvector, from the phases that one node sees: the start of dense problems."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.errors import InputError
from angsync.problem.operators import Operator
from angsync.solvers.starts.entries import near_one

ROUGH_RESIDUAL = 0.4  # relative, at which Lanczos ends: an exact eigenvector is wasted work where iterations follow


def leading_direction(operator: Operator, _rng: np.random.Generator | None = None) -> NDArray:
    """The phases of a rough leading eigenvector: Lanczos from the strongest column, to a residual of 0.4."""
    inner = operator.inner_model()
    column = power_step(operator) if operator.is_streamed else strongest_column(operator)
    vector, products = inner.model.leading(column, ROUGH_RESIDUAL)
    if not inner.counted:
        operator.count(products)
    return normalize(vector, column.astype(np.complex128)).astype(operator.dtype)


def power_step(operator: Operator) -> NDArray:
    """The phases of the product of C with a random vector, which is known already."""
    image = operator.probes().images[0]
    return normalize(image, np.ones_like(image)).astype(operator.dtype)


def strongest_column(operator: Operator) -> NDArray:
    """The phases that one node sees: of the entries of the column of C with the largest row sum, 0 where C is 0."""
    matrix = operator.entries()
    if matrix is None:
        raise InputError("the columns of C are not known, only its products; use 'eigenvector'.")
    sums = operator.abs_row_sums()
    strongest = int(np.argmax(sums)) if sums is not None else 0
    # scipy 1.13 has no sparse arrays of one axis
    column = np.conj(matrix[[strongest]].toarray().ravel() if scipy.sparse.issparse(matrix) else matrix[strongest])
    column = near_one(column, operator.unwrapped().exponent)
    return normalize(column, np.ones_like(column)).astype(operator.dtype)
