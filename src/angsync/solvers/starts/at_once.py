"""Phases that are ready at once: what is returned where Ctrl-C or the time limit came before the start was made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.problem.operators import Operator
from angsync.problem.residual import norm
from angsync.solvers.starts.leading import strongest_column
from angsync.solvers.starts.tree import breadth_first_tree

# With C known by its products. Gaussian model of 1500 nodes, noise 12: 2, 4 and 6 products reach 34, 43 and 96 per cent
# of the optimum, a grid of 30 x 30 66, 84 and 90. The time is up and a product may be slow: no more than these.
_PRODUCTS = 4


def at_once(operator: Operator) -> NDArray:
    """Phases along a breadth-first tree of a sparse graph, those that one node of a dense C sees, or a few products."""
    if operator.sparse() is not None:
        return breadth_first_tree(operator)
    if operator.is_dense_matrix:
        return strongest_column(operator)
    return _by_products(operator)


def _by_products(operator: Operator) -> NDArray:
    """Phases of the vector with the largest Rayleigh quotient among the first powers of C times a known probe.

    One product alone is a random direction wherever C has many eigenvalues that are not small (Lanczos: Saad,
    *Numerical Methods for Large Eigenvalue Problems*, 2011, chapter 6; here with all products kept, so few are they).
    """
    vectors, products = operator.probes()
    basis, images = [vectors[0] / norm(vectors[0])], [products[0] / norm(vectors[0])]
    for _ in range(_PRODUCTS):
        found = images[-1]
        for _ in range(2):  # once leaves rounding errors behind
            for known in basis:
                found = found - np.vdot(known, found) * known
        length = norm(found)
        if not length > np.sqrt(np.finfo(operator.dtype).eps) * norm(images[-1]):
            break  # nothing new: the space is closed under C
        basis.append(found / length)
        images.append(operator.apply(basis[-1]))
    quotients = np.conj(basis) @ np.transpose(images)
    best = np.linalg.eigh(quotients + quotients.conj().T)[1][:, -1] @ np.array(basis)
    return normalize(best, np.ones_like(best)).astype(operator.dtype)


def in_words(operator: Operator) -> str:
    """How ``result.method`` names these phases."""
    if operator.sparse() is not None:
        return "a breadth-first tree"
    return "the phases that one node sees" if operator.is_dense_matrix else "a few products with C"
