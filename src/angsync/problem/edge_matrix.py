"""The Hermitian matrix of an edge list: every edge in both triangles, parallel edges summed."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import ContradictionWarning, warn_user
from angsync.problem.measurements import Measurements, name_of


def hermitian_matrix(edges: Measurements) -> scipy.sparse.csr_array:
    """C as CSR, complex128, rows sorted, no stored zeros; warns where parallel edges contradict each other."""

    def entries(part: slice) -> NDArray[np.complex128]:
        return edges.strength_of(part) * np.exp(1j * edges.angle[part])

    matrix, contradictions, worst = kernels.hermitian_rows(edges.n, *edges.ends, entries)
    if contradictions:
        first, second = (name_of(edges.labels, node) for node in worst)
        warn_user(
            f"{contradictions} pair(s) have parallel edges that contradict each other, worst between nodes {first} and "
            f"{second}. They are summed, so they cancel; check the orientation (angle = theta_i - theta_j) or remove "
            "one.",
            ContradictionWarning,
        )
    if np.count_nonzero(matrix.data) < matrix.nnz:
        matrix.eliminate_zeros()
    return matrix
