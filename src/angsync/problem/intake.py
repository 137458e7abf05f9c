"""The problem out of anything that the front door takes: the operator, what the pairs can be read from, the labels."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from angsync.errors import InputError
from angsync.kernels.dense.view import TriangleView
from angsync.problem import interop
from angsync.problem.density import is_mostly_zero
from angsync.problem.measurements import Measurements
from angsync.problem.operators import Operator, SparseOperator, Wrapper, as_operator
from angsync.problem.operators.checks import Hermitian


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
