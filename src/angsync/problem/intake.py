"""The problem out of anything that the front door takes: the operator, what the pairs can be read from, the labels."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem import interop
from angsync.problem.measurements import Measurements
from angsync.problem.operators import Operator, SparseOperator, as_operator
from angsync.problem.operators.checks import Hermitian

_SPARSE_SHARE = 0.1  # an array with fewer entries than this share is treated as sparse


class Intake(NamedTuple):
    """One problem as it is solved."""

    operator: Operator
    source: Any
    """Measurements or a matrix, out of which the pairs can be read later; None where only products are known."""
    labels: tuple[Hashable, ...] | None


def translated(data: Any) -> Any:
    """Graphs and data frames as :class:`angsync.Measurements`; everything else as it is, but no path."""
    if type(data) is np.ndarray:  # the usual case: none of these
        return data
    if isinstance(data, (str, bytes, os.PathLike)):
        raise InputError(f"{data!r} is a path: read it first, ang.synchronize(ang.read(path)).")
    if interop.is_networkx(data):
        return Measurements.from_networkx(data)
    if not isinstance(data, Measurements) and interop.is_dataframe(data):
        return Measurements.from_dataframe(data)
    return data


def taken_in(data: Any, hermitian: Hermitian = "full") -> Intake:
    """The problem in any data that ``ang.synchronize`` takes, checked."""
    data = translated(data)
    operator = as_operator(data, hermitian)
    if isinstance(data, Measurements):
        return Intake(operator, data, data.labels)
    if operator.unwrapped().operator is not operator:  # entries are those of another scale
        return Intake(operator, None, None)
    if operator.is_dense_matrix and is_mostly_zero(operator.entries()):
        # a graph stored as a full array: its products and its spanning trees are those of a sparse matrix
        operator = SparseOperator(scipy.sparse.csr_array(operator.entries()))
    return Intake(operator, operator.entries(), None)


def is_mostly_zero(matrix: NDArray) -> bool:
    """Whether fewer than a tenth of the entries are present; a full matrix is recognised by a few rows."""
    n = matrix.shape[0]
    some = matrix[:: max(1, n // 16)]
    if np.count_nonzero(some) > 0.5 * some.size:
        return False
    return np.count_nonzero(matrix) < _SPARSE_SHARE * n**2
