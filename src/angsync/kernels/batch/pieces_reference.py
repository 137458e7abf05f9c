"""Which nodes of many small problems hang together, and the gauge of each piece: what ``pieces.h`` computes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.numbers import GAUGE_MEAN, GAUGE_NODE


def first_of_piece(joined: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For every node of graphs (count, n, n), symmetric, the first node of its piece: (count, n)."""
    count, n = joined.shape[:2]
    first = np.zeros((count, n), dtype=np.int64)
    if n < 2:
        return first
    at = np.flatnonzero(~joined[:, 0, 1:].all(axis=1))  # elsewhere all nodes are joined with the first one
    label = np.broadcast_to(np.arange(n), (at.size, n))
    graph = joined[at]
    while at.size:
        lower = np.minimum(label, np.where(graph, label[:, None, :], n).min(axis=2))
        lower = np.take_along_axis(lower, lower, axis=1)  # a shortcut: the label of the label
        going = (lower != label).any(axis=1)
        first[at] = lower
        at, graph, label = at[going], graph[going], lower[going]
    return first


def count_pieces(first: NDArray[np.int64]) -> NDArray[np.int32]:
    """How many pieces there are, from what :func:`first_of_piece` says."""
    return np.count_nonzero(first == np.arange(first.shape[1]), axis=1).astype(np.int32)


def in_gauge(z: NDArray, first: NDArray[np.int64], some: NDArray[np.bool_], gauge: int) -> NDArray:
    """The phases with every piece in the gauge asked for; nodes without measurements, not in ``some``, have phase 1."""
    count, n = z.shape
    place = np.arange(count)[:, None]
    if gauge == GAUGE_MEAN:
        sums = np.zeros((count, n), dtype=z.dtype)
        np.add.at(sums, (place, first), z)
        reference = np.take_along_axis(sums, first, axis=1)
    else:
        nodes = first
        if gauge >= GAUGE_NODE:
            node = gauge - GAUGE_NODE
            nodes = np.where(first == first[:, node : node + 1], node, first)
        reference = np.take_along_axis(z, nodes, axis=1)
    size = np.abs(reference)
    turned = z * np.where(size > 0, reference.conj() / np.where(size > 0, size, 1), 1)
    if gauge != GAUGE_MEAN:
        turned[nodes == np.arange(n)] = 1  # exactly, not to rounding
    return np.where(some, turned, 1).astype(z.dtype)
