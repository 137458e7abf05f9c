"""The entries of C, for starts that read them: where they are known, and near one in size."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.operators import Operator

FAR_FROM_ONE = 60  # exponent of two beyond which squares, and single precision, may leave their range


def needed_matrix(operator: Operator, what: str) -> scipy.sparse.csr_array:
    """The entries in the units of the operator; an error that names ``what`` needs them where they are not known."""
    matrix = operator.entries()
    if matrix is None and operator.is_on_device:
        where = "they lie on a device; use 'eigenvector', or give a copy of C in the memory of the host"
        raise InputError(f"{what} needs the entries of C, but {where}.")
    if matrix is None:
        raise InputError(f"{what} needs the entries of C, but only its products are known; use 'eigenvector'.")
    matrix = scipy.sparse.csr_array(matrix if scipy.sparse.issparse(matrix) else np.asarray(matrix))
    data = near_one(matrix.data, operator.unwrapped().exponent)
    if data is not matrix.data:
        matrix = scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix


def near_one(entries: NDArray, exponent: int) -> NDArray:
    """The entries as they are, or, where the operator is scaled far from them, in its units and double precision."""
    if abs(exponent) <= FAR_FROM_ONE:
        return entries
    return np.ldexp(entries.astype(np.complex128).view(np.float64), -exponent).view(np.complex128)
