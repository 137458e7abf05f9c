"""Groups of edges that the ascent changes together."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from angsync.pipeline.robust.marginal.model import Mask, Places
from angsync.pipeline.robust.marginal.rotations import Rotations

LARGEST_GROUP = 12  # edges: 2^12 subsets, of which single flips from three starts see enough
_NEAR_NODES = 5  # both ends of two loops are at most about this far apart along the numbering


def single_edges(edges: Places) -> Places:
    """Every edge a group of its own."""
    return np.asarray(edges, dtype=np.int64).reshape(-1, 1)


def padded(groups: list[list[int]]) -> Places:
    """Lists of edges as rows, -1 where a list is shorter than the longest."""
    width = max(map(len, groups), default=1)
    table = np.full((len(groups), width), -1, dtype=np.int64)
    for row, members in zip(table, groups, strict=True):
        row[: len(members)] = members
    return table


def loops_by_place(model: Rotations, edges: Places) -> Places:
    """Edges whose ends lie in the same short stretches of the numbering: a place seen again gives several at once.

    Every edge is in one group; larger groups are cut.
    """
    low, high = np.minimum(model.i, model.j)[edges], np.maximum(model.i, model.j)[edges]
    order = np.lexsort((high, low))
    groups: list[list[int]] = []
    where: list[tuple[int, int]] = []
    recent: dict[int, list[int]] = defaultdict(list)  # groups by the cell of their first edge's ends
    for k, a, b in zip(edges[order].tolist(), low[order].tolist(), high[order].tolist(), strict=True):
        cell = a // _NEAR_NODES
        for g in recent[cell] + recent[cell - 1]:
            near = abs(where[g][0] - a) <= _NEAR_NODES and abs(where[g][1] - b) <= _NEAR_NODES
            if near and len(groups[g]) < LARGEST_GROUP:
                groups[g].append(k)
                break
        else:
            recent[cell].append(len(groups))
            groups.append([k])
            where.append((a, b))
    return padded(groups)


def edges_of_nodes(model: Rotations, free: Mask) -> Places:
    """All free edges at a node, for every node with two to twelve of them: what turns a node against its neighbors."""
    at: list[list[int]] = [[] for _ in range(model.nodes)]
    for k in np.flatnonzero(free).tolist():
        at[model.i[k]].append(k)
        at[model.j[k]].append(k)
    return padded([some for some in at if 2 <= len(some) <= LARGEST_GROUP])


def joined(*tables: Places) -> Places:
    """Tables of groups as one."""
    width = max(table.shape[1] for table in tables)
    return np.concatenate([np.pad(t, ((0, 0), (0, width - t.shape[1])), constant_values=-1) for t in tables])
