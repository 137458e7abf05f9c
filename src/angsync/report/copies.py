"""Measurements that are given more than once: copies check nothing, and say nothing new."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.problem.measurements import Measurements

_SAME = 1e-8  # radians: what writing an angle out and wrapping it leaves


def copies_of(m: Measurements, active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many times a measurement is given, at its first place; 0 at the others.

    Only where every pair that stands several times has the same angle and weight each time, be it from the other end:
    a table with both triangles of a matrix, or one joined to itself. Other repetitions are measurements of their own.
    """
    copies = np.ones(len(m), dtype=np.int64)
    if m.modulus is not None:
        return copies
    pair = np.minimum(m.i, m.j).astype(np.int64) * m.n + np.maximum(m.i, m.j)
    used = np.flatnonzero(active)
    first, group, counts = np.unique(pair[used], return_index=True, return_inverse=True, return_counts=True)[1:]
    if counts.max() == 1:
        return copies
    turned = np.where(m.i < m.j, m.angle, -m.angle)[used]
    model = first[group]
    same = np.abs(np.exp(1j * turned) - np.exp(1j * turned[model])) < _SAME
    if np.all(same & (m.weight[used] == m.weight[used][model])):
        copies[used] = 0
        copies[used[first]] = counts
    return copies
