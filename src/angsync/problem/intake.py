"""Turn anything that the front door takes into a problem: its operator, the source of its pairs, its labels.

Also: is the matrix dense, and what are its components?"""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from angsync.errors import InputError
from angsync.kernels.dense.view import TriangleView
from angsync.problem import interop
from angsync.problem.measurements import Measurements
from angsync.problem.operators import (
    Operator,
    ScaledOperator,
    SparseOperator,
    Wrapper,
    as_operator,
    normalizing_exponent,
)
from angsync.problem.operators.checks import Hermitian

_DENSE_SHARE = 0.1  # share of filled entries from which C counts as dense


class Intake(NamedTuple):
    """One problem as it is solved."""

    operator: Operator
    source: Any
    """Measurements or a matrix, out of which the pairs can be read later; None where only products are known."""
    labels: tuple[Hashable, ...] | None

    def measured_pairs(self, refusal: str) -> Measurements:
        """The measurements one by one; where there are none to be read, an error that says ``refusal``."""
        if self.source is None:
            raise InputError(refusal)
        if isinstance(self.source, Measurements):
            return self.source
        return Measurements.from_matrix(self.source, labels=self.labels)


def translated(data: Any) -> Any:
    """Graphs and data frames as :class:`angsync.Measurements`; everything else as it is, but no path."""
    if type(data) is np.ndarray or isinstance(data, LinearOperator):  # no graph, no data frame, no path
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
    if isinstance(operator, Wrapper):  # the entries inside it may have another scale
        return Intake(operator, None, None)
    if operator.is_dense_matrix and is_mostly_zero(operator.entries()):
        # a graph stored as a full array: its products and its spanning trees are those of a sparse matrix
        operator = SparseOperator(_compressed(operator.entries()), operator.asymmetry())
    return Intake(operator, operator.entries(), None)


def _compressed(matrix: Any) -> scipy.sparse.csr_array:
    """A graph that was stored as a full array, without a second one of its size."""
    if not isinstance(matrix, TriangleView):
        return scipy.sparse.csr_array(matrix)
    return scipy.sparse.csr_array(scipy.sparse.vstack([scipy.sparse.csr_array(matrix[k]) for k in matrix.blocks()]))


def has_many_pairs(pairs: int, n: int) -> bool:
    """Return True if so many measured pairs of n nodes are best treated as a dense matrix."""
    return 2 * pairs >= _DENSE_SHARE * n**2


def is_mostly_zero(matrix: NDArray | TriangleView) -> bool:
    """Return True if a full array has so few entries that it is a graph; a few rows show that a matrix is full."""
    n = matrix.shape[0]
    some = matrix[:: max(1, n // 16)]
    if np.count_nonzero(some) > 0.5 * some.size:
        return False
    blocks = matrix.blocks() if isinstance(matrix, TriangleView) else [slice(n)]
    return sum(np.count_nonzero(matrix[rows]) for rows in blocks) < _DENSE_SHARE * n**2


def normalized(operator: Operator) -> ScaledOperator:
    """Return a component as it is solved and certified: no dominant diagonal, largest row sum between 1/2 and 1."""
    bare = operator.without_dominant_diagonal()
    return ScaledOperator(bare, normalizing_exponent(bare))


def component_indices(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the nodes of each component, in the order of the labels."""
    if not labels.any():
        return [np.arange(labels.size)]
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
