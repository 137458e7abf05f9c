"""What any data of a user is for us: an operator, what the measured pairs can be read from later, and labels."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from angsync.errors import InputError
from angsync.pipeline.regime import is_mostly_zero
from angsync.problem import interop
from angsync.problem.measurements import Measurements
from angsync.problem.operators import DenseOperator, HermitianOperator, SparseOperator, as_operator


@dataclass(frozen=True, eq=False)
class Intake:
    """One problem, ready to be solved."""

    operator: HermitianOperator
    source: Any
    """The measurements, or the matrix; None where C is known by its products only."""
    labels: tuple[Hashable, ...] | None

    def measured_pairs(self, refusal: str) -> Measurements:
        """The measurements one by one; where there are none to be read, an error that says ``refusal``."""
        if self.source is None:
            raise InputError(refusal)
        if isinstance(self.source, Measurements):
            return self.source
        return Measurements.from_matrix(self.source, labels=self.labels)


def taken_in(data: Any, hermitian: Any) -> Intake:
    """Measurements, graphs, data frames and everything that :func:`angsync.as_operator` takes."""
    data = measured(data)
    operator = as_operator(data, hermitian)
    if isinstance(data, Measurements):
        return Intake(operator, data, data.labels)
    if isinstance(operator, DenseOperator):
        if is_mostly_zero(operator.matrix):
            # a graph stored as a full array: its products and its spanning trees are those of a sparse matrix
            operator = SparseOperator(scipy.sparse.csr_array(operator.matrix))
        return Intake(operator, operator.matrix, None)
    return Intake(operator, operator.matrix if isinstance(operator, SparseOperator) else None, None)


def measured(data: Any) -> Any:
    """A graph or a data frame as measurements; anything else as it is."""
    if type(data) is np.ndarray or isinstance(data, Measurements):
        return data
    if isinstance(data, (str, bytes, os.PathLike)):
        raise InputError(f"{data!r} is a path: read it first, ang.synchronize(ang.read(path)).")
    if interop.is_networkx(data):
        return Measurements.from_networkx(data)
    if interop.is_dataframe(data):
        return Measurements.from_dataframe(data)
    return data
