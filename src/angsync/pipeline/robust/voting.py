r"""Node by node voting: every neighbor names a phase, and the node takes the mode of what they name.

Neighbor j of node i votes for :math:`g_{ij} z_j`. Given the neighbors, the best phase of a node under the truncated
quadratic loss of width h is the one with the largest :math:`\sum_k w_k \max(0, \cos r_k - \cos h)`, a mode of the votes
with an Epanechnikov kernel. Uniform votes spread over the circle while good ones gather, so the mode stays right where
most votes are wrong and the mean (which is what least squares takes) is lost. h shrinks as the
phases improve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import Edges
from angsync.solvers.stopping import Clock

NARROWEST = 1e-2  # radians; sums over windows lose half of their digits there


@dataclass(frozen=True, eq=False)
class Ballot:
    """The votes of a graph, sorted by node once."""

    edges: Edges
    voter: NDArray[np.int64]
    receiver: NDArray[np.int64]
    turn: NDArray[np.complex128]
    weight: NDArray[np.float64]
    begin: NDArray[np.int64]
    """First vote of every node that has any."""
    nodes: NDArray[np.int64]

    @classmethod
    def of(cls, edges: Edges) -> Ballot:
        receiver = np.concatenate([edges.i, edges.j])
        order = np.argsort(receiver, kind="stable")
        receiver = receiver[order]
        nodes, begin = np.unique(receiver, return_index=True)
        return cls(
            edges,
            np.concatenate([edges.j, edges.i])[order],
            receiver,
            np.concatenate([edges.turn, np.conj(edges.turn)])[order],
            np.concatenate([edges.strength, edges.strength])[order],
            begin,
            nodes,
        )

    def modes(self, z: NDArray, width: float) -> NDArray[np.complex128]:
        """The phase that each node's neighbors agree on best, within ``width``; isolated nodes keep theirs.

        Compared are the windows of length 2 h that begin at a vote, each by its votes' mean direction. Their sums are
        differences of two cumulative sums, so the cost is that of sorting the votes. (A window may reach further than h
        from that direction, and what does counts against it, so this is nearly but not always the best phase.)
        """
        cosine = np.cos(width)
        named = self.turn * z[self.voter]
        angle = np.angle(named)
        key = angle + 16.0 * self.receiver  # nodes apart from each other by more than two turns
        order = np.argsort(key)
        size = order.size
        # each node's votes twice, the second time one turn further, so that windows can cross the cut at pi
        degree = np.diff(np.append(self.begin, size))
        left = np.arange(size) + np.repeat(self.begin, degree)
        again = left + np.repeat(degree, degree)
        doubled, source = np.empty(2 * size), np.empty(2 * size, dtype=np.int64)
        doubled[left], doubled[again] = key[order], key[order] + 2 * np.pi
        source[left] = source[again] = order
        sums = np.concatenate([[0], np.cumsum((self.weight * named)[source])])
        masses = np.concatenate([[0], np.cumsum(self.weight[source])])
        right = np.searchsorted(doubled, doubled[left] + 2 * width, side="right")
        window = sums[right] - sums[left]
        score = np.abs(window) - cosine * (masses[right] - masses[left])
        best = np.maximum.reduceat(score, self.begin)
        # the first window that attains the best, node by node
        attained = np.flatnonzero(score >= np.repeat(best, degree))
        chosen = attained[np.unique(self.receiver[attained], return_index=True)[1]]
        modulus = np.abs(window[chosen])
        voted = z.astype(np.complex128)
        voted[self.nodes] = np.where(modulus > 0, window[chosen] / np.where(modulus > 0, modulus, 1), voted[self.nodes])
        return voted


def vote(
    ballot: Ballot, z: NDArray, widths: NDArray[np.float64], rng: np.random.Generator, clock: Clock
) -> NDArray[np.complex128]:
    """One sweep for every width, while there is time. Each moves a random half of the nodes: moved all at once,
    neighbors can swap their errors for ever (two nodes and one edge do)."""
    z = z.astype(np.complex128)
    for width in widths:
        if clock.expired:
            break
        moved = rng.random(z.size) < 0.5
        for half in (moved, ~moved):
            z = np.where(half, ballot.modes(z, max(float(width), NARROWEST)), z)
    return z
