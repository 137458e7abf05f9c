"""Where a measured graph is weak, in sentences: bridges, nodes that hang on one measurement, thin cuts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.report.numbers import counted, pretty_number
from angsync.report.protocols import ReportedResult
from angsync.uncertainty.cycle_labels import bridges_of

MOST_CUT = 100_000
"""Measurements up to which the weakest cut is looked for: it needs an eigenvector, some seconds at this size."""
_NAMED = 8


def weak_spots(result: ReportedResult, names: Sequence[object] | None = None) -> list[str]:
    """One sentence a kind of weakness, and one where there is none; empty where the measurements are not at hand.

    ``names`` are those of the nodes, their labels unless given.
    """
    try:
        m = result.measurements
    except InputError:
        return []
    if not len(m):
        return []
    named = _Names(int(np.shape(result.angles)[0]), result.labels if names is None else names)
    if len(m) > MOST_CUT:
        strength = np.asarray(m.strength, dtype=float)
        bridges = bridges_of(m, strength)
        more = "The weakest cut of so large a graph is not looked for here: result.connectivity() finds it."
        return [*_bridges(named, m.i, m.j, bridges, strength > 0), more]
    found = result.connectivity()
    m = found.measurements
    used = np.asarray(m.strength) > 0
    said = _bridges(named, m.i, m.j, found.bridges, used)
    groups = sorted((group for group in found.cut_groups if group.size > 1), key=len, reverse=True)
    if groups:
        edges = sum(group.size for group in groups)
        said.append(
            f"{counted(edges, 'measurement')} in {counted(len(groups), 'chain')} can be checked only together: an "
            f"error of one cannot be told from an error of another, as of {named.edges(m.i, m.j, groups[0])}."
        )
    side = found.weakest_cut_side
    if side.size and found.weakest_cut_edges.size > 1:
        what = named.nodes(side)
        said.append(
            f"The weakest cut that was found holds {what} to the rest by "
            f"{counted(found.weakest_cut_edges.size, 'measurement')} (total weight "
            f"{pretty_number(found.weakest_cut_weight, 3)}): {named.edges(m.i, m.j, found.weakest_cut_edges)}."
        )
    return said


def _bridges(
    names: _Names, i: NDArray[np.int64], j: NDArray[np.int64], bridges: NDArray[np.int64], used: NDArray[np.bool_]
) -> list[str]:
    if not bridges.size:
        return ["No bridges: every measurement is checked by others."]
    degree = np.bincount(np.concatenate([i[used], j[used]]), minlength=names.count)[: names.count]
    hanging = np.flatnonzero(degree == 1)
    said = [
        f"{counted(bridges.size, 'bridge')}, which nothing checks: an error of one moves all that lies behind it, and "
        f"shows nowhere: {names.edges(i, j, bridges)}."
    ]
    if hanging.size:
        verb = "hangs" if hanging.size == 1 else "hang"
        said.append(f"{names.nodes(hanging, 'Node')} {verb} on one measurement.")
    return said


class _Names:
    def __init__(self, count: int, labels: Sequence[object] | None) -> None:
        self.count, self.labels = count, labels

    def one(self, node: int) -> str:
        if node >= self.count:
            return "the ground"  # what anchors and priors tie to
        return str(node) if self.labels is None else str(self.labels[node])

    def edges(self, i: NDArray[np.int64], j: NDArray[np.int64], edges: NDArray[np.int64]) -> str:
        shown = [f"{self.one(int(i[k]))} – {self.one(int(j[k]))}" for k in edges[:_NAMED]]
        return _listed(shown, edges.size)

    def nodes(self, nodes: NDArray[np.int64], node: str = "node") -> str:
        shown = _listed([self.one(int(k)) for k in nodes[:_NAMED]], nodes.size)
        return f"{node} {shown}" if nodes.size == 1 else f"{nodes.size:,} nodes ({shown})"


def _listed(names: list[str], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names):,} more" if count > len(names) else "")
