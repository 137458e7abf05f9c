r"""The weakest cut of a graph that was found, and how much better another could be.

If only the edges between a side S and the rest of its component were uncertain, the two sides would be off by one
angle of variance :math:`\sigma^2 / w(S)`, w(S) the weight that crosses, and the summed variance against the mean would
be :math:`\sigma^2 / q(S)`,

.. math:: q(S) = w(S) \frac{n}{|S| (n - |S|)} \ge \lambda_2 ,

:math:`\lambda_2` the second eigenvalue of the Laplacian (Fiedler 1973). The smallest q that is found is reported: among
the sets of largest entries of the Fiedler vector (Hagen and Kahng 1992; of combinations with the next eigenvector, for
the two are equally good on a square), the single nodes and the bridges. To find the smallest of all is NP-hard, so this
is the best one found; :math:`\lambda_2` says how much better another could be.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.uncertainty.cycle_labels import Forest
from angsync.uncertainty.resistance import Pairs, pseudo_inverse

_DIRECTLY_UP_TO_NODES = 64  # nodes of a graph whose eigenvectors are computed directly
_FIEDLER_STEPS = 60  # steps towards the Fiedler vector where the Laplacian cannot be factorized
_COMBINATIONS = 8  # combinations of two eigenvectors that are tried


class Cut(NamedTuple):
    """One side of a cut."""

    ratio: float
    """q of the text of this module."""
    nodes: NDArray[np.int64]
    found: str
    """How it was found: ``"Fiedler vector"``, ``"node"`` or ``"bridge"``; ``"none"`` where there is no edge."""


_NO_CUT = Cut(np.inf, np.empty(0, dtype=np.int64), "none")  # of a graph without edges


def weakest_cut(
    pairs: Pairs, components: NDArray[np.int64], weight: NDArray[np.float64], bridges: NDArray[np.int64], forest: Forest
) -> tuple[Cut, float]:
    """The cut of the smallest ratio q that was found, and an estimate of the second eigenvalue: no q is below it.

    ``bridges`` are edges of the ``forest``, ``weight`` is that of all edges.
    """
    value, vectors = _fiedler(pairs, components)
    turns = np.pi * np.arange(_COMBINATIONS) / _COMBINATIONS
    candidates = (
        *(_fiedler_sweep(pairs, components, vectors @ [np.cos(turn), np.sin(turn)]) for turn in turns),
        _lightest_node(pairs, components),
        _lightest_bridge(weight, bridges, forest, components),
    )
    return min(candidates, key=lambda cut: cut.ratio), value


def smaller_side(inside: NDArray[np.bool_], components: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nodes of the smaller of the two sides, inside the component that is cut."""
    if not inside.any():
        return np.empty(0, dtype=np.int64)
    component = components[np.argmax(inside)]
    sides = [np.flatnonzero((components == component) & (inside == side)) for side in (True, False)]
    return min(sides, key=lambda side: side.size)


def _lightest_node(pairs: Pairs, components: NDArray[np.int64]) -> Cut:
    size = np.bincount(components)[components]
    ratio = np.full(pairs.n, np.inf)
    np.divide(pairs.degree * size, size - 1, out=ratio, where=size > 1)
    node = int(np.argmin(ratio))
    return Cut(float(ratio[node]), np.array([node]), "node") if np.isfinite(ratio[node]) else _NO_CUT


def _lightest_bridge(weight: NDArray, bridges: NDArray, forest: Forest, components: NDArray[np.int64]) -> Cut:
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
    return Cut(float(ratio[best]), np.flatnonzero(chosen), "bridge")


def _fiedler_sweep(pairs: Pairs, components: NDArray[np.int64], vector: NDArray[np.float64]) -> Cut:
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
    return Cut(value, order[: k + 1], "Fiedler vector")


def _fiedler(pairs: Pairs, components: NDArray[np.int64]) -> tuple[float, NDArray[np.float64]]:
    """Smallest non-zero eigenvalue of the Laplacian, over all components; its vector and the next one."""
    n = pairs.n
    if not pairs.low.size:
        return np.inf, np.zeros((n, 2))
    apply = pseudo_inverse(pairs, components)
    if apply is not None and n <= _DIRECTLY_UP_TO_NODES:
        values, vectors = np.linalg.eigh(np.stack([apply(unit) for unit in np.eye(n)]))
        return float(1 / values[-1]), vectors[:, :-3:-1]
    start = np.random.default_rng(2).standard_normal((n, 4))
    if apply is not None:
        inverse = scipy.sparse.linalg.LinearOperator((n, n), matvec=apply, dtype=float)
        values, vectors = scipy.sparse.linalg.eigsh(inverse, k=2, which="LA", v0=apply(start[:, 0]), tol=1e-6)
        return float(1 / values[-1]), vectors[:, ::-1]
    # too large to factorize: well connected, so that products with the Laplacian get there
    degree = pairs.degree
    laplacian = scipy.sparse.diags_array(degree, format="csr") - pairs.adjacency()
    scale = np.divide(1, degree, out=np.zeros(n), where=degree > 0)
    size = np.bincount(components)

    def centered(block: NDArray[np.float64]) -> NDArray[np.float64]:
        return block - np.stack([(np.bincount(components, x) / size)[components] for x in block.T], axis=1)

    # the null space has one dimension a component: the preconditioner keeps away from all of it
    precondition = scipy.sparse.linalg.LinearOperator(
        (n, n), matvec=lambda x: centered(scale[:, None] * x.reshape(n, -1)), dtype=float,
        matmat=lambda x: centered(scale[:, None] * x),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # stopping early is fine: any vector gives a cut
        values, vectors = scipy.sparse.linalg.lobpcg(
            laplacian,
            centered(start),
            M=precondition,
            largest=False,
            maxiter=_FIEDLER_STEPS,
            tol=1e-4 * float(degree.max()),
        )
    return float(values[0]), vectors[:, :2]
