"""Connected components: the nodes of each one, and one component as it is solved and certified."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.problem.operators import (
    Operator,
    ScaledOperator,
    normalizing_exponent,
)


def normalized(operator: Operator) -> ScaledOperator:
    """One component as it is solved and certified: no dominant diagonal, largest row sum between 1/2 and 1."""
    bare = operator.without_dominant_diagonal()
    return ScaledOperator(bare, normalizing_exponent(bare))


def component_indices(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The nodes of each component, in the order of the labels."""
    if not labels.any():
        return [np.arange(labels.size)]
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
