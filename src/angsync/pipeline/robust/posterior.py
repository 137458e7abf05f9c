r"""Error bars that know that the choice of good edges may be wrong: the law of the phases over all such choices.

The sets of good edges are drawn by :class:`.sampler.Sampler`. For each, the phases are normal around the least-squares
fit.

The law of a phase is then a mixture of normal laws, and of uniform ones where the node hangs on nothing good. An
interval holds the share asked for of the mixture, around the answer, whichever method found the answer (its own offset
from the middle of each normal law is part of the mixture). It is what covers where edges cannot be judged: a bridge
that has the probability :math:`\varepsilon` to be wrong puts everything behind it anywhere with that probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from angsync.kernels.sparse.good_edges_reference import UNIFORM, wrapped
from angsync.pipeline.robust.by_evidence import steps
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.sampler import Sampler, is_resolved
from angsync.problem.measurements import Measurements
from angsync.uncertainty.noise_models import model_of

if TYPE_CHECKING:
    from angsync.pipeline.robust.report import RobustReport

# With 300 sweeps coverage is lower by 0.02 to 0.04 where a third of the edges of a sparse graph is wrong.
_SWEEPS, _LEAST_SWEEPS = 3000, 300
_LOOKS_EVERY = 5  # sweeps: the next one is hardly another
_BURN_IN = 1 / 6  # share of the looks that is left out
_MOST_WORK = 2e9  # multiplications, a second: the walk ends after so many, if it has the least number of sweeps
_RANGE = 100.0  # sigma is looked for within this factor of the scale of the fit
NORMAL_LEVEL, NORMAL_QUANTILE = 0.95, 1.959963984540054  # intervals of this level are the standard errors times this
LARGEST_NODES, LARGEST_EDGES = 120, 1_500  # a second of work; beyond it one choice of edges stands for all


def is_small(measurements: Measurements) -> bool:
    """Whether the graph is one that the law is sampled for."""
    return measurements.n <= LARGEST_NODES and len(measurements) <= LARGEST_EDGES


def is_for(report: RobustReport, measurements: Measurements) -> bool:
    """Whether the law is sampled: the noise is one of angles and known, the graph is not too large, weights are near
    enough to each other."""
    measurements = report.rounded(measurements)
    if not (is_small(measurements) and model_of(measurements).scale_is_sigma and is_resolved(Edges.of(measurements))):
        return False
    if math.isnan(report.scale):  # nothing believed closes a cycle: which edges are good is open, if any are not
        return bool(report.distrusted.any())
    return not (report.scale_given and not report.distrusted.any() and Edges.of(measurements).freedom == 0)


def mixture_of(
    report: RobustReport,
    measurements: Measurements,
    z: NDArray,
    components: NDArray[np.int64],
    *,
    sigma: float | None,
    references: NDArray[np.int64] | None,
) -> Mixture:
    """The law of the phases around z that the measurements leave, from what a robust fit says of them."""
    edges = Edges.of(
        report.rounded(measurements)
    ).in_order()  # one and the same walk, whatever the order of the measurements
    kinds = np.zeros(len(edges), dtype=np.int64)
    if report.loss == "evidence":
        kinds[~steps(edges)] = 1
    if report.trusted.size:
        kinds[report.trusted[edges.used]] = -1
    groups = [np.flatnonzero(components == label) for label in range(int(components.max()) + 1)]
    unit = math.sqrt(edges.unit)
    good = ~report.distrusted[edges.used]
    if sigma is None and report.scale_given:
        sigma = report.scale
    walk = _walk(
        edges, z.astype(np.complex128), good, kinds, report.scale / unit, None if sigma is None else sigma / unit
    )
    offsets, spreads = [], []
    for sweep in range(_SWEEPS):
        walk.sweep()
        if sweep % _LOOKS_EVERY == 0:
            offset, variance = _against(walk.state, groups, references)
            offsets.append(offset)
            spreads.append(walk.scale * np.sqrt(variance))
        if sweep >= _LEAST_SWEEPS and walk.work > _MOST_WORK:
            break
    first = int(_BURN_IN * len(offsets))
    return Mixture(np.array(offsets[first:]), np.array(spreads[first:]))


def _walk(
    edges: Edges,
    z: NDArray[np.complex128],
    good: NDArray[np.bool_],
    kinds: NDArray[np.int64],
    scale: float,
    sigma: float | None,
) -> Sampler:
    """Begin a walk at the answer, from the scale of a robust fit (NaN: unknown); ``sigma`` is held if given."""
    floor = edges.floor
    least, most = (floor, 1.0) if math.isnan(scale) else (max(scale / _RANGE, floor), min(scale * _RANGE, 1.0))
    begin = max(math.sqrt(least * most) if math.isnan(scale) else scale, floor) if sigma is None else sigma
    rng = np.random.default_rng(0)
    return Sampler(edges, z, good, kinds, rng, scale=begin, scales=(least, most), is_known=sigma is not None)


@dataclass(frozen=True, eq=False)
class Mixture:
    """The law of the phases around an answer: one normal law a sample (row) and node (column)."""

    offset: NDArray[np.float64]
    spread: NDArray[np.float64]
    """Standard deviations; infinite where the law is uniform."""

    def half_widths(self, level: float) -> NDArray[np.float64]:
        """Half the lengths of the intervals around the answer that hold this share."""
        low, high = np.zeros(self.offset.shape[1]), np.full(self.offset.shape[1], np.pi)
        loose = ~(self.spread**2 < UNIFORM)
        spread = np.where(loose, 1.0, np.maximum(self.spread, 1e-300))
        for _ in range(40):
            middle = (low + high) / 2
            inside = ndtr((middle - self.offset) / spread) - ndtr((-middle - self.offset) / spread)
            enough = np.mean(np.where(loose, middle / np.pi, inside), axis=0) >= level
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return low  # exactly 0 at a reference


def _against(
    chain: Any, groups: list[NDArray[np.int64]], references: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances (for sigma = 1) against the reference, or the mean of the nodes that hang together."""
    offset, variance = np.zeros(chain.n), np.zeros(chain.n)
    diagonal = np.diagonal(chain.covariance)
    for number, nodes in enumerate(groups):
        leader = nodes[np.argmin(diagonal[nodes])] if references is None else references[number]
        found = diagonal[nodes] + diagonal[leader] - 2 * chain.covariance[nodes, leader]
        tied = found < chain.apart
        mean = chain.mean[leader]
        if references is None:
            inner = nodes[tied]
            block = chain.covariance[np.ix_(nodes, inner)]
            mean = float(np.mean(chain.mean[inner]))
            found = diagonal[nodes] - 2 * block.mean(axis=1) + float(block[tied].mean())
        offset[nodes] = wrapped(chain.mean[nodes] - mean)
        variance[nodes] = np.where(tied, np.maximum(found, 0.0), np.inf)
    return offset, variance
