r"""Multifrontal Cholesky factorization (Duff and Reid 1983) in NumPy and SciPy: what the compiled kernel computes.

The matrix is :math:`A_{vu} = -C_{vu} / (r_v r_u)` off a diagonal of its own, in the order of a nested dissection. A
block of columns is eliminated as one dense front; what that leaves for later rows is added to the front of the parent.
The factor is forgotten unless it is asked for: what the proof needs of it are the row sums of :math:`|L||L|^T`, and
these are complete when the last front is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from angsync.kernels.blas import in_one_thread
from angsync.kernels.time_limit import check


class Plan(NamedTuple):
    """Blocks in the order of elimination. Places are numbers in that order."""

    order: NDArray[np.int64]
    """``order[place]`` is the node."""
    place: NDArray[np.int64]
    """``place[node]``."""
    starts: NDArray[np.int64]
    """Block b holds the places ``starts[b]`` to ``starts[b + 1] - 1``."""
    bounds: NDArray[np.int64]
    """Its rows are ``rows[bounds[b] : bounds[b + 1] - 1]``; what follows them is not used."""
    rows: NDArray[np.int64]
    parent: NDArray[np.int64]
    """The block that holds the first of these rows; -1 where there is none."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the panel of each block begins in a factor that is kept, and the size of all."""
        width = np.diff(self.starts)
        return np.concatenate([[0], np.cumsum(width * (width + np.diff(self.bounds) - 1))])


class Entries(NamedTuple):
    """The matrix: C by rows, the inverses of the r, and the whole diagonal of A."""

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    data: NDArray[np.complex128]
    inverse_root: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    left_out: int
    """A node whose row and column are taken for 0 off the diagonal."""


class Run(NamedTuple):
    """What a factorization leaves."""

    failed: int
    """The first place whose pivot is not positive; -1 where L is complete."""
    sums: NDArray[np.float64]
    """Row sums of |L||L|^T, by places."""
    terms: NDArray[np.int64]
    """Entries of each row of L that are not 0, by places."""
    kept: NDArray[np.complex128] | None
    """The panels, one after the other, each by columns; up to the failed pivot."""


def fronts_factorize(entries: Entries, plan: Plan, *, keep: bool) -> Run:
    """A = L L^H, or how far that goes."""
    n, count = plan.order.size, plan.starts.size - 1
    sums, terms, offsets = np.zeros(n), np.zeros(n, dtype=np.int64), plan.offsets
    kept = np.zeros(offsets[-1], dtype=np.complex128) if keep else None
    updates: list[list[tuple[NDArray, NDArray]]] = [[] for _ in range(count)]
    with in_one_thread():
        for block in range(count):
            check()
            begin, end = int(plan.starts[block]), int(plan.starts[block + 1])
            width, rows = end - begin, plan.rows[plan.bounds[block] : plan.bounds[block + 1] - 1]
            places = np.concatenate([np.arange(begin, end), rows])
            front = _own(entries, plan, begin, end, places)
            for child_rows, update in updates[block]:
                inside = np.searchsorted(places, child_rows)
                front[np.ix_(inside, inside)] += update
            updates[block] = []
            L11, info = lapack.zpotrf(front[:width, :width], lower=1, clean=1)
            panel = np.zeros((places.size, width), dtype=np.complex128, order="F")
            panel[:width] = L11
            if info == 0 and rows.size:
                panel[width:] = blas.ztrsm(1.0, L11, front[width:, :width], side=1, lower=1, trans_a=2)
            if kept is not None:
                kept[offsets[block] : offsets[block + 1]] = panel.ravel(order="F")
            if info != 0:
                return Run(begin + info - 1, sums, terms, kept)
            size = np.abs(panel)
            sums[places] += size @ size.sum(axis=0)
            terms[places] += np.count_nonzero(panel, axis=1)
            if rows.size:
                left = blas.zherk(-1.0, panel[width:], beta=1.0, c=front[width:, width:], lower=1)
                updates[plan.parent[block]].append((rows, np.tril(left)))
    return Run(-1, sums, terms, kept)


def _own(entries: Entries, plan: Plan, begin: int, end: int, places: NDArray[np.int64]) -> NDArray[np.complex128]:
    """The front of a block with the entries of its own columns, lower triangle."""
    front = np.zeros((places.size, places.size), dtype=np.complex128, order="F")
    for column, node in enumerate(plan.order[begin:end]):
        front[column, column] = entries.diagonal[node]
        row = slice(entries.indptr[node], entries.indptr[node + 1])
        others = entries.indices[row].astype(np.int64)
        used = (plan.place[others] > begin + column) & (others != entries.left_out) & (node != entries.left_out)
        scale = entries.inverse_root[node] * entries.inverse_root[others[used]]
        inside = np.searchsorted(places, plan.place[others[used]])
        front[inside, column] -= np.conj(entries.data[row][used]) * scale
    return front


def fronts_solve(plan: Plan, kept: NDArray[np.complex128], b: NDArray, upto: int) -> NDArray[np.complex128]:
    """The solution of L L^H x = b, for the leading ``upto`` places of a factor that was kept; 0 at the others."""
    x = np.zeros(plan.order.size, dtype=np.complex128)
    x[:upto] = b[:upto]
    offsets, count = plan.offsets, int(np.searchsorted(plan.starts[:-1], upto))
    pieces = []
    for block in range(count):
        begin, end = int(plan.starts[block]), int(plan.starts[block + 1])
        rows = plan.rows[plan.bounds[block] : plan.bounds[block + 1] - 1]
        used, reached = min(end, upto) - begin, rows < upto
        panel = kept[offsets[block] : offsets[block + 1]].reshape(end - begin + rows.size, end - begin, order="F")
        pieces.append((begin, used, rows[reached], panel[:used, :used], panel[end - begin :, :used][reached]))
    for begin, used, rows, top, below in pieces:
        x[begin : begin + used] = blas.ztrsv(top, x[begin : begin + used], lower=1)
        x[rows] -= below @ x[begin : begin + used]
    for begin, used, rows, top, below in reversed(pieces):
        right = x[begin : begin + used] - below.conj().T @ x[rows]
        x[begin : begin + used] = blas.ztrsv(top, right, lower=1, trans=2)
    return x
