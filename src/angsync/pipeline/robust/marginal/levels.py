r"""Angles on few levels (signs, quarter turns, a coarse encoder) agree by chance more often than the model has it.

The evidence takes wrong edges for uniform on the circle. Where angles are multiples of a turn over k, so are the sums
around all cycles, and a cycle of wrong ones closes with probability 1/k, however small the noise is. It shows in the
edges that are *not* believed: uniform ones are off by different amounts, those on levels by the same ones. Of R such
edges :math:`R(R-1)/2` pairs can coincide, up to the noise; k levels, of which errors of either sign are k/2, let a
share 2/k of them do so. Where hardly any edge is distrusted, the angles themselves show levels: they lie in a few
heaps no wider than the noise.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import pdtrc

from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.rotations import Rotations, wrap
from angsync.pipeline.robust.marginal.score import Belief

_SAME = 3.0  # deviations of a difference within which two errors count as the same
_APART = 6.0  # deviations between two heaps of angles
_WIDTH = 2.0  # root mean square width of heaps, in deviations
_IN_A_HEAP = 3  # angles: fewer are no heap
_MOST = 0.75  # share of the angles that lie in heaps
_BY_CHANCE = 1e-4  # probability of so many coincidences of uniform errors, below which there are levels


def levels_of(model: Rotations, best: Belief) -> float:
    """How many levels the angles seem to have; infinite where there are none."""
    return min(_of_errors(model, best), _of_angles(model, best))


def _of_angles(model: Rotations, best: Belief) -> float:
    """Heaps of three angles at least, where several hold most of the angles and are no wider than the noise."""
    deviation = best.scale / float(np.median(model.root))
    angle = np.sort(model.angle)
    steps = np.diff(angle, append=angle[:1] + 2 * math.pi)
    ends = np.flatnonzero(steps > _APART * deviation)
    if not ends.size:
        return math.inf
    heap = np.searchsorted(ends, np.arange(model.edges)) % ends.size
    size = np.bincount(heap)
    large, inside = int(np.sum(size >= _IN_A_HEAP)), size[heap] >= _IN_A_HEAP
    if large < 2 or np.mean(inside) < _MOST:
        return math.inf
    middle = np.angle(np.bincount(heap, np.cos(angle)) + 1j * np.bincount(heap, np.sin(angle)))
    width = math.sqrt(float(np.mean(wrap(angle - middle[heap])[inside] ** 2)))
    return float(large) if width <= _WIDTH * deviation else math.inf


def _of_errors(model: Rotations, best: Belief) -> float:
    """From the errors of distrusted edges; infinite where they look uniform."""
    outside = np.flatnonzero(~best.believed)
    if outside.size < 2:
        return math.inf
    h = best.factor.blocks(single_edges(outside))[:, 0, 0]
    reach = _SAME * math.sqrt(2) * best.scale * np.sqrt(1 + np.maximum(h, 0.0)) / model.root[outside]
    size = np.abs(model.residuals(best.x)[outside, 0]) / model.root[outside]
    ordered = np.sort(size)
    near = np.searchsorted(ordered, size + reach, "right") - np.searchsorted(ordered, size - reach, "left") - 1
    coincidences = float(near.sum()) / 2
    expected = float(np.sum((outside.size - 1) * np.minimum(2 * reach / math.pi, 1.0))) / 2
    if coincidences < 1 or pdtrc(math.ceil(coincidences) - 1, expected) > _BY_CHANCE:
        return math.inf
    pairs = outside.size * (outside.size - 1) / 2
    return max(2.0, 2 * pairs / (coincidences - expected))


def evidence_on_levels(model: Rotations, best: Belief, levels: float) -> float:
    """Log of the odds of the believed set against random angles on so many levels: each cycle closes by 1 in k."""
    return best.cycles * math.log(levels) + model.log_prior(best.believed)
