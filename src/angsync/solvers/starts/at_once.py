"""Phases that are ready at once: what is returned where Ctrl-C or the time limit came before the start was made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalise
from angsync.problem.operators import Operator
from angsync.solvers.starts.leading import strongest_column
from angsync.solvers.starts.tree import breadth_first_tree


def at_once(operator: Operator) -> NDArray:
    """Phases along a breadth-first tree of a sparse graph, those that one node of a dense C sees, or one product."""
    if operator.sparse() is not None:
        return breadth_first_tree(operator)
    if operator.is_dense_matrix:
        return strongest_column(operator)
    ones = np.ones(operator.n, dtype=operator.dtype)
    return normalise(operator.apply(ones), ones).astype(operator.dtype)


def in_words(operator: Operator) -> str:
    """How ``result.method`` names these phases."""
    if operator.sparse() is not None:
        return "a breadth-first tree"
    return "the phases that one node sees" if operator.is_dense_matrix else "one product with C"
