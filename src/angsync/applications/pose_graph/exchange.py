r"""Steps that wrong loops could take the place of: bridges of the believed graph that distrusted loops lead across.

Where a single believed edge t joins two parts of the graph, and a distrusted loop k joins them as well, either can be
the wrong one: without t the second part can be moved until k fits, and nothing else changes. Sets with k instead of t
have the same evidence, so they are rivals unless t is known to be good. If loops from *other* places fit as well in the
world that k makes, the exchange explains more: then t is wrong, known or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.applications.pose_graph.clusters import REACH_POSES, disagreement
from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.model import PoseModel
from angsync.applications.pose_graph.search import Belief, Search
from angsync.circle import wrap

_MOST_LOOPS = 2000  # distrusted ones that are compared with each other, the first of them
_MOST_TRIED = 3  # exchanges of each kind
_TIMES_UNBENT = 2  # as long as it helps
_NEAR_TURN = 0.5  # radians, and
_NEAR_SHARE = 0.1  # of the size of the map: loops that say the same of a displacement are at most so far apart


@dataclass(frozen=True, eq=False)
class Exchange:
    """What is believed where a loop takes the place of an edge."""

    edge: int
    belief: Belief


class _Cuts:
    """Bridges of a believed graph that loops lead across, and what lies beyond each, seen from the pose that is held.

    Bridges that the same loops lead across cannot be told from each other: one stands for all. They are known by the
    sum (exclusive or) of random labels of the loops, which is that of the labels of all poses beyond.
    """

    def __init__(
        self, model: PoseModel, believed: NDArray[np.bool_], loops: NDArray[np.int64], trusted: NDArray[np.bool_]
    ) -> None:
        graph = model.graph
        bridges = model.bridges(believed)
        place, last, order = _depth_first(graph.n, graph.i[believed], graph.j[believed], graph.references)
        label = np.random.default_rng(1).integers(1, 2**63, loops.size)
        at, size = np.zeros(graph.n, dtype=np.int64), np.ones(graph.n, dtype=np.int64)
        for ends in (graph.i, graph.j):
            np.bitwise_xor.at(at, ends[loops], label)
        labels, sizes = at.tolist(), size.tolist()
        for node in reversed(order):
            if last[node] >= 0:
                labels[last[node]] ^= labels[node]
                sizes[last[node]] += sizes[node]
        lower = np.where(np.asarray(last)[graph.i[bridges]] == graph.j[bridges], graph.i[bridges], graph.j[bridges])
        kind = np.array(labels)[lower] * 2 + trusted[bridges]
        kept = np.sort(np.unique(kind, return_index=True)[1])
        kept = kept[np.array(labels)[lower[kept]] != 0]
        self.edges, self._place = bridges[kept], place
        self._begin, self._size = place[lower[kept]], np.array(sizes)[lower[kept]]

    def beyond(self, row: int | slice, poses: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.bool_]:
        """Which of the poses lie beyond a bridge, or (bridges, poses) beyond all."""
        begin, size = self._begin[row, ...], self._size[row, ...]
        after = self._place[poses] - np.expand_dims(begin, -1)
        return (after >= 0) & (after < np.expand_dims(size, -1))

    @property
    def share(self) -> NDArray[np.float64]:
        """Of the poses that lie beyond."""
        return self._size / self._place.size


def _depth_first(
    n: int, i: NDArray[np.int64], j: NDArray[np.int64], roots: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[int], list[int]]:
    """When each node is reached, from where (-1 for roots), and the nodes in that order."""
    joined = scipy.sparse.csr_array((np.ones(i.size), (i, j)), shape=(n, n))
    place, last = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    reached: list[int] = []
    for root in roots.tolist():
        order, before = scipy.sparse.csgraph.depth_first_order(joined, root, directed=False)
        place[order] = len(reached) + np.arange(order.size)
        last[order[1:]] = before[order[1:]]
        reached += order.tolist()
    return place, last.tolist(), reached


def exchanges(search: Search, belief: Belief) -> list[Exchange]:
    """The most telling exchanges: of trusted edges where several places speak for it, of others where it turns most."""
    model = search.model
    loops = np.flatnonzero(~belief.believed)[:_MOST_LOOPS]
    if loops.size == 0:
        return []
    cuts = _Cuts(model, belief.believed, loops, search.backbone.trusted)
    every = slice(None)
    crossed = cuts.beyond(every, model.i[loops]) != cuts.beyond(every, model.j[loops])
    trusted = search.backbone.trusted[cuts.edges]
    turn = np.abs(model.plain_residuals(belief.fit.poses)[loops, 2])
    weight = (cuts.share * (1 - cuts.share))[:, None] * turn * crossed
    chosen = _largest(weight * ~trusted[:, None])
    if trusted.any():
        chosen += _largest(_votes(search, belief, loops, crossed) * trusted[:, None])
    found = []
    for row, at in chosen:
        if search.clock.expired:
            break
        edge, loop = int(cuts.edges[row]), int(loops[at])
        other = belief.believed.copy()
        other[edge], other[loop] = False, True
        moved = _displaced(model, belief.fit.poses, loop, cuts.beyond(row))
        found.append(Exchange(edge, search.ascend(other, moved, belief.scale, search.groups)))
    return found


def unbent(search: Search) -> None:
    """Go on from worlds in which loops left out agree, without one trusted edge, with that edge taken in again.

    A wrong loop that was taken in first may have bent a long chain so far that the good ones do not fit any more: they
    agree with each other on how to bend it back.
    """
    for _ in range(_TIMES_UNBENT):
        best = search.best
        for one in exchanges(search, best):
            if search.backbone.trusted[one.edge] and one.belief.evidence > best.evidence:
                back = one.belief.believed.copy()
                back[one.edge] = True
                search.keep(search.ascend(back, one.belief.fit.poses, best.scale, search.groups))
        if search.best is best or search.clock.expired:
            return


def _largest(weight: NDArray) -> list[tuple[int, int]]:
    """Where the few largest entries are, if they are positive."""
    best = np.argsort(-weight, axis=None, kind="stable")[:_MOST_TRIED]
    at = [(int(row), int(column)) for row, column in zip(*np.unravel_index(best, weight.shape), strict=True)]
    return [place for place in at if weight[place] > 0]


def _votes(search: Search, belief: Belief, loops: NDArray[np.int64], crossed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For every bridge and loop across it: how many loops across it, from other places, agree with that loop."""
    pivot, other = _agreeing(search, belief, loops)
    votes = np.zeros(crossed.shape)
    for row, across in enumerate(crossed):
        votes[row] = np.bincount(pivot, across[pivot] & across[other], minlength=loops.size)
    return votes


def _agreeing(search: Search, belief: Belief, loops: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of distrusted loops from different places that one displacement explains: places in ``loops``."""
    model, poses = search.model, belief.fit.poses
    i, j, motion = model.i[loops], model.j[loops], model.graph.motion[loops]
    position, heading = poses[:, 0] + 1j * poses[:, 1], poses[:, 2]
    ahead = i < j
    low, high = np.minimum(i, j), np.maximum(i, j)
    # each loop from its lower to its higher pose: where it puts the higher one
    turn = wrap(np.where(ahead, heading[i] + motion[:, 2] - heading[j], heading[j] - motion[:, 2] - heading[i]))
    step = np.exp(1j * heading[i]) * (motion[:, 0] + 1j * motion[:, 1])
    back = -np.exp(1j * (heading[j] - motion[:, 2])) * (motion[:, 0] + 1j * motion[:, 1])
    target = position[low] + np.where(ahead, step, back)
    size = np.ptp(poses[:, :2], axis=0).max()
    pairs = []
    for p in range(loops.size):
        apart = np.maximum(np.abs(low - low[p]), np.abs(high - high[p])) > REACH_POSES
        meets = np.maximum(low, low[p]) < np.minimum(high, high[p])
        between = np.abs(turn - turn[p])
        like = np.minimum(between, 2 * np.pi - between) < _NEAR_TURN
        k = np.flatnonzero(apart & meets & like)
        seen = target[p] + np.exp(1j * turn[p]) * (position[high[k]] - position[high[p]])
        k = k[np.abs(seen - target[k]) < _NEAR_SHARE * size]
        pairs.append(np.stack([np.full(k.size, p), k]))
    pivot, other = np.concatenate(pairs, axis=1)
    if pivot.size == 0:
        return pivot, other
    half_log, squares = disagreement(model, loops[pivot], loops[other], belief.fit)
    worth = search.peak[loops[other]] - D * np.log(belief.scale) - half_log - squares / (2 * belief.scale**2)
    return pivot[worth > 0], other[worth > 0]


def _displaced(
    model: PoseModel, poses: NDArray[np.float64], loop: int, beyond: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The poses with the part beyond a cut moved until the loop fits."""
    i, j = int(model.i[loop]), int(model.j[loop])
    dx, dy, turn = model.graph.motion[loop].tolist()
    position, heading = poses[:, 0] + 1j * poses[:, 1], poses[:, 2]
    if beyond[j]:
        moved, angle = j, heading[i] + turn
        target = position[i] + np.exp(1j * heading[i]) * complex(dx, dy)
    else:
        moved, angle = i, heading[j] - turn
        target = position[j] - np.exp(1j * angle) * complex(dx, dy)
    spin = angle - heading[moved]
    new = target + np.exp(1j * spin) * (position[beyond] - position[moved])
    result = poses.copy()
    result[beyond] = np.column_stack([new.real, new.imag, heading[beyond] + spin])
    return result
