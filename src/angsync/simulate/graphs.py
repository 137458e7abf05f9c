"""Which pairs of nodes are measured: all, random ones, neighbors on a grid, a ring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def complete_pairs(n: int) -> Pairs:
    """All pairs i < j, row by row."""
    return pairs_from_codes(np.arange(n * (n - 1) // 2, dtype=np.int64), n)


def pairs_from_codes(code: NDArray[np.int64], n: int) -> Pairs:
    """The pairs i < j with these places in the list of all pairs, row by row.

    Counted from the end, the pair (n-1-a, n-1-b) with a > b has the place a (a - 1)/2 + b, so a is the
    integer part of (1 + sqrt(1 + 8 place))/2. The square root is rounded: one step up or down mends that.
    """
    place = n * (n - 1) // 2 - 1 - code
    a = ((1 + np.sqrt(1 + 8 * place.astype(float))) / 2).astype(np.int64)
    a -= a * (a - 1) // 2 > place
    a += a * (a + 1) // 2 <= place
    b = place - a * (a - 1) // 2
    return n - 1 - a, n - 1 - b


def random_pairs(n: int, p: float, rng: np.random.Generator) -> Pairs:
    """Every pair with probability p, independently, in O(number of edges) memory (Gilbert's G(n, p)).

    The number of edges is binomial and, given it, all sets of that many pairs are equally likely: the first
    distinct ones of a sequence of uniform draws are such a set.
    """
    pairs = n * (n - 1) // 2
    wanted = int(rng.binomial(pairs, p)) if pairs else 0
    if wanted == pairs:
        return complete_pairs(n)
    if wanted > pairs // 4:  # a list of all pairs is no larger than the answer
        return pairs_from_codes(np.sort(rng.permutation(pairs)[:wanted]), n)
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < wanted:
        more = rng.integers(pairs, size=int(1.2 * (wanted - drawn.size)) + 16)
        drawn = np.concatenate([drawn, more])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return pairs_from_codes(np.sort(drawn[:wanted]), n)


def grid_pairs(rows: int, columns: int, periodic: bool) -> Pairs:
    """Right and lower neighbors of node ``row * columns + column``; periodic sides where longer than 2."""
    node = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    joined = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    if periodic and columns > 2:
        joined.append((node[:, -1], node[:, 0]))
    if periodic and rows > 2:
        joined.append((node[-1], node[0]))
    return np.concatenate([a.ravel() for a, _ in joined]), np.concatenate([b.ravel() for _, b in joined])


def ring_pairs(n: int) -> Pairs:
    """The edges k -> k+1, the last one back to 0."""
    i = np.arange(n, dtype=np.int64)
    return i, (i + 1) % n
