r"""Where a graph is weak: bridges, cuts of two edges, and the weakest cut that was found.

**Bridges and cuts of two edges.** Edges outside a spanning tree get random labels of 128 bits; a tree edge gets the
exclusive or of the labels of the edges that span it. Then the labels meeting at a node cancel, hence so do those of
any cut: a bridge has label 0, and the two edges of a cut have the same label (Pritchard and Thurimella, *Fast
computation of small cuts via cycle space sampling*, ACM Trans. Algorithms 7, 2011). No bridge and no cut is missed.
The converse fails for one edge or pair with probability 2^-128; bridges are checked by counting (taking b of them
away leaves b components more), so they are certain, and m edges hold a pair that is wrongly called a cut with
probability at most m^2 2^-129, below 1e-24 for ten million.

**The weakest cut.** If only the edges between a side S and the rest of its component were uncertain, the two
sides would be off by one angle of variance :math:`\sigma^2 / w(S)`, w(S) the weight that crosses, and the summed
variance against the mean would be :math:`\sigma^2 / q(S)`,

.. math:: q(S) = w(S) \frac{n}{|S| (n - |S|)} \ge \lambda_2 ,

:math:`\lambda_2` the second eigenvalue of the Laplacian (Fiedler 1973). The smallest q that is found is reported: among
the sets of largest entries of the Fiedler vector (Hagen and Kahng 1992; of combinations with the next eigenvector, for
the two are equally good on a square), the single nodes and the bridges. To find the smallest of all is NP-hard, so this
is the best one found; :math:`\lambda_2` says how much better another could be.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_count, piece_labels
from angsync.uncertainty.resistance import Pairs, collect_pairs, pseudo_inverse

_MOST_PAIRS = 10_000_000  # cut_pairs lists no more: 160 MB
_SMALL = 64  # components up to this size have their eigenvectors computed directly
_PRODUCTS = 60  # steps towards the Fiedler vector where the Laplacian cannot be factorised
_TURNS = 8  # combinations of two eigenvectors that are tried
_NAMED = 6  # names in a line of text


@dataclass(frozen=True, eq=False)
class Connectivity:
    """What holds the graph together. Edges are indices into the measurements, in the order of the input."""

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
    """q of the module text; no cut has one below ``fiedler_value``."""
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


def connectivity_of(measurements: Measurements, weight: NDArray[np.float64] | None = None) -> Connectivity:
    """Bridges, cuts of two edges and the weakest cut of the measured graph.

    Parameters
    ----------
    measurements
        The graph. Edges of weight 0 are not there. Parallel edges count each: two of them are no bridge.
    weight
        Weight of every edge, its strength unless given.

    Time and memory are of the order of the number of edges, apart from the Fiedler vector, which needs a sparse
    factorisation or, where that would be too full, some hundred products.
    """
    weight = measurements.strength if weight is None else np.asarray(weight, dtype=float)
    if weight.shape != measurements.i.shape:
        raise InputError(f"weight must have one entry for each of the {len(measurements)} edges, not {weight.shape}.")
    used = np.flatnonzero(weight > 0)
    i, j = measurements.i[used], measurements.j[used]
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, weight)
    components = piece_labels(pairs.n, pairs.low, pairs.high)
    label, forest = _cycle_labels(measurements.n, i, j, pairs.pair_of[used], pairs, components)
    bridges = np.flatnonzero(~label.any(axis=1))
    value, vectors = _fiedler(pairs, components)
    turns = np.pi * np.arange(_TURNS) / _TURNS
    cut = min(
        (
            *(_fiedler_sweep(pairs, components, vectors @ [np.cos(turn), np.sin(turn)]) for turn in turns),
            _lightest_node(pairs, components),
            _lightest_bridge(weight[used], bridges, forest, components),
        ),
        key=lambda candidate: candidate[0],
    )
    inside = np.zeros(measurements.n, dtype=bool)
    inside[cut[1]] = True
    crossing = used[inside[i] != inside[j]]
    crossing_weight = float(np.sum(weight[crossing]))
    smaller = _smaller_side(inside, components)
    size = np.bincount(components)[components[smaller[0]]] if smaller.size else 0
    ratio = crossing_weight * size / (smaller.size * (size - smaller.size)) if smaller.size else np.inf
    return Connectivity(
        bridges=used[bridges],
        cut_groups=tuple(used[group] for group in _equal_labels(label)),
        weakest_cut_edges=crossing,
        weakest_cut_weight=crossing_weight,
        weakest_cut_side=smaller,
        weakest_cut_ratio=float(ratio),
        weakest_cut_found=cut[2],
        fiedler_value=min(value, float(ratio)),  # rounding apart it is below any ratio
        components=int(components.max()) + 1,
        measurements=measurements,
    )


def bridges_of(measurements: Measurements, weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """The edges that disconnect the graph when they are lost; edges of weight 0 are not there."""
    used = np.flatnonzero(weight > 0)
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, weight)
    components = piece_labels(pairs.n, pairs.low, pairs.high)
    i, j = measurements.i[used], measurements.j[used]
    label, _ = _cycle_labels(measurements.n, i, j, pairs.pair_of[used], pairs, components)
    return used[~label.any(axis=1)]


@dataclass(frozen=True, eq=False)
class _Forest:
    """A spanning forest: ``below[edge]`` is the lower node of a tree edge, -1 for others."""

    order: NDArray[np.int64]
    parent: NDArray[np.int64]
    size: NDArray[np.int64]
    below: NDArray[np.int64]


def _cycle_labels(
    n: int, i: NDArray, j: NDArray, pair: NDArray, pairs: Pairs, components: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], _Forest]:
    """A label for every edge (see the module text), in two halves; its zeros are checked."""
    count = int(components.max()) + 1
    order, parent = _spanning_forest(pairs, components)
    # one edge of each pair on the forest is the tree edge; its parallels are not
    inner = np.flatnonzero(parent < n)
    key = np.minimum(inner, parent[inner]) * n + np.maximum(inner, parent[inner])
    tree_pair = np.searchsorted(pairs.low * n + pairs.high, key)
    first_edge = np.full(pairs.low.size, -1, dtype=np.int64)
    first_edge[pair[::-1]] = np.arange(i.size)[::-1]
    below = np.full(i.size, -1, dtype=np.int64)
    below[first_edge[tree_pair]] = inner
    tree = below >= 0
    rng = np.random.default_rng(1)
    while True:
        label = rng.integers(1, 2**64, (i.size, 2), dtype=np.uint64, endpoint=False)
        label[tree] = 0
        for half in label.T:
            at_node = np.zeros(n + 1, dtype=np.uint64)
            np.bitwise_xor.at(at_node, i, half)
            np.bitwise_xor.at(at_node, j, half)
            upwards, sizes = _accumulate(order, parent, at_node)
            half[tree] = upwards[below[tree]]
        crossed = label.any(axis=1)
        if piece_count(n, i[crossed], j[crossed]) == count + np.count_nonzero(~crossed):
            return label, _Forest(order, parent, sizes, below)


def _spanning_forest(pairs: Pairs, components: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Breadth-first order and parents; roots hang from the node n, which is not part of the graph."""
    n = pairs.n
    roots = np.unique(components, return_index=True)[1]
    rows = np.concatenate([pairs.low, pairs.high, np.full(roots.size, n)])
    columns = np.concatenate([pairs.high, pairs.low, roots])
    graph = scipy.sparse.coo_array((np.ones(rows.size), (rows, columns)), shape=(n + 1, n + 1)).tocsr()
    order, parent = scipy.sparse.csgraph.breadth_first_order(graph, n, directed=True)
    return order[1:].astype(np.int64), parent[:n].astype(np.int64)


def _accumulate(
    order: NDArray[np.int64], parent: NDArray[np.int64], at_node: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Exclusive or over the subtree of every node, and its size; plain lists, because a tree may be a path."""
    values, parents = at_node.tolist(), parent.tolist()
    sizes = [1] * len(values)
    for node in order[::-1].tolist():
        above = parents[node]
        values[above] ^= values[node]
        sizes[above] += sizes[node]
    return np.array(values, dtype=np.uint64), np.array(sizes, dtype=np.int64)


def _equal_labels(label: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
    """Groups of two or more edges with the same label other than 0, in the order of their first edges."""
    order = np.lexsort((label[:, 1], label[:, 0]))
    changes = np.any(label[order][1:] != label[order][:-1], axis=1)
    groups = np.split(order, np.flatnonzero(changes) + 1)
    return sorted((np.sort(g) for g in groups if g.size > 1 and label[g[0]].any()), key=lambda g: int(g[0]))


_Cut = tuple[float, NDArray[np.int64], str]
_NO_CUT: _Cut = (np.inf, np.empty(0, dtype=np.int64), "none")


def _lightest_node(pairs: Pairs, components: NDArray[np.int64]) -> _Cut:
    size = np.bincount(components)[components]
    ratio = np.full(pairs.n, np.inf)
    np.divide(pairs.degree * size, size - 1, out=ratio, where=size > 1)
    node = int(np.argmin(ratio))
    return (float(ratio[node]), np.array([node]), "node") if np.isfinite(ratio[node]) else _NO_CUT


def _lightest_bridge(weight: NDArray, bridges: NDArray, forest: _Forest, components: NDArray[np.int64]) -> _Cut:
    if not bridges.size:
        return _NO_CUT
    below = forest.below[bridges]
    total = np.bincount(components)[components[below]]
    inside = forest.size[below]
    ratio = weight[bridges] * total / (inside * (total - inside))
    best = int(np.argmin(ratio))
    # all that hangs from the lower end: a node is below when its parent is
    chosen = [False] * (forest.parent.size + 1)
    chosen[int(below[best])] = True
    parents = forest.parent.tolist()
    for node in forest.order.tolist():
        chosen[node] = chosen[node] or chosen[parents[node]]
    return float(ratio[best]), np.flatnonzero(chosen), "bridge"


def _fiedler_sweep(pairs: Pairs, components: NDArray[np.int64], vector: NDArray[np.float64]) -> _Cut:
    """The best set of largest entries of the vector, inside the component where it is largest."""
    norms = np.bincount(components, vector**2)
    nodes = np.flatnonzero(components == np.argmax(norms))
    n = nodes.size
    if n < 2 or not norms.any():
        return _NO_CUT
    rank = np.full(pairs.n, -1)
    order = nodes[np.argsort(vector[nodes], kind="stable")]
    rank[order] = np.arange(n)
    inner = rank[pairs.low] >= 0
    a, b, w = rank[pairs.low[inner]], rank[pairs.high[inner]], pairs.conductance[inner]
    first, last = np.minimum(a, b), np.maximum(a, b)
    crossing = np.cumsum(np.bincount(first, w, n) - np.bincount(last, w, n))[:-1]
    size = np.arange(1, n)
    ratio = np.maximum(crossing, 0) * n / (size * (n - size))
    # differences of sums round: weigh the best few again, by adding up what crosses
    exact = []
    for k in np.argsort(ratio, kind="stable")[:16]:
        total = np.sum(w[(first <= k) & (last > k)])
        exact.append((float(total * n / (size[k] * (n - size[k]))), int(k)))
    value, k = min(exact)
    return value, order[: k + 1], "Fiedler vector"


def _fiedler(pairs: Pairs, components: NDArray[np.int64]) -> tuple[float, NDArray[np.float64]]:
    """Smallest non-zero eigenvalue of the Laplacian, over all components; its vector and the next one."""
    n = pairs.n
    if not pairs.low.size:
        return np.inf, np.zeros((n, 2))
    apply = pseudo_inverse(pairs, components)
    if apply is not None and n <= _SMALL:
        values, vectors = np.linalg.eigh(np.stack([apply(unit) for unit in np.eye(n)]))
        return float(1 / values[-1]), vectors[:, :-3:-1]
    start = np.random.default_rng(2).standard_normal((n, 4))
    if apply is not None:
        inverse = scipy.sparse.linalg.LinearOperator((n, n), matvec=apply, dtype=float)
        values, vectors = scipy.sparse.linalg.eigsh(inverse, k=2, which="LA", v0=apply(start[:, 0]), tol=1e-6)
        return float(1 / values[-1]), vectors[:, ::-1]
    # too large to factorise: well connected, so that products with the Laplacian get there
    degree = pairs.degree
    laplacian = scipy.sparse.diags_array(degree, format="csr") - pairs.adjacency()
    scale = np.divide(1, degree, out=np.zeros(n), where=degree > 0)
    size = np.bincount(components)

    def centred(block: NDArray[np.float64]) -> NDArray[np.float64]:
        return block - np.stack([(np.bincount(components, x) / size)[components] for x in block.T], axis=1)

    # the null space has one dimension a component: the preconditioner keeps away from all of it
    precondition = scipy.sparse.linalg.LinearOperator(
        (n, n), matvec=lambda x: centred(scale[:, None] * x.reshape(n, -1)), dtype=float,
        matmat=lambda x: centred(scale[:, None] * x),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # stopping early is fine: any vector gives a cut
        values, vectors = scipy.sparse.linalg.lobpcg(
            laplacian, centred(start), M=precondition, largest=False, maxiter=_PRODUCTS, tol=1e-4 * float(degree.max())
        )
    return float(values[0]), vectors[:, :2]


def _smaller_side(inside: NDArray[np.bool_], components: NDArray[np.int64]) -> NDArray[np.int64]:
    if not inside.any():
        return np.empty(0, dtype=np.int64)
    component = components[np.argmax(inside)]
    sides = [np.flatnonzero((components == component) & (inside == side)) for side in (True, False)]
    return min(sides, key=lambda side: side.size)


def _name(measurements: Measurements, node: int) -> str:
    return str(int(node)) if measurements.labels is None else repr(measurements.labels[int(node)])


def _listed(names: list[str], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
