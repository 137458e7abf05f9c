r"""Two local optima, and of both the better one region by region.

On a large graph two runs from different starts end at points that are the same nearly everywhere and differ around a
handful of defects each (on a grid: pairs of vortices), which are in different places. Far from these the phases of both
agree up to one angle for all nodes. So the nodes whose phases differ by more than a threshold fall into separate
pieces; f is a sum over the pieces, with everything else as the ground (:mod:`angsync.pipeline.region`), and each piece
is taken from the point in which it is better, after both have settled on that ground. A high threshold cuts out the
cores, whose rims do not fit well; a low one large pieces, with rims that fit and with several defects in one. So
thresholds are tried from high to low, each from what the one before has found.

The idea is old: Houdayer and Martin, *Phys. Rev. Lett.* 83 (1999) 1030, for spin glasses; fusion moves (Lempitsky,
Rother, Roth and Blake, *IEEE PAMI* 32 (2010) 1392) for images.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.region import Region
from angsync.problem.operators import Operator, SparseOperator
from angsync.solvers.stopping import Clock

_THRESHOLDS_RADIANS = (1.0, 0.5, 0.25, 0.12, 0.06)
_LARGEST_SHARE = 0.9  # of all nodes: where more of them differ, the points have nothing in common
_BINS = 64  # of the angles by which nodes differ, to find the one on which most agree
# Where the noise is high, large parts of the graph agree on one factor each: how many are tried one after the other, up
# to which size of a graph (a million nodes at 0.5 rad agree on one), the least share of nodes in the three bins of one,
# and the bins on either side that belong to it.
_TURNS, _TURNS_UP_TO_NODES, _LEAST_SHARE, _TAKEN_BINS = 3, 30_000, 0.02, 4
_ROUNDING = 1e-12  # of f: a point that is better by less is the same one
_NEAR_RADIANS = 0.3  # nodes that count as agreeing on it


def fused(operator: Operator, z: NDArray, other: NDArray, clock: Clock) -> NDArray | None:
    """A point with a larger objective than z has, made of both; None where there is none."""
    sparse = operator.sparse()
    if sparse is None:
        return None
    base = sparse.operator
    here, there = _objective(base, z), _objective(base, other)
    better, poorer = (other, z) if there > here + _ROUNDING * abs(here) else (z, other)
    made = better
    for turn in _common_turns(np.conj(better) * poorer, _TURNS if base.n <= _TURNS_UP_TO_NODES else 1):
        for threshold in _THRESHOLDS_RADIANS:
            if clock.expired:
                break
            turned = np.conj(made) * poorer * np.conj(turn)
            chosen = np.abs(np.angle(turned)) > threshold
            if not 0 < int(chosen.sum()) <= _LARGEST_SHARE * base.n:
                continue
            region = Region(base, made, chosen)
            if not region.is_connected:
                continue
            phases = np.append(turned[chosen], 1.0)
            region.compare(phases)
            region.solved_from(phases, clock)
            improved = region.improved
            made = made if improved is None else improved
    return None if made is z else made.astype(operator.dtype)


def _common_turns(turned: NDArray, count: int) -> list[complex]:
    """The factors of modulus 1 on which most nodes agree, nearly: the fullest three bins, and the mean around them."""
    counts, ends = np.histogram(np.angle(turned), bins=_BINS, range=(-np.pi, np.pi))
    counts = counts + np.roll(counts, 1) + np.roll(counts, -1)
    factors: list[complex] = []
    while len(factors) < count and (not factors or counts.max() > _LEAST_SHARE * turned.size):
        fullest = int(counts.argmax())
        factor = np.exp(0.5j * (ends[fullest] + ends[fullest + 1]))
        for _ in range(3):
            near = turned[np.abs(np.angle(turned * np.conj(factor))) < _NEAR_RADIANS].sum()
            factor = near / abs(near) if near else factor
        factors.append(complex(factor))
        counts[np.arange(fullest - _TAKEN_BINS, fullest + _TAKEN_BINS + 1) % _BINS] = 0
    return factors


def _objective(base: SparseOperator, z: NDArray) -> float:
    edges = base.edges
    return float((np.conj(z[edges.i]) * edges.value * z[edges.j]).real.sum())
