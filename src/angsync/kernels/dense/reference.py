"""Small kernels for dense matrices in NumPy: products, one Cholesky factorization, the bandwidth of the machine.

Some things only the compiled kernels do: one pass over the matrix, the narrow copy. Their functions here return None.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync.kernels.dense.anderson import DenseModel
from angsync.kernels.dense.narrow import Inspection, NarrowCopy
from angsync.kernels.dense.view import TriangleView

_BLOCK_ENTRIES = 1 << 19  # rows are widened in blocks of about this many entries


def dense_apply(matrix: NDArray | TriangleView, x: NDArray) -> NDArray:
    """C x, with sums in the wider precision of C and x; where that is not the one of C, a few rows at a time."""
    kind = np.result_type(matrix.dtype, x)
    if kind == matrix.dtype:
        return matrix @ x
    out = np.empty(x.shape, dtype=kind)
    height = max(1, _BLOCK_ENTRIES // max(1, matrix.shape[0]))
    for k in range(0, matrix.shape[0], height):
        out[k : k + height] = matrix[k : k + height].astype(kind) @ x
    return out


def read_through(array: NDArray, *, threads: int) -> float:
    """The largest of an array of doubles, every one read once: a maximum is in vector instructions and needs no BLAS.

    NumPy holds no lock meanwhile, so threads read parts of the array at the same time.
    """
    if threads == 1:
        return float(array.max())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        return float(max(pool.map(np.max, np.array_split(array, threads))))


def narrow_apply(copy: NarrowCopy, x: NDArray) -> NDArray[np.complex128]:
    """Never called: only the compiled kernels make a narrow copy."""
    raise NotImplementedError("products with a narrow copy are compiled, as the pass that makes the copy is.")


def dense_inspect(matrix: NDArray | TriangleView) -> Inspection | None:
    """None: without compiled kernels, one pass for all checks is slower than one pass for each."""
    return None


def hollow_inspect(matrix: NDArray, known: Inspection) -> Inspection | None:
    """Never called: see :func:`dense_inspect`."""
    return None


def shifted_is_definite(
    matrix: NDArray | TriangleView, scale: float, s: NDArray[np.float64], u: NDArray, lift: float, shift: float
) -> bool:
    """Whether Diag(s) - scale C + lift u u^H - shift I has a Cholesky factorization in floating point."""
    A = lift * np.outer(u, np.conj(u)) - scale * np.asarray(matrix)
    A.flat[:: A.shape[0] + 1] += s - shift
    if not (A.diagonal().real > 0).all():
        return False
    # the transpose is the conjugate, which is as definite, and lies as LAPACK wants it
    return bool(scipy.linalg.lapack.zpotrf(A.T, lower=1, clean=0, overwrite_a=1)[1] == 0)


def dense_model(
    matrix: NDArray | TriangleView | Callable[[NDArray], NDArray], copy: NarrowCopy | None, n: int
) -> DenseModel:
    """The model of a dense problem: C itself."""
    return DenseModel(matrix if callable(matrix) else lambda x: dense_apply(matrix, x))
