"""Problems of a stack that are empty or in several pieces: the one rule, and the words about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.result import BatchStatus
from angsync.batch.source import Source
from angsync.kernels.batch.pieces_reference import first_of_piece


def settle_status(status: NDArray[np.int8], components: NDArray[np.int32], nodes: Any) -> None:
    """Write EMPTY and DISCONNECTED into ``status``, where it is CONVERGED and the problem is not in one piece.

    ``nodes``: how many nodes take part, those that are masked not counted; ``components``: in how many pieces. A node
    without measurements is a piece of its own, for its phase is arbitrary; a single node alone is one piece.
    """
    apart = (components != 1) & (status == BatchStatus.CONVERGED)
    if apart.any():
        empty = (components == nodes) & apart
        status[apart] = BatchStatus.DISCONNECTED
        status[empty] = BatchStatus.EMPTY


def in_words(status: NDArray[np.int8], components: NDArray[np.int32] | None) -> str:
    """One sentence about the problems that are not in one piece; empty where all are."""
    if components is None:
        return ""
    codes = np.atleast_1d(status)
    several = int(np.count_nonzero((np.atleast_1d(components) > 1) & (codes != BatchStatus.EMPTY)))
    empty = int(np.count_nonzero(codes == BatchStatus.EMPTY))
    parts = [f"{several} in several pieces, whose phases cannot be compared across pieces"] * (several > 0)
    parts += [f"{empty} without any measurement"] * (empty > 0)
    if not parts:
        return ""
    return f"of {codes.size} problems, {' and '.join(parts)}: result.components counts the pieces of each."


def labels_of(source: Source) -> NDArray[np.int64]:
    """The piece of every node, numbered in the order of their first nodes; -1 where a node is masked."""
    n = source.n
    labels = np.empty((int(np.prod(source.leading)), n), dtype=np.int64)
    for part in source.blocks():
        C, out = source.take(part)
        kept = np.tril(C, -1) if source.hermitian == "lower" else np.triu(C, 1)
        first = first_of_piece((kept != 0) | (kept.swapaxes(1, 2) != 0))
        begins = first == np.arange(n)
        if out is not None:
            begins &= ~out
        labels[part] = np.take_along_axis(np.cumsum(begins, axis=1) - 1, first, axis=1)
        if out is not None:
            labels[part][out] = -1
    return labels.reshape(*source.leading, n)
