r"""How much memory a method may take, declared once and held to by tests.

A budget counts what is allocated beside C and the starting point, at the moment when that is most:

.. math:: 16\,n\,(v + v_t T + b\,r) + c\,|C| + k\,|F| + 64\ \text{KiB}

bytes, for n nodes, T threads, n x r blocks (the relaxation), :math:`|C|` bytes of the matrix (:math:`16 n^2`, or 20 for
every stored entry of a sparse one and 4 for every row) and :math:`|F|` bytes of a sparse factor (20 for every entry).
What SuperLU allocates for itself is not in it: one :math:`|F|` for every factor that is alive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

VECTOR = 16  # bytes of a complex number in double precision
_ENTRY, _ROW = 20, 4  # bytes of a stored entry of a sparse matrix and of a row
_FIXED = 1 << 16  # Python's own objects, histories, small work arrays


@dataclass(frozen=True)
class MemoryBudget:
    """How much memory a method needs at most, in n-vectors (16 n bytes) and copies of C."""

    vectors: float
    """n-vectors, whatever the matrix."""
    thread_vectors: float = 0.0
    """n-vectors for every thread of the compiled kernels."""
    blocks: float = 0.0
    """Blocks of n x r numbers, r being the rank of a relaxation."""
    matrix_copies: float = 0.0
    """Copies of C."""
    factor_copies: float = 0.0
    """Copies of a sparse factor, beside the one that SuperLU holds."""

    def bytes(self, n: int, *, matrix: int = 0, threads: int = 1, rank: int = 0, factor: int = 0) -> int:
        """The budget in bytes for n nodes; ``matrix`` and ``factor`` are the bytes of C and of a sparse factor."""
        numbers = n * (self.vectors + self.thread_vectors * threads + self.blocks * rank)
        return math.ceil(VECTOR * numbers + self.matrix_copies * matrix + self.factor_copies * factor) + _FIXED

    def __add__(self, other: MemoryBudget) -> MemoryBudget:
        """The sum of two budgets, such as those of a solver and of its preconditioner."""
        return MemoryBudget(
            self.vectors + other.vectors,
            self.thread_vectors + other.thread_vectors,
            self.blocks + other.blocks,
            self.matrix_copies + other.matrix_copies,
            self.factor_copies + other.factor_copies,
        )

    def __str__(self) -> str:
        parts = [f"{self.vectors:g} n-vectors"]
        if self.thread_vectors:
            parts.append(f"{self.thread_vectors:g} more a thread")
        if self.blocks:
            parts.append(f"{self.blocks:g} blocks of n x r")
        if self.matrix_copies:
            parts.append(f"{self.matrix_copies:g} copies of C")
        if self.factor_copies:
            parts.append(f"{self.factor_copies:g} copies of a sparse factor")
        return ", ".join(parts)


def dense_bytes(n: int) -> int:
    """Bytes of a dense complex128 matrix."""
    return VECTOR * n**2


def sparse_bytes(n: int, entries: int) -> int:
    """Bytes of a sparse complex128 matrix, or of a factor, with so many stored entries."""
    return _ENTRY * entries + _ROW * (n + 1)


DENSE_PRODUCT = MemoryBudget(vectors=4, thread_vectors=2)
"""A product with a dense C by the compiled kernels; it is added to what a solver declares."""

NARROW_COPY = MemoryBudget(vectors=50, matrix_copies=0.127)
"""One triangle of a dense C in 16 bits a number, made when C is taken in: an eighth of it, and the ends of its rows,
which are padded to whole segments."""

ROTATED_TRIANGLE = {
    "narrow": MemoryBudget(vectors=25, matrix_copies=0.0635),
    "full": MemoryBudget(vectors=102, matrix_copies=0.25),
    "numpy": MemoryBudget(vectors=8, matrix_copies=0.5),
}
"""Re(Z^H C Z) of a dense C, while Newton's method takes a step of more than a few products, added to what a solver
declares: one triangle in 16 bits a number where it works on the narrow copy, otherwise in the precision of C, with the
ends of its rows padded to whole segments; without compiled kernels all of it."""

BATCH = MemoryBudget(vectors=3)
"""Memory for each problem of a stack, its answer and certificate included."""
