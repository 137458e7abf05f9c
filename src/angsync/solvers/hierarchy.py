r"""Coarser and coarser copies of a graph: pairs of nodes that belong together become one node.

A node of the coarse problem stands for an aggregate whose phases keep their relation: :math:`z = P w`, where column a
of P holds unit phases on the aggregate a and zeros elsewhere. The coarse problem is again one of phases,
:math:`f(Pw) = w^H (P^H C P) w`, because :math:`P w` has unit modulus where w has.

**Which nodes, and with which phase between them.** In the simplest form the strongest edges are contracted (locally
heaviest matching) and the measured angle is taken at its word. That is enough at low noise. At high noise a single
edge is a poor guide, so a few random vectors are relaxed first, :math:`X \leftarrow \tfrac13 X + \tfrac23 D^{-1} C X`:
after some steps :math:`X_j` is an average over all short paths into j, two nodes belong together when their rows are
parallel, :math:`|X_j X_l^H| / \|X_j\|\|X_l\|`, and the phase between them is that of :math:`X_j X_l^H`. (The idea is
that of adaptive algebraic multigrid: Brandt, Brannick, Kahl and Livshits, *Bootstrap AMG*, SIAM J. Sci. Comput. 33
(2011).)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels import time_limit
from angsync.problem.operators.sparse import EdgeList

_AT_ONCE = 50_000  # rows of relaxed vectors, or edges between them, that are worked on between two looks at the clock
_ROUNDS = 8  # of matching; four leave one node in ten alone
_SINGLE = np.complex64  # of the relaxed vectors: they only choose the pairs


@dataclass(frozen=True)
class Aggregation:
    """Which coarse node each fine node belongs to, and its phase there."""

    count: int
    label: NDArray[np.int32]
    phase: NDArray | None
    """Phase of each fine node relative to its coarse node; None for real weights, where all phases are 1."""

    def prolong(self, w: NDArray) -> NDArray:
        """P w: coarse phases on the fine nodes."""
        spread = w[self.label]
        return spread if self.phase is None else self.phase * spread

    def followed_by(self, coarser: Aggregation) -> Aggregation:
        """This aggregation and then ``coarser``, as one aggregation."""
        return Aggregation(coarser.count, coarser.label[self.label], self._phase_after(coarser))

    def _phase_after(self, coarser: Aggregation) -> NDArray | None:
        if self.phase is None or coarser.phase is None:
            return None
        return self.phase * coarser.phase[self.label]

    def unsigned(self) -> Aggregation:
        """The same aggregates for real weights."""
        return Aggregation(self.count, self.label, None)


def matching(n: int, i: NDArray, j: NDArray, strength: NDArray) -> NDArray[np.int32]:
    """Partner of every node, itself where it is left alone: repeatedly the edges that are the strongest at both ends.

    Ties are broken by a hash of the edge, so that equal strengths (a grid) do not leave long chains, and the answer
    depends on the graph alone.
    """
    # 2 % more or less: enough to break ties, too little to prefer a weak edge
    return kernels.match_edges(n, i, j, strength.astype(np.float64) * (1 + 0.02 * _hash(i, j)), _ROUNDS)


def _hash(i: NDArray, j: NDArray) -> NDArray[np.float64]:
    """A number in [0, 1) that looks random, from both ends of an edge (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        x = i.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + j.astype(np.uint64)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def pair_up(edges: EdgeList, vectors: NDArray | None = None) -> Aggregation:
    """Contract a matching of the edges: by their weight, or by the relaxed ``vectors`` where given."""
    time_limit.check()
    n, i, j = edges.n, edges.i, edges.j
    if vectors is None:
        together: NDArray = edges.value
        strength = np.abs(edges.value)
    else:
        together = _products_along(edges, vectors)
        size = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float32).tiny)
        strength = np.abs(together) / (size[i] * size[j])
    partner = matching(n, i, j, strength)
    nodes = np.arange(n, dtype=np.int32)
    lead = np.minimum(partner, nodes)
    phase = np.ones(n, dtype=np.complex128)
    # the pair (i, j), i < j, keeps z_j = conj(together) z_i
    pair = partner[i] == j
    phase[j[pair]] = _unit(np.conj(together[pair]))
    # A node that is left alone has only neighbors that are taken: it joins the strongest of them. So do all leaves
    # of a star, which pairs alone would contract one at a time.
    alone = partner == nodes
    near = np.flatnonzero(alone[i] ^ alone[j])
    i, j, together, strength = i[near], j[near], together[near], strength[near]
    turned = alone[j]
    own, other = np.where(turned, j, i), np.where(turned, i, j)
    link = np.where(turned, np.conj(together), together)
    best = np.zeros(n)
    np.maximum.at(best, own, strength)
    joins = (strength == best[own]) & (strength > 0)
    own, other, link = own[joins], other[joins], link[joins]
    lead[own] = np.minimum(partner[other], other)
    phase[own] = _unit(link) * phase[other]
    leads = lead == nodes
    label = (np.cumsum(leads, dtype=np.int32) - 1)[lead]
    return Aggregation(int(leads.sum()), label, phase)


def _products_along(edges: EdgeList, vectors: NDArray) -> NDArray:
    """For each edge the inner product of the rows of both ends; some edges at a time, to look at the clock between."""
    found = np.empty(edges.i.size, dtype=vectors.dtype)
    for begin in range(0, found.size, _AT_ONCE):
        time_limit.check()
        part = slice(begin, begin + _AT_ONCE)
        found[part] = np.einsum("ek,ek->e", vectors[edges.i[part]], vectors[edges.j[part]].conj())
    return found


def _unit(x: NDArray) -> NDArray:
    size = np.abs(x)
    return np.where(size > 0, x / np.where(size > 0, size, 1), 1)


def contract(edges: EdgeList, aggregation: Aggregation) -> EdgeList:
    """The edges of P^H C P between different aggregates; what is inside an aggregate only adds a constant to f."""
    time_limit.check()
    i, j, value = kernels.contract(
        edges.i, edges.j, edges.value, aggregation.count, aggregation.label, aggregation.phase
    )
    return EdgeList(aggregation.count, i, j, value)


def relaxed_vectors(edges: EdgeList, count: int, steps: int, rng: np.random.Generator) -> NDArray:
    """Random vectors after some steps of damped Jacobi on the connection Laplacian, in single precision."""
    matrix = edges.to_csr().astype(_SINGLE)
    degrees = np.bincount(edges.i, np.abs(edges.value), edges.n) + np.bincount(edges.j, np.abs(edges.value), edges.n)
    scale = (2 / 3 / np.where(degrees > 0, degrees, 1)).astype(np.float32)[:, None]
    x = np.empty((edges.n, count), dtype=_SINGLE)
    for begin in range(0, edges.n, _AT_ONCE):
        time_limit.check()
        rows = x[begin : begin + _AT_ONCE]
        rows[:] = np.exp(2j * np.pi * rng.random(rows.shape))
    for _ in range(steps):
        time_limit.check()
        # scale * (matrix @ x) + x / 3, in the memory that is there
        image = matrix @ x
        image *= scale
        x /= 3
        image += x
        x = image
    return x
