"""Nested dissection: the order in which nodes are eliminated, and what that will cost, known before it is done.

Separators come from breadth-first searches (:mod:`angsync.kernels.sparse.dissection_reference` says how).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.sparse.dissection_reference import Cuts

_LEAF_NODES = 40  # a part of up to so many nodes is not cut any further
_BALANCE_SHARE = 0.3  # each side of a separator holds at least about this share of its part
_POOR_SEPARATOR_SHARE = 0.2  # a separator of more than this share of a small part is not worth it
_SMALL_PART_NODES = 512  # up to which a part is small: larger ones are cut by separators of up to half of their nodes


@dataclass(frozen=True, eq=False)
class Dissection:
    """Blocks of nodes in the order of elimination, with the rows that their columns of the factor have.

    Places are numbers in the order of elimination; the place ``n`` stands for the anchor, which is never eliminated
    and is in the rows of every block.
    """

    order: NDArray[np.int64]
    """``order[place]`` is the node."""
    starts: NDArray[np.int64]
    """Block b holds the places ``starts[b]`` to ``starts[b + 1] - 1``."""
    rows: list[NDArray[np.int64]]
    """Places after the block that its elimination joins, sorted, the anchor last."""
    parent: NDArray[np.int64]
    """The block that holds the first of these rows; -1 where it is the anchor."""

    @property
    def fill(self) -> int:
        """Numbers that the factor holds."""
        width = np.diff(self.starts)
        return int(np.sum(width * (width + np.array([r.size for r in self.rows], dtype=np.int64))))

    @property
    def work(self) -> float:
        """Floating-point operations of the elimination and of the selected inverse, to leading order."""
        width = np.diff(self.starts).astype(float)
        front = width + np.array([r.size for r in self.rows], dtype=float)
        # one product and one sum an entry and an eliminated node, over shrinking squares, twice
        return float(np.sum(4 * width * (front**2 - front * width + width**2 / 3)))

    @property
    def largest_front(self) -> int:
        """Order of the largest dense matrix that is formed."""
        sizes = np.diff(self.starts) + np.array([r.size for r in self.rows], dtype=np.int64)
        return int(sizes.max(initial=0))


def dissect(graph: scipy.sparse.csr_array, *, largest: int) -> Dissection | None:
    """Order the nodes of a graph (symmetric pattern, no diagonal); None where a block would exceed ``largest``."""
    cuts = Cuts(_LEAF_NODES, _SMALL_PART_NODES, _BALANCE_SHARE, _POOR_SEPARATOR_SHARE, largest)
    blocks = kernels.dissection_blocks(graph, cuts)
    if blocks is None:
        return None
    found = kernels.dissection_rows(graph, *blocks, largest)
    return None if found is None else Dissection(*blocks, *found)
