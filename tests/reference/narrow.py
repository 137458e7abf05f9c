"""The narrow copy of a dense matrix, read back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.narrow import ROWS, SEGMENT, NarrowCopy


def dense(copy: NarrowCopy) -> NDArray[np.complex128]:
    """The matrix that the copy stands for."""
    width = -(-copy.n // SEGMENT) * SEGMENT
    upper = np.zeros((width, width), dtype=np.complex128)
    values = (copy.blocks * copy.scale[:, :, None].astype(np.float64)).view(np.complex128)
    for first, blocks in copy.by_segment(values):
        rows = blocks.transpose(0, 2, 1, 3).reshape(blocks.shape[0] * ROWS, -1)
        upper[first : first + rows.shape[0], first:] = rows
    upper = upper[: copy.n, : copy.n]
    return upper + upper.conj().T + np.diag(copy.diagonal)


def narrow_apply(copy: NarrowCopy, x: NDArray) -> NDArray[np.complex128]:
    """C x from the narrow copy."""
    return dense(copy) @ x
