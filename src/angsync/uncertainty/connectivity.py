"""Where a graph is weak: bridges, cuts of two edges, and the weakest cut that was found.

Bridges and cuts of two edges are found by labels (:mod:`angsync.uncertainty.cycle_labels`). The weakest cut is the best
one of several kinds (:mod:`angsync.uncertainty.weakest_cut`): to find the weakest of all is NP-hard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, names_keywords
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_labels
from angsync.uncertainty.cycle_labels import cycle_labels, equal_labels
from angsync.uncertainty.resistance import collect_pairs
from angsync.uncertainty.weakest_cut import smaller_side, weakest_cut

_MOST_PAIRS = 10_000_000  # cut_pairs lists no more: 160 MB
_NAMED = 6  # names in a line of text


@dataclass(frozen=True, eq=False)
class Connectivity:
    """What holds the graph together. Edges are indices into the measurements, in the order of the input.

    Examples
    --------
    >>> path = ang.Measurements([0, 1, 2, 3], [1, 2, 0, 2], np.zeros(4))
    >>> ang.connectivity_of(path).bridges.tolist()  # the edge that alone holds node 3
    [3]
    """

    bridges: NDArray[np.int64]
    """Edges that disconnect the graph when they are lost. Their residual is 0: nothing checks them."""
    cut_groups: tuple[NDArray[np.int64], ...]
    """Groups of edges of which any two disconnect the graph when both are lost; an error in one cannot be told from an
    error in another."""
    weakest_cut_edges: NDArray[np.int64]
    weakest_cut_weight: float
    """Total weight of these edges; ``sigma / sqrt(weight)`` is the error of the angle between the sides."""
    weakest_cut_side: NDArray[np.int64]
    """Nodes of the smaller side."""
    weakest_cut_ratio: float
    """q of :mod:`angsync.uncertainty.weakest_cut`; no cut has one below ``fiedler_value``."""
    weakest_cut_found: str
    """``"Fiedler vector"``, ``"node"`` or ``"bridge"``; ``"none"`` where there is no edge."""
    fiedler_value: float
    """Second eigenvalue of the Laplacian of that component: the smallest one over the components."""
    components: int
    measurements: Measurements = field(repr=False)

    @cached_property
    def cut_pairs(self) -> NDArray[np.int64]:
        """All pairs of edges, one a row, that disconnect the graph together while neither does alone."""
        count = sum(group.size * (group.size - 1) // 2 for group in self.cut_groups)
        if count > _MOST_PAIRS:
            raise InputError(
                f"there are {count} cuts of two edges, too many to list (a long ring has that many). Use cut_groups: "
                "any two edges of a group are such a cut."
            )
        pairs = [np.stack([g[k] for k in np.triu_indices(g.size, 1)], axis=1) for g in self.cut_groups]
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs])

    def __repr__(self) -> str:
        cuts = sum(group.size for group in self.cut_groups)
        return (
            f"Connectivity({_many(self.measurements.n, 'node')}, {_many(self.components, 'component')}, "
            f"{_many(self.bridges.size, 'bridge')}, {_many(cuts, 'edge')} in cuts of two, weakest cut of "
            f"{_many(self.weakest_cut_edges.size, 'edge')} around {_many(self.weakest_cut_side.size, 'node')})"
        )

    def _repr_html_(self) -> str:
        from angsync.problem.cards import card

        head, *lines = str(self).split("\n")
        return card("Connectivity", [("graph", head), *((line[:16].strip(), line[16:]) for line in lines)])

    def __str__(self) -> str:
        m, side = self.measurements, self.weakest_cut_side
        lines = [f"{_many(m.n, 'node')}, {_many(len(m), 'measurement')}, {_many(self.components, 'component')}"]
        lines.append(f"  bridges       {self._edges(self.bridges) or 'none: every edge is checked by others'}")
        lost = sum(group.size for group in self.cut_groups)
        if lost:
            largest = max(self.cut_groups, key=len)
            kinds = f"{_many(lost, 'edge')} in {_many(len(self.cut_groups), 'group')}"
            lines.append(f"  cuts of two   {kinds}; any two of a group, as of {self._edges(largest)}")
        else:
            lines.append("  cuts of two   none")
        if side.size:
            names = _listed([_name(m, node) for node in side[:_NAMED]], side.size)
            lines.append(f"  weakest cut   {self._edges(self.weakest_cut_edges)}")
            around = f"around {_many(side.size, 'node')}: {names}"
            lines.append(f"                total weight {self.weakest_cut_weight:.4g}, {around}")
            bound = f"ratio {self.weakest_cut_ratio:.4g}, and no cut is below about {self.fiedler_value:.4g}"
            lines.append(f"                best found ({self.weakest_cut_found}); {bound}")
        return "\n".join(lines)

    def _edges(self, edges: NDArray[np.int64]) -> str:
        m = self.measurements
        names = [f"{_name(m, m.i[edge])} - {_name(m, m.j[edge])}" for edge in edges[:_NAMED]]
        return f"{_many(edges.size, 'edge')}: {_listed(names, edges.size)}" if edges.size else ""


@names_keywords
def connectivity_of(measurements: Measurements, weight: NDArray[np.float64] | None = None) -> Connectivity:
    """Bridges, cuts of two edges and the weakest cut of the measured graph.

    Parameters
    ----------
    measurements
        The graph. Edges of weight 0 are not there. Parallel edges count each: two of them are no bridge.
    weight
        Weight of every edge, its strength unless given.

    Time and memory are of the order of the number of edges, apart from the Fiedler vector, which needs a sparse
    factorization or, where that would be too full, some hundred products.

    Examples
    --------
    >>> print(ang.connectivity_of(ang.Measurements([0, 1, 2, 3], [1, 2, 0, 2], np.zeros(4))))
    4 nodes, 4 measurements, 1 component
      bridges       1 edge: 3 - 2
      cuts of two   3 edges in 1 group; any two of a group, as of 3 edges: 0 - 1, 1 - 2, 2 - 0
      weakest cut   1 edge: 3 - 2
                    total weight 1, around 1 node: 3
                    best found (Fiedler vector); ratio 1.333, and no cut is below about 1
    """
    weight = measurements.strength if weight is None else np.asarray(weight, dtype=float)
    if weight.shape != measurements.i.shape:
        raise InputError(f"weight must have one entry for each of the {len(measurements)} edges, not {weight.shape}.")
    used = np.flatnonzero(weight > 0)
    i, j = measurements.i[used], measurements.j[used]
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, weight)
    components = piece_labels(pairs.n, pairs.low, pairs.high)
    label, forest = cycle_labels(measurements.n, i, j, pairs.pair_of[used], pairs, components)
    bridges = np.flatnonzero(~label.any(axis=1))
    cut, fiedler_value = weakest_cut(pairs, components, weight[used], bridges, forest)
    inside = np.zeros(measurements.n, dtype=bool)
    inside[cut.nodes] = True
    crossing = used[inside[i] != inside[j]]
    crossing_weight = float(np.sum(weight[crossing]))
    side = smaller_side(inside, components)
    size = np.bincount(components)[components[side[0]]] if side.size else 0
    ratio = crossing_weight * size / (side.size * (size - side.size)) if side.size else np.inf
    return Connectivity(
        bridges=used[bridges],
        cut_groups=tuple(used[group] for group in equal_labels(label)),
        weakest_cut_edges=crossing,
        weakest_cut_weight=crossing_weight,
        weakest_cut_side=side,
        weakest_cut_ratio=float(ratio),
        weakest_cut_found=cut.found,
        fiedler_value=min(fiedler_value, float(ratio)),  # rounding apart it is below any ratio
        components=int(components.max()) + 1,
        measurements=measurements,
    )


def _name(measurements: Measurements, node: int) -> str:
    return str(int(node)) if measurements.labels is None else repr(measurements.labels[int(node)])


def _listed(names: list[str], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
