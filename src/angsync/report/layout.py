"""Where the nodes of a graph are drawn that has no coordinates: neighbors near each other, components side by side.

Classical scaling of the distances along the graph from pivots to all (Brandes and Pich, *Eigensolver methods
for progressive multidimensional scaling of large data*, 2007) and, for small components, stress majorization (Gansner,
Koren and North, *Graph drawing by stress majorization*, 2004). The same graph gives the same picture.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

_PIVOTS = 24  # nodes whose distances to all others are known; more change the picture little
_MOST_MAJORIZED = 600  # nodes of a component whose picture is refined: the square of it is worked with
_STEPS = 60  # of the refinement
_GAP = 0.25  # between components, in sides of them
_ASPECT = 1.7  # width of several components over the side of a square that would hold them
_APART = 0.01  # by how much of the picture nodes are moved that would lie on one point; less in large ones


def layout(n: int, i: NDArray[np.int64], j: NDArray[np.int64], components: NDArray[np.int64]) -> NDArray[np.float64]:
    """Positions (n, 2) of the nodes of a graph with these edges; ``components`` are numbered from the largest."""
    graph = scipy.sparse.csr_array((np.ones(i.size), (i, j)), shape=(n, n))
    graph = graph + graph.T
    sizes = np.bincount(components)
    place, left, bottom, height = np.zeros((n, 2)), 0.0, 0.0, 0.0
    sides = np.array([_side(int(size)) for size in sizes]) * (1 + _GAP)
    widest = max(_ASPECT * float(np.sqrt(np.sum(sides**2))), float(sides[0]))
    order = np.argsort(components, kind="stable")
    start = 0
    for size in sizes:
        nodes = order[start : start + size]
        start += size
        side = _side(int(size))
        if left and left + side > widest:  # a new row, below
            left, bottom, height = 0.0, bottom - height - _GAP * side, 0.0
        local = _normalized(_one_component(graph[nodes][:, nodes] if size < n else graph)) * side
        place[nodes] = local + np.array([left + side / 2, bottom - side / 2])
        left += side * (1 + _GAP)
        height = max(height, side)
    return place


def _side(size: int) -> float:
    return float(np.sqrt(size)) if size > 1 else 0.6


def _normalized(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turned so that its longer side lies level, its middle at 0, its longer side 1."""
    place = place - place.mean(axis=0)
    if place.shape[0] > 2:
        place = place @ np.linalg.svd(place, full_matrices=False)[2].T
    low, high = place.min(axis=0), place.max(axis=0)
    return (place - (low + high) / 2) / max(float((high - low).max()), 1e-12)


def _one_component(graph: scipy.sparse.csr_array) -> NDArray[np.float64]:
    n = graph.shape[0]
    if n < 3:
        return np.array([[0.0, 0.0], [1.0, 0.0]])[:n]
    if n <= _MOST_MAJORIZED:
        distance = _finite(dijkstra(graph, unweighted=True))
        return _majorized(_scaled(distance), distance)
    # each pivot is the node furthest from those before it
    distance = np.empty((_PIVOTS, n))
    nearest, pivot = np.full(n, np.inf), 0
    for k in range(_PIVOTS):
        distance[k] = _finite(dijkstra(graph, unweighted=True, indices=pivot))
        nearest = np.minimum(nearest, distance[k])
        pivot = int(nearest.argmax())
    return _scaled(distance)


def _finite(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """What no edges join, as with anchors, lies a little further than what is furthest."""
    known = np.isfinite(distance)
    return distance if known.all() else np.where(known, distance, distance[known].max() + 2)


def _scaled(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first two coordinates of all nodes, by their distances (pivots, nodes)."""
    squares = distance**2
    centered = squares.mean(axis=0) + squares.mean(axis=1, keepdims=True) - squares - squares.mean()
    vectors, values, _ = np.linalg.svd(centered, full_matrices=False)
    place = centered.T @ vectors[:, :2]
    if values.size < 2 or values[1] < 1e-9 * values[0]:
        place[:, 1] = 0.0
    # nodes with equal distances fall on one point: a little apart, in a way that is always the same
    spread = float(np.abs(place).max()) or 1.0
    size = _APART * spread / max(1.0, np.sqrt(place.shape[0] / 100))
    return np.asarray(place + size * np.random.default_rng(0).standard_normal(place.shape))


def _majorized(place: NDArray[np.float64], distance: NDArray[np.float64]) -> NDArray[np.float64]:
    n = place.shape[0]
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    total = weight.sum(axis=1)
    place = place * (np.sum(weight * distance * _lengths(place)) / np.sum(weight * _lengths(place) ** 2))
    for _ in range(_STEPS):
        lengths = _lengths(place)
        np.fill_diagonal(lengths, 1.0)
        ratio = weight * distance / np.maximum(lengths, 1e-9)
        pull = place * ratio.sum(axis=1)[:, None] - ratio @ place + weight @ place
        place = pull / total[:, None]
        place -= place.mean(axis=0)
    return place if np.isfinite(place).all() else np.zeros((n, 2))


def _lengths(place: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1)))
