r"""The real part of a dense Hermitian matrix in the gauge of z, in NumPy.

.. math:: R = \Re(Z^H C Z), \qquad R_{jl} = \Re(\bar z_j C_{jl} z_l), \qquad Z = \mathrm{Diag}(z),

is what the Hessian :math:`\mathrm{Diag}(s) - R` on the torus is made of. It is real and symmetric, so a product with it
moves half of what a product with C does. To make it takes one pass over C: it pays off from some products on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.view import TriangleView

_BLOCK_ENTRIES = 1 << 11  # rows are rotated in blocks of about this many entries


class RotatedMatrix:
    """R at one z, all of it: half of the bytes of C."""

    def __init__(self, matrix: NDArray | TriangleView, z: NDArray) -> None:
        n = z.size
        self._rotated = np.empty((n, n), dtype=np.finfo(matrix.dtype).dtype)
        height = max(1, _BLOCK_ENTRIES // max(1, n))
        for k in range(0, n, height):
            rows = slice(k, min(n, k + height))
            turned = matrix[rows] * z
            turned *= np.conj(z[rows, None])
            self._rotated[rows] = turned.real

    def product(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """R t."""
        y: NDArray = self._rotated @ t.astype(self._rotated.dtype, copy=False)
        return y.astype(np.float64, copy=False)


def rotated(matrix: NDArray | TriangleView, copy: object, z: NDArray) -> RotatedMatrix | None:
    """R from C; there is no narrow copy without compiled kernels. None where z is not of the precision of C."""
    return RotatedMatrix(matrix, z) if z.dtype == matrix.dtype else None
