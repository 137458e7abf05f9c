"""Kernels over sparse graphs in NumPy and SciPy: what the compiled ones compute, used where these are not built."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

_BLOCK_ENTRIES = 1 << 20  # entries rotated at a time


def apply(matrix: scipy.sparse.csr_array, x: NDArray) -> NDArray:
    """A x."""
    return matrix @ x


def hessian_apply(rotated: scipy.sparse.csr_array, s: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray:
    """s t - W t, with t rounded to the precision of W."""
    return s * t - rotated @ t.astype(rotated.dtype, copy=False)


def rotate(matrix: scipy.sparse.csr_array, z: NDArray, scale: float) -> NDArray[np.float32]:
    """The entries scale Re(conj(z_j) C_jl z_l) of a CSR matrix, in single precision."""
    n = matrix.shape[0]
    w = np.empty(matrix.nnz, dtype=np.float32)
    counts = np.diff(matrix.indptr)
    conjugate = np.conj(z) * scale
    rows = max(1, int(_BLOCK_ENTRIES * n / max(1, matrix.nnz)))
    for first in range(0, n, rows):
        last = min(n, first + rows)
        part = slice(matrix.indptr[first], matrix.indptr[last])
        row = np.repeat(conjugate[first:last], counts[first:last])
        w[part] = (row * matrix.data[part] * z[matrix.indices[part]]).real
    return w


def smooth(matrix: scipy.sparse.csr_array, shift: NDArray[np.float64], z: NDArray, steps: int) -> NDArray:
    """Steps z <- phase of (A z + shift z); an entry that vanishes keeps its phase."""
    for _ in range(steps):
        w = matrix @ z
        w += shift * z
        size = np.abs(w)
        moved = (size > 0) & np.isfinite(size)
        z = np.where(moved, w / np.where(moved, size, 1), z)
    return z


def hermitian_gap(matrix: scipy.sparse.csr_array) -> tuple[float, float, int, int] | None:
    """Largest modulus, largest |C_jl - conj(C_lj)| and its place (j < l); None where rows are not sorted.

    All entries have to be finite.
    """
    if not matrix.has_sorted_indices:
        return None
    largest = float(np.abs(matrix.data).max(initial=0.0))
    gap = scipy.sparse.coo_array(abs(matrix - scipy.sparse.csr_array(matrix.conj().T)))
    if gap.nnz == 0:
        return largest, 0.0, 0, 0
    at = int(np.argmax(gap.data))
    row, column = sorted((int(gap.coords[0][at]), int(gap.coords[1][at])))
    return largest, float(gap.data[at]), row, column


def match_edges(n: int, i: NDArray, j: NDArray, value: NDArray[np.float64], rounds: int) -> NDArray[np.int32]:
    """Partner of every node, itself where it is left alone: in every round the edges strongest at both ends."""
    nodes = np.arange(n, dtype=np.int32)
    partner = nodes.copy()
    for _ in range(rounds):
        if value.size == 0:
            break
        best = np.zeros(n)
        np.maximum.at(best, i, value)
        np.maximum.at(best, j, value)
        chosen = np.flatnonzero((value == best[i]) & (value == best[j]))
        # Edges of exactly equal value must not pair one node twice: the first of them that finds both ends free is
        # taken.
        doubled = np.bincount(np.concatenate([i[chosen], j[chosen]]), minlength=n) > 1
        for e in chosen[doubled[i[chosen]] | doubled[j[chosen]]]:
            if partner[i[e]] == i[e] and partner[j[e]] == j[e]:
                partner[i[e]], partner[j[e]] = j[e], i[e]
        single = chosen[~(doubled[i[chosen]] | doubled[j[chosen]])]
        partner[i[single]], partner[j[single]] = j[single], i[single]
        if chosen.size == 0:
            break
        free = partner == nodes
        left = free[i] & free[j]
        i, j, value = i[left], j[left], value[left]
    return partner


def contract(
    i: NDArray, j: NDArray, value: NDArray, count: int, label: NDArray, phase: NDArray | None
) -> tuple[NDArray, NDArray, NDArray]:
    """Edges between aggregates, summed, each once from the smaller label; conj(phase_i) v phase_j with phases."""
    a, b = label[i], label[j]
    between = a != b
    a, b, value = a[between], b[between], value[between]
    if phase is not None:
        value = np.conj(phase[i[between]]) * value * phase[j[between]]
    low, high = np.minimum(a, b), np.maximum(a, b)
    value = np.where(a > b, np.conj(value), value)
    summed = scipy.sparse.csr_array((value, (low, high)), shape=(count, count))
    rows = np.repeat(np.arange(count, dtype=np.int32), np.diff(summed.indptr))
    return rows, summed.indices.astype(np.int32, copy=False), summed.data


class Level:
    """One level of a multigrid cycle on D - W in single precision: damped Jacobi around a coarse correction."""

    def __init__(
        self, weights: scipy.sparse.csr_array, diagonal: NDArray, damping: float, label: NDArray[np.int32], count: int
    ) -> None:
        self.weights = weights
        self.diagonal = diagonal.astype(np.float32)
        self.inverse = (damping / np.maximum(diagonal, np.finfo(np.float32).tiny)).astype(np.float32)
        self.label, self.count = label, count

    def down(self, r: NDArray) -> tuple[NDArray, NDArray]:
        """The first smoothing from 0, and the residual summed over aggregates."""
        t = self.inverse * r
        left = r - self.diagonal * t + self.weights @ t
        return t, np.bincount(self.label, left, self.count).astype(np.float32)

    def up(self, r: NDArray, t: NDArray, coarse: NDArray, stretch: float) -> NDArray:
        """The coarse correction and the second smoothing."""
        t = t + np.float32(stretch) * coarse[self.label]
        return t + self.inverse * (r - self.diagonal * t + self.weights @ t)
