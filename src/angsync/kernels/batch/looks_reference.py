"""Coherence matrices of a stack of images, averaged over windows, with NumPy: what ``looks.c`` does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Window(NamedTuple):
    """So many rows and columns beside the pixel."""

    up: int
    down: int
    left: int
    right: int

    @classmethod
    def of(cls, rows: int, columns: int) -> Window:
        """A window of this many rows and columns; of an even number, the larger half is below and to the right."""
        return cls((rows - 1) // 2, rows // 2, (columns - 1) // 2, columns // 2)


class Region(NamedTuple):
    """Pixels of a part, the last ones excluded."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int


def coherence(
    stack: NDArray, out: NDArray[np.bool_] | None, window: Window, region: Region, C: NDArray, looks: NDArray[np.int32]
) -> None:
    r"""Write the coherences :math:`\sum x_j \bar x_l / \sqrt{\sum |x_j|^2 \sum |x_l|^2}` of the pixels of the region
    into ``C`` (pixels, n, n), and into ``looks`` how many samples the date that has fewest has, of those that have any.

    Sums run over the window, cut off at the edges of the stack (n, rows, columns); pixels in ``out``, zeros and what is
    not finite are left out. A date without samples has zeros in its row, in its column and on the diagonal.
    """
    n, rows, columns = stack.shape
    clean = stack.astype(np.complex128)
    clean[~np.isfinite(clean)] = 0
    if out is not None:
        clean[:, out] = 0
    up, down, left, right = window
    pixel = 0
    for row in range(region.first_row, region.last_row):
        lines = clean[:, max(0, row - up) : min(rows, row + down + 1)]
        columnwise = np.zeros((columns + left + right, n, n), dtype=np.complex128)
        columnwise[left : left + columns] = np.einsum("jrc,lrc->cjl", lines, lines.conj())
        counts = np.zeros((columns + left + right, n))
        counts[left : left + columns] = np.count_nonzero(lines, axis=1).T
        for column in range(region.first_column, region.last_column):
            total = columnwise[column : column + left + right + 1].sum(axis=0)
            power = np.diagonal(total).real
            over = np.where(power > 0, 1 / np.sqrt(np.where(power > 0, power, 1)), 0)
            found = total * over[:, None] * over[None, :]
            np.fill_diagonal(found, power > 0)
            C[pixel] = found
            samples = counts[column : column + left + right + 1].sum(axis=0)
            looks[pixel] = samples[samples > 0].min(initial=np.iinfo(np.int32).max) if samples.any() else 0
            pixel += 1


def agreement(C: NDArray, z: NDArray) -> NDArray[np.float64]:
    r"""Temporal coherence :math:`\left|\sum_{j<l} \exp i(\arg C_{jl} - \theta_j + \theta_l)\right|` over the number of
    pairs, (count); pairs without a measurement or without phases do not count, NaN where none is left."""
    size = np.triu(np.abs(C), 1)
    turned = C * z.conj()[:, :, None] * z[:, None, :]
    told = (size > 0) & np.isfinite(turned)
    unit = np.where(told, turned / np.where(told, size, 1), 0)
    pairs = np.count_nonzero(told, axis=(1, 2))
    return np.where(pairs > 0, np.abs(unit.sum(axis=(1, 2))) / np.maximum(pairs, 1), np.nan)
