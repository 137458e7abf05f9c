"""Sparse Cholesky factors of matrices of D x D blocks: what the compiled kernel computes, by SuperLU."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.kernels.blas import in_one_thread

_OPTIONS = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class Pattern:
    """Pairs (i, j) of a symmetric matrix of blocks, several of one pair added, and the order of elimination.

    ``order[place]`` is the row that is eliminated as number ``place``.
    """

    def __init__(self, order: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]) -> None:
        self.n, self.order = order.size, order
        self.place = np.empty(order.size, dtype=np.int64)
        self.place[order] = np.arange(order.size)
        a, b = self.place[i], self.place[j]
        self._turned = a < b  # the block of the matrix below its diagonal is that of (j, i)
        row, column = np.maximum(a, b), np.minimum(a, b)
        key, self._slot = np.unique(row * self.n + column, return_inverse=True)
        self.column = (key % max(self.n, 1)).astype(np.int32)
        counts = np.bincount(key // max(self.n, 1), minlength=self.n)
        self.pointer = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def placed(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Where these rows are eliminated; -1 for rows below 0, which the matrix does not have."""
        return np.where(rows < 0, -1, self.place[rows]).astype(np.int32)

    def arranged(
        self, diagonal: NDArray[np.float64], beside: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Blocks in the order of elimination, from ``diagonal`` (n, D, D) and ``beside`` (pairs, D, D), at (i, j)."""
        turned = np.where(self._turned[:, None, None], beside.transpose(0, 2, 1), beside)
        D = diagonal.shape[1]
        below = np.zeros((self.column.size, D * D))
        flat = turned.reshape(-1, D * D)
        for entry in range(D * D):
            below[:, entry] = np.bincount(self._slot, flat[:, entry], minlength=self.column.size)
        return np.ascontiguousarray(diagonal[self.order]), below.reshape(-1, D, D)

    def normal(
        self, a: NDArray[np.int64], b: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """J^T J in the order of elimination, for measurements between the rows a and b (below 0: nowhere) with these
        derivatives, (measurements, D, D); the pattern is that of the pairs a, b which are both somewhere."""
        ft, D = first.transpose(0, 2, 1), first.shape[1]
        at = np.concatenate([a, b]) + 1  # what is nowhere goes to a row before the first
        blocks = np.concatenate([ft @ first, second.transpose(0, 2, 1) @ second]).reshape(-1, D * D)
        diagonal = np.empty((self.n, D * D))
        for entry in range(D * D):
            diagonal[:, entry] = np.bincount(at, blocks[:, entry], minlength=self.n + 1)[1:]
        return self.arranged(diagonal.reshape(-1, D, D), (ft @ second)[(a >= 0) & (b >= 0)])


class BlockPattern(Pattern):
    """The pairs of a matrix of blocks and the order of elimination."""

    def factorized(self, diagonal: NDArray[np.float64], below: NDArray[np.float64]) -> BlockFactor | None:
        """The factor of the matrix with blocks as :meth:`arranged` has them; None where it is not definite."""
        D = diagonal.shape[1]
        lower = scipy.sparse.bsr_array(
            (below, self.column, self.pointer), shape=(self.n * D, self.n * D), blocksize=(D, D)
        )
        middle = scipy.sparse.bsr_array(
            (diagonal, np.arange(self.n), np.arange(self.n + 1)), shape=(self.n * D, self.n * D), blocksize=(D, D)
        )
        matrix = (lower + lower.T + middle).tocsc()
        try:
            with in_one_thread():
                factor = scipy.sparse.linalg.splu(matrix, permc_spec="NATURAL", **_OPTIONS)
        except RuntimeError:  # a pivot is exactly zero
            return None
        pivots = factor.U.diagonal()
        definite = np.array_equal(factor.perm_r, factor.perm_c) and bool((pivots > 0).all())
        return BlockFactor(self, factor, pivots, D) if definite else None


class BlockFactor:
    """L of one matrix: solutions, the determinant, and A M^-1 A^T of groups of rows."""

    def __init__(self, pattern: Pattern, factor: object, pivots: NDArray[np.float64], D: int) -> None:
        self.pattern, self._factor, self._pivots, self._D = pattern, factor, pivots, D

    @property
    def log_determinant(self) -> float:
        """Of the matrix."""
        return float(np.log(self._pivots).sum())

    def solve(self, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """The solution of M x = b; b is (n, D), or (n, D, columns)."""
        right = b[self.pattern.order].reshape(self.pattern.n * self._D, *b.shape[2:])
        x = self._factor.solve(right).reshape(b.shape)  # type: ignore[attr-defined]
        solution = np.empty_like(x)
        solution[self.pattern.order] = x
        return solution

    def grams(
        self,
        groups: NDArray[np.int64],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        at_first: NDArray[np.float64],
        at_second: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """A M^-1 A^T for every group g of the rows ``groups[g]`` to ``groups[g + 1] - 1`` of A, all of them flat.

        Row e of A has the block ``at_first[e]`` at ``first[e]`` and ``at_second[e]`` at ``second[e]``; -1 is nowhere.
        """
        D, found = self._D, [np.empty(0)]
        ends = (self.pattern.placed(first), self.pattern.placed(second))
        for start, stop in zip(groups[:-1].tolist(), groups[1:].tolist(), strict=True):
            right = np.zeros((self.pattern.n + 1, D, stop - start, D))  # the last row is nowhere
            for place, block in zip(ends, (at_first, at_second), strict=True):
                for e in range(start, stop):
                    right[place[e], :, e - start] += block[e].T
            flat = right[:-1].reshape(self.pattern.n * D, -1)
            found.append((flat.T @ self._factor.solve(flat)).ravel())  # type: ignore[attr-defined]
        return np.concatenate(found)


def group_choice(
    groups: NDArray[np.int64],
    H: NDArray[np.float64],
    r: NDArray[np.float64],
    believed: NDArray[np.bool_],
    worth: NDArray[np.float64],
    pair: NDArray[np.float64],
    scale: float,
    *,
    search: bool = True,
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Which measurements of every group to believe, everything else fixed.

    Group g are the measurements ``groups[g]`` to ``groups[g + 1] - 1``; ``r`` their residuals (in units of the noise
    stated; ``scale`` is that of the noise), ``H`` (flat squares, as from :meth:`BlockFactor.grams`) what the believed
    measurements leave uncertain. A subset T of a group is worth (C, rho: without the believed members of the group)

        sum_T worth - rho_T' inv(C_TT) rho_T / (2 scale^2) - log det(C_TT) / 2 + max_p sum_(k not in T) pair[p, k].

    Returns the best subsets found from the present one, none and all by single changes; their gains; what each whole
    group is worth; and what each measurement is worth, the rest of its group as it is.
    """
    D, chosen = r.shape[1], believed.copy()
    gain, held, margin = np.zeros(groups.size - 1), np.empty(groups.size - 1), np.empty(believed.size)
    square = np.concatenate([[0], np.cumsum(np.diff(groups) ** 2)])
    for g, (start, stop) in enumerate(zip(groups[:-1].tolist(), groups[1:].tolist(), strict=True)):
        here, count = slice(start, stop), stop - start
        now = believed[here]
        group = _Group(
            H[square[g] * D * D : square[g + 1] * D * D].reshape(count * D, count * D), r[here], now, worth[here],
            pair[square[g] : square[g + 1]].reshape(count, count), scale,
        )  # fmt: skip
        if group.needed:
            held[g] = np.inf
            margin[here] = np.where(now, np.inf, -np.inf)
            continue
        value = group.value(now)
        held[g] = value - group.value(np.zeros(count, dtype=bool))
        for k in range(count):
            other = group.value(now ^ (np.arange(count) == k))
            margin[start + k] = value - other if now[k] else other - value
        for begin in (now, np.zeros(count, dtype=bool), np.ones(count, dtype=bool)) if search else ():
            subset, found = group.climbed(begin)
            if found - value > gain[g]:
                gain[g], chosen[here] = found - value, subset
    return chosen, gain, held, margin


class _Group:
    """One group: residuals and covariances as predicted without its believed members."""

    def __init__(
        self, H: NDArray, r: NDArray, believed: NDArray[np.bool_], worth: NDArray, pair: NDArray, scale: float
    ) -> None:
        self.worth, self.pair, self.scale, self.D = worth, pair, scale, r.shape[1]
        inside = np.repeat(believed, self.D)
        self.C, self.rho = np.eye(r.size) + H, r.ravel()
        self.needed = False  # whether the graph falls apart without its believed members
        if inside.any():
            try:
                L = np.linalg.cholesky(np.eye(int(inside.sum())) - H[np.ix_(inside, inside)])
            except np.linalg.LinAlgError:
                self.needed = True
                return
            Y = np.linalg.solve(L, np.column_stack([H[inside], self.rho[inside]]))
            self.C = self.C + Y[:, :-1].T @ Y[:, :-1]
            self.rho = self.rho + Y[:, :-1].T @ Y[:, -1]

    def value(self, subset: NDArray[np.bool_]) -> float:
        """What a subset is worth."""
        rows = np.repeat(subset, self.D)
        others = np.where(~subset[:, None] & ~subset, self.pair, 0.0)
        np.fill_diagonal(others, 0.0)
        together = float(others.sum(axis=1).max(initial=0.0))
        if not rows.any():
            return together
        try:
            L = np.linalg.cholesky(self.C[np.ix_(rows, rows)])
        except np.linalg.LinAlgError:
            return -np.inf
        y = np.linalg.solve(L, self.rho[rows])
        fits = self.worth[subset].sum() - y @ y / (2 * self.scale**2) - np.log(np.diagonal(L)).sum()
        return float(fits) + together

    def climbed(self, subset: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], float]:
        """From a subset by single changes, the best one each time."""
        now, subset = self.value(subset), subset.copy()
        while True:
            values = [self.value(subset ^ (np.arange(subset.size) == k)) for k in range(subset.size)]
            best = int(np.argmax(values))
            if not values[best] > now + 1e-9:
                return subset, now
            subset[best] ^= True
            now = values[best]
