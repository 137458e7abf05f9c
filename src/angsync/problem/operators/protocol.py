"""The protocol that every operator follows. Solvers see C only through it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class HermitianOperator(Protocol):
    """A Hermitian matrix C of order ``n``, known by its products.

    Optional methods that make more possible, looked up in :mod:`angsync.problem.operators.structure`:
    ``component_labels()``, ``restrict(index)``, ``to_dense()``, ``is_real()`` and ``row_length()``.
    """

    @property
    def n(self) -> int:
        """Number of nodes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex64 or complex128: the precision of the data."""
        ...

    def apply(self, z: NDArray) -> NDArray:
        """The product C z for a vector (n,) or a block of vectors (n, k).

        The result has the wider precision of C and z, and sums are accumulated in it.
        """
        ...

    def diagonal(self) -> NDArray[np.float64]:
        """The (real) diagonal of C."""
        ...

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        """Sums of ``|C_jl|`` over each row, diagonal included; None where they cannot be known."""
        ...
