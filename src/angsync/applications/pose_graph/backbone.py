"""The edges a robust fit starts from: those that are trusted, and as many more as it takes to join every pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import ArrayLike, NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.circle import wrap
from angsync.errors import InputError
from angsync.pipeline.robust.settings import Robust, trusted_places

_TRUSTED, _STEP, _LOOP = 1.0, 2.0, 3.0  # costs in the spanning tree: each kind is taken before the next


@dataclass(frozen=True, eq=False)
class Backbone:
    """Edges that span the graph."""

    trusted: NDArray[np.bool_]
    """Edges that are believed whatever the others say."""
    edges: NDArray[np.bool_]
    """These and a tree of steps and heavy edges through what they do not join."""
    poses: NDArray[np.float64]
    """Along its tree."""


def trusted_edges(graph: PoseGraph, trusted: ArrayLike | str | None) -> NDArray[np.bool_]:
    """One boolean an edge, from None, ``"odometry"``, booleans, or places in the list of edges."""
    if trusted is None:
        return np.zeros(len(graph), dtype=bool)
    if isinstance(trusted, str):
        if trusted != "odometry":
            raise InputError(
                f"trusted must be None, 'odometry', one boolean an edge, or places of edges, but it is {trusted!r}."
            )
        steps = odometry_edges(graph)
        # of two measurements of one step, which one is odometry is not known
        steps &= ~np.isin(np.minimum(graph.i, graph.j), _measured_twice(graph))
        if not steps.any():
            raise InputError(
                "trusted='odometry' means the steps from each pose to the next one, but no edge joins two poses that "
                "follow each other, or every step was measured twice. Say which edges are trusted: one boolean an edge."
            )
        return steps
    return np.asarray(trusted_places(Robust(trusted=trusted).trusted, len(graph)), dtype=bool)


def odometry_edges(graph: PoseGraph) -> NDArray[np.bool_]:
    """The steps k to k + 1 (in the order of the ids); where a step was measured twice, the first."""
    steps = np.flatnonzero(np.abs(graph.j - graph.i) == 1)
    first = steps[np.unique(np.minimum(graph.i, graph.j)[steps], return_index=True)[1]]
    mask = np.zeros(len(graph), dtype=bool)
    mask[first] = True
    return mask


def _measured_twice(graph: PoseGraph) -> NDArray[np.int64]:
    """The first poses of the steps that more than one edge measures."""
    steps = np.abs(graph.j - graph.i) == 1
    first, count = np.unique(np.minimum(graph.i, graph.j)[steps], return_counts=True)
    return first[count > 1]


def backbone(graph: PoseGraph, trusted: NDArray[np.bool_]) -> Backbone:
    """Trusted edges first, then odometry, then the edges whose turns are surest."""
    cost = np.where(odometry_edges(graph), _STEP, _LOOP)
    cost[~odometry_edges(graph)] += 1 / (1 + graph.kappa[~odometry_edges(graph)])
    cost[trusted] = _TRUSTED
    low, high = np.minimum(graph.i, graph.j), np.maximum(graph.i, graph.j)
    # of parallel edges the cheapest: a matrix has one entry for a pair
    order = np.lexsort((cost, high, low))
    pair = low[order] * graph.n + high[order]
    kept = order[np.concatenate([[True], pair[1:] != pair[:-1]])]
    shape = (graph.n, graph.n)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(
        scipy.sparse.csr_array((cost[kept], (low[kept], high[kept])), shape=shape)
    ).tocoo()
    number = scipy.sparse.csr_array((kept + 1.0, (low[kept], high[kept])), shape=shape)
    chosen = np.asarray(number[tree.row, tree.col]).ravel().astype(np.int64) - 1
    edges = trusted.copy()
    edges[chosen] = True
    return Backbone(trusted, edges, _along(graph, chosen))


def _along(graph: PoseGraph, tree: NDArray[np.int64]) -> NDArray[np.float64]:
    """Poses along a spanning forest, the reference of each component where it is given, or at the origin."""
    i, j = graph.i[tree], graph.j[tree]
    joined = scipy.sparse.csr_array((np.ones(tree.size), (i, j)), shape=(graph.n, graph.n))
    key = np.minimum(i, j) * graph.n + np.maximum(i, j)
    by_key = np.argsort(key)
    heading, position = np.zeros(graph.n), np.zeros(graph.n, dtype=complex)
    for root in graph.references:
        held = np.nan_to_num(graph.poses[root])
        heading[root], position[root] = held[2], held[0] + 1j * held[1]
        order, before = scipy.sparse.csgraph.breadth_first_order(joined, root, directed=False)
        nodes, lasts = order[1:].astype(np.int64), before[order[1:]].astype(np.int64)
        wanted = np.minimum(nodes, lasts) * graph.n + np.maximum(nodes, lasts)
        edges = tree[by_key[np.searchsorted(key[by_key], wanted)]]
        ahead = graph.i[edges] == lasts
        for node, last, forward, (dx, dy, turn) in zip(
            nodes.tolist(), lasts.tolist(), ahead.tolist(), graph.motion[edges].tolist(), strict=True
        ):
            if forward:
                heading[node] = heading[last] + turn
                position[node] = position[last] + np.exp(1j * heading[last]) * complex(dx, dy)
            else:
                heading[node] = heading[last] - turn
                position[node] = position[last] - np.exp(1j * heading[node]) * complex(dx, dy)
    return np.column_stack([position.real, position.imag, wrap(heading)])
