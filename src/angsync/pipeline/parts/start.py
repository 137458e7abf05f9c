"""From the phases of parts to phases of the whole: the gauges of the parts, and the nodes along the cuts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.circle import normalize
from angsync.pipeline.call import Call
from angsync.pipeline.parts import RIM_STEPS
from angsync.pipeline.plain import solve
from angsync.pipeline.result import SyncResult
from angsync.problem.operators.edge_list import EdgeList
from angsync.problem.pieces import pattern_labels
from angsync.solvers import Newton


def pieces_of(matrix: scipy.sparse.csr_array, part: NDArray[np.int32]) -> NDArray[np.int32]:
    """The connected piece of its part that each node belongs to: every piece has a gauge of its own."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    inside = part[rows] == part[matrix.indices]
    ends = np.concatenate([[0], np.cumsum(inside)])[matrix.indptr]
    kept = (np.ones(int(ends[-1]), dtype=np.int8), matrix.indices[inside], ends)
    return pattern_labels(scipy.sparse.csr_array(kept, shape=matrix.shape)).astype(np.int32)


def gauges(edges: EdgeList, piece: NDArray[np.int32], z: NDArray, call: Call) -> SyncResult:
    """The phases between the pieces: a problem of as many nodes as pieces, with the edges between them summed.

    Pieces with no edge between them, directly or through others, stay in gauges of their own: so does the whole.
    """
    count = int(piece.max()) + 1
    summed = EdgeList(count, *kernels.contract(edges.i, edges.j, edges.value, count, piece, z)).to_csr()
    return solve(summed, replace(call, start="auto", certify=True, gauge="first", callback=None, on_failure="ignore"))


def near_cuts(edges: EdgeList, part: NDArray[np.int32]) -> NDArray[np.int64]:
    """The nodes within some steps of an edge between parts, in ascending order."""
    near = np.zeros(edges.n, dtype=bool)
    between = part[edges.i] != part[edges.j]
    near[edges.i[between]] = near[edges.j[between]] = True
    for _ in range(RIM_STEPS - 1):
        reached = near.copy()
        reached[edges.j[near[edges.i]]] = True
        reached[edges.i[near[edges.j]]] = True
        near = reached
    return np.flatnonzero(near)


def swept(matrix: scipy.sparse.csr_array, z: NDArray, inside: NDArray[np.int64], call: Call) -> NDArray:
    r"""The phases with those of the nodes ``inside`` solved again, all others held: f never falls.

    What the others are to them is one node more, the ground, of phase 1: with :math:`c_j = \sum_l C_{jl} z_l` over the
    nodes l that are held, :math:`f = w^H C w + 2 \Re(w^H c)` and a constant, for the phases w inside.
    """
    if inside.size == 0 or inside.size == z.size:
        return z
    held = z.copy()
    held[inside] = 0
    rows = matrix[inside]
    pull = rows @ held
    own = scipy.sparse.csr_array(rows[:, inside])
    column = scipy.sparse.csr_array(pull[:, None])
    grounded = scipy.sparse.csr_array(
        scipy.sparse.block_array([[own, column], [column.conj().T, None]], format="csr"), dtype=np.complex128
    )
    start = np.append(z[inside], 1.0)
    asked = replace(
        call, solver=Newton(), start=start, certify=False, gauge="first", callback=None, on_failure="ignore"
    )
    found = solve(grounded, asked).z
    better = z.copy()
    # Inside nodes that no held node pulls have no edge to the ground, and no cut: such a piece keeps its phases.
    turned = normalize(found[:-1] * np.conj(found[-1]), found[:-1])
    pulled = _joined_to_the_ground(grounded)
    better[inside[pulled]] = turned[pulled]
    return better if objective(matrix, better) >= objective(matrix, z) else z


def _joined_to_the_ground(grounded: scipy.sparse.csr_array) -> NDArray[np.bool_]:
    labels = pattern_labels(grounded)
    return labels[:-1] == labels[-1]


def objective(matrix: scipy.sparse.csr_array, z: NDArray) -> float:
    """f(z)."""
    return float(np.vdot(z, kernels.apply(matrix, z)).real)
