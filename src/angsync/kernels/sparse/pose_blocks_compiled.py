"""Sparse Cholesky factors of D x D blocks, compiled; their twin is in ``pose_blocks_reference``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, function
from angsync.kernels.sparse.pose_blocks_reference import Pattern

_symbolic = function("block_symbolic", SIZE, *4 * (ADDRESS,), returns=INT)
_normal = function("block_normal", INT, SIZE, *7 * (ADDRESS,))
_factor = function("block_factor", INT, SIZE, *8 * (ADDRESS,), returns=SIZE)
_solve = function("block_solve", INT, SIZE, *3 * (ADDRESS,), SIZE, ADDRESS)
_gram = function("block_gram", INT, SIZE, *4 * (ADDRESS,), SIZE, *6 * (ADDRESS,), SIZE, ADDRESS, returns=INT)
_choice = function("group_choice", INT, REAL, SIZE, *7 * (ADDRESS,), INT, *4 * (ADDRESS,), returns=INT)

_KEPT_BLOCKS = 1 << 20  # of the inverse of L, 75 MB: a graph of 3500 poses has 400,000 on its paths to the root


class BlockPattern(Pattern):
    """The pairs of a matrix of blocks, the order of elimination, and what follows from both for the factor."""

    def __init__(self, order: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]) -> None:
        super().__init__(order, i, j)
        self.parent = np.empty(self.n, dtype=np.int32)
        self.begin = np.empty(self.n + 1, dtype=np.int64)
        arrays: tuple[NDArray, ...] = (self.pointer, self.column, self.parent, self.begin)
        if not _symbolic(self.n, *map(address, arrays)):
            raise MemoryError

    @property
    def entries(self) -> int:
        """Blocks of the factor."""
        return int(self.begin[-1])

    def normal(
        self, a: NDArray[np.int64], b: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As :meth:`angsync.kernels.sparse.pose_blocks_reference.Pattern.normal`."""
        D = first.shape[1]
        assert np.count_nonzero((a >= 0) & (b >= 0)) == self._slot.size, "measurements of another pattern"
        diagonal, below = np.zeros((self.n, D, D)), np.zeros((self.column.size, D, D))
        given: tuple[NDArray, ...] = (
            self.placed(a), self.placed(b), self._slot, np.ascontiguousarray(first), np.ascontiguousarray(second),
            diagonal, below,
        )  # fmt: skip
        _normal(D, a.size, *map(address, given))
        return diagonal, below

    def factorized(self, diagonal: NDArray[np.float64], below: NDArray[np.float64]) -> BlockFactor | None:
        """The factor of the matrix with blocks as :meth:`arranged` has them; None where it is not definite."""
        D = diagonal.shape[1]
        rows, L = np.empty(self.entries, dtype=np.int32), np.empty((self.entries, D, D))
        arrays: tuple[NDArray, ...] = (self.pointer, self.column, below, diagonal, self.parent, self.begin, rows, L)
        failed = _factor(D, self.n, *map(address, arrays))
        if failed == -2:
            raise MemoryError
        return BlockFactor(self, rows, L) if failed == -1 else None


class BlockFactor:
    """L of one matrix: solutions, the determinant, and A M^-1 A^T of groups of rows."""

    def __init__(self, pattern: BlockPattern, rows: NDArray[np.int32], L: NDArray[np.float64]) -> None:
        self.pattern, self._rows, self._L = pattern, rows, L

    @property
    def log_determinant(self) -> float:
        """Of the matrix. Diagonal blocks of L are kept inverted."""
        inverted = self._L[self.pattern.begin[:-1]]
        return -2 * float(np.log(np.diagonal(inverted, axis1=1, axis2=2)).sum())

    def solve(self, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """The solution of M x = b; b is (n, D), or (n, D, columns)."""
        x = np.ascontiguousarray(b[self.pattern.order])
        pattern, width = self.pattern, 1 if b.ndim == 2 else b.shape[2]
        _solve(x.shape[1], pattern.n, address(pattern.begin), address(self._rows), address(self._L), width, address(x))
        solution = np.empty_like(x)
        solution[pattern.order] = x
        return solution

    def grams(
        self,
        groups: NDArray[np.int64],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        at_first: NDArray[np.float64],
        at_second: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """As :meth:`angsync.kernels.sparse.pose_blocks_reference.BlockFactor.grams`."""
        pattern = self.pattern
        D = self._L.shape[1]
        sizes = D * np.diff(groups)
        where = np.concatenate([[0], np.cumsum(sizes * sizes)])
        out = np.empty(int(where[-1]))
        arrays: tuple[NDArray, ...] = (
            np.ascontiguousarray(groups, dtype=np.int64), pattern.placed(first), pattern.placed(second),
            np.ascontiguousarray(at_first), np.ascontiguousarray(at_second), where,
        )  # fmt: skip
        factor: tuple[NDArray, ...] = (pattern.parent, pattern.begin, self._rows, self._L)
        given = (*map(address, factor), sizes.size, *map(address, arrays))
        if not _gram(D, pattern.n, *given, _KEPT_BLOCKS, address(out)):
            raise MemoryError
        return out


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
    """As :func:`angsync.kernels.sparse.pose_blocks_reference.group_choice`."""
    D, count = r.shape[1], groups.size - 1
    square = np.concatenate([[0], np.cumsum(np.diff(groups) ** 2)]).astype(np.int64)
    chosen = np.empty(believed.size, dtype=np.bool_)
    gain, held, margin = np.empty(count), np.empty(count), np.empty(believed.size)
    given = (
        np.ascontiguousarray(groups, dtype=np.int64),
        square,
        H,
        *map(np.ascontiguousarray, (r, believed, worth, pair)),
    )
    if not _choice(D, scale, count, *map(address, given), search, *map(address, (chosen, gain, held, margin))):
        raise MemoryError
    return chosen, gain, held, margin
