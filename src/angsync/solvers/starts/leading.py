"""A rough leading eigenvector, from the phases that one node sees: the start of dense problems."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.errors import InputError
from angsync.problem.operators import Operator
from angsync.solvers.starts.eigenvector import quick_eigenvector
from angsync.solvers.starts.entries import near_one

# Second Ritz value over the first up to which C is taken to be well connected. In the Gaussian model the ratio of the
# eigenvalues is 2 k / (1 + k^2) at a noise of k sqrt(n): 0.55 at 0.3 sqrt(n), 0.69 at 0.4. On a grid it is near 1.
_CLEAR_OF_OTHERS = 0.75
ROUGH_RESIDUAL = 0.4  # relative, at which Lanczos ends: an exact eigenvector is wasted work where iterations follow


def leading_direction(operator: Operator, rng: np.random.Generator) -> NDArray:
    """The phases of a rough leading eigenvector: Lanczos to a residual of 0.4, from the strongest column.

    From a random vector, whose product is known already, where only products are. Where the leading eigenvalue does not
    stand clear of the others there, as on a graph that mixes slowly, it is the eigenvector estimator.
    """
    inner = operator.inner_model()
    if operator.is_known_by_products:
        vectors, images = operator.probes()
        begin, image = vectors[0], math.ldexp(1.0, inner.exponent) * images[0]
    else:
        begin, image = strongest_column(operator), None
    mixing = math.inf if operator.is_streamed else _CLEAR_OF_OTHERS
    vector, products, clear = inner.model.leading(begin, ROUGH_RESIDUAL, image, mixing)
    if not inner.counted:
        operator.count(products)
    if not clear:
        return quick_eigenvector(operator, rng)
    otherwise = np.ones(operator.n, dtype=np.complex128) if operator.is_known_by_products else begin
    return normalize(vector, otherwise.astype(np.complex128)).astype(operator.dtype)


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
