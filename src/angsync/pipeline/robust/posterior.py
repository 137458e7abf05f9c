r"""Error bars that know that the choice of good edges may be wrong: the law of the phases over all such choices.

Model: an edge is good with probability :math:`1 - \varepsilon`, then normal with variance :math:`\sigma^2 / w`, or else
uniform on the circle; phases are uniform, :math:`\sigma` has the density :math:`1/\sigma` unless it is given,
:math:`\varepsilon` is Beta(a, b), one for each kind of edges (where evidence chose, the steps of a trajectory are one
of their own, as there). Trusted edges are good. For given good edges S the phases are normal around the least-squares
fit, with covariance :math:`\sigma^2 L_S^+`, and can be integrated out; what remains is sampled (Gibbs, one edge after
the other):

- edge k against all others: it is predicted with variance :math:`v = \sigma^2 (1/w_k + R_k)`, R the effective
  resistance between its ends without it, and misses by r (left-out residual); it is good with odds
  :math:`\frac{1 - \varepsilon}{\varepsilon}\, 2\pi N(r; v)`. Where its ends hang together by nothing else, nothing
  checks it, and the odds are those of the prior;
- :math:`\sigma^2 = \chi^2_S / X` with X chi-square of as many degrees of freedom as S has independent cycles: this is
  what makes Student's t of few residuals;
- :math:`\varepsilon` is Beta(a + wrong edges, b + good edges).

The law of a phase is then a mixture of normal laws, and of uniform ones where the node hangs on nothing good. An
interval holds the share asked for of the mixture, around the answer, whichever method found the answer (its own offset
from the middle of each normal law is part of the mixture). It is what covers where edges cannot be judged: a bridge
that has the probability :math:`\varepsilon` to be wrong puts everything behind it anywhere with that probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from angsync.kernels import GoodEdges
from angsync.kernels.sparse.good_edges_reference import UNIFORM, wrapped
from angsync.pipeline.robust.by_evidence import steps
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.resolution import FLOOR
from angsync.problem.measurements import Measurements
from angsync.uncertainty.noise_models import model_of

if TYPE_CHECKING:
    from angsync.pipeline.robust.report import RobustReport

# With 300 sweeps coverage is lower by 0.02 to 0.04 where a third of the edges of a sparse graph is wrong.
_SWEEPS, _LEAST_SWEEPS = 3000, 300
_LOOKS_EVERY = 5  # sweeps: the next one is hardly another
_BURN_IN = 1 / 6  # share of the looks that is left out
_MOST_WORK = 2e9  # multiplications, a second: the walk ends after so many, if it has the least number of sweeps
_FLIPS = 40  # after which the covariance is computed anew: each may lose a digit or two of the eight that are to spare
_WRONG_BEFORE, _GOOD_BEFORE = 0.2, 2.0  # a and b; chosen on other draws than those reported (benchmarks/cases)
_RANGE = 100.0  # sigma is looked for within this factor of the scale of the fit
NORMAL_LEVEL, NORMAL_QUANTILE = 0.95, 1.959963984540054  # intervals of this level are the standard errors times this
LARGEST_NODES, LARGEST_EDGES = 120, 1_500  # a second of work; beyond it one choice of edges stands for all


# Weights beyond it, over the median, are not resolved: resistances are differences of numbers 1e8 times that of an edge
# of median weight, so that the leverage of an edge of weight 1e5 has an error of 2e-16 * 1e8 * 1e5 = 0.002.
_LARGEST_WEIGHT = 1e5


def is_resolved(measurements: Measurements) -> bool:
    """Whether the weights lie near enough to each other for the law to be computed."""
    weight = measurements.weight[measurements.strength > 0]
    return not weight.size or float(weight.max()) <= _LARGEST_WEIGHT * float(np.median(weight))


def is_small(measurements: Measurements) -> bool:
    """Whether the graph is one that the law is sampled for."""
    return measurements.n <= LARGEST_NODES and len(measurements) <= LARGEST_EDGES


def is_for(report: RobustReport, measurements: Measurements) -> bool:
    """Whether the law is sampled: the noise is one of angles and known, the graph is not too large, weights are near
    enough to each other."""
    measurements = report.rounded(measurements)
    if not (is_small(measurements) and model_of(measurements).scale_is_sigma and is_resolved(measurements)):
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
    law = _Law(edges, z.astype(np.complex128), good, kinds, groups, references)
    return law.mixture(report.scale / unit, None if sigma is None else sigma / unit)


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


@dataclass(frozen=True, eq=False)
class _Law:
    """What the law of the phases is made of."""

    edges: Edges
    z: NDArray[np.complex128]
    good: NDArray[np.bool_]
    """Edges to begin with."""
    kinds: NDArray[np.int64]
    """0, 1, ...: the share of wrong ones is that of the kind; -1: good."""
    groups: list[NDArray[np.int64]]
    """Nodes of each component."""
    references: NDArray[np.int64] | None
    """A node of each component; None is the mean gauge."""

    def mixture(self, scale: float, sigma: float | None) -> Mixture:
        """The law around z, from the scale of a robust fit (NaN: unknown); ``sigma`` is held where it is given."""
        rng = np.random.default_rng(0)
        edges, free = self.edges, self.kinds >= 0
        # phases count from the answer
        chain = GoodEdges(edges.n, edges.i, edges.j, edges.precision, edges.residuals(self.z), self.good | ~free)
        floor = edges.floor
        least, most = (floor, 1.0) if math.isnan(scale) else (max(scale / _RANGE, floor), min(scale * _RANGE, 1.0))
        known = sigma is not None
        sigma = max(math.sqrt(least * most) if math.isnan(scale) else scale, floor) if sigma is None else sigma
        sigma = max(sigma, FLOOR)
        offsets, spreads = [], []
        for sweep in range(_SWEEPS):
            drawn = np.where(free, rng.random(len(edges)), -1.0)  # below any chance: good
            chain.sweep(sigma, self._odds(chain, rng), drawn)
            if chain.flips > _FLIPS:
                chain.refresh()
            if not known:
                squares, freedom = chain.sum_of_squares()
                if freedom > 0:
                    sigma = math.sqrt(squares / max(rng.chisquare(freedom), 1e-300))
                    sigma = min(max(sigma, least), most)
                else:
                    sigma = math.exp(rng.uniform(math.log(least), math.log(most)))
            if sweep % _LOOKS_EVERY == 0:
                offset, variance = _against(chain, self.groups, self.references)
                offsets.append(offset)
                spreads.append(sigma * np.sqrt(variance))
            if sweep >= _LEAST_SWEEPS and chain.refreshes * edges.n**3 > _MOST_WORK:
                break
        first = int(_BURN_IN * len(offsets))
        return Mixture(np.array(offsets[first:]), np.array(spreads[first:]))

    @cached_property
    def _members(self) -> list[tuple[NDArray[np.bool_], int]]:
        """The edges of every kind, and how many they are."""
        kinds = [self.kinds == kind for kind in range(int(self.kinds.max(initial=-1)) + 1)]
        return [(members, int(members.sum())) for members in kinds]

    def _odds(self, chain: GoodEdges, rng: np.random.Generator) -> NDArray[np.float64]:
        """Of every edge, those to be good before its angle is known: the share of wrong ones of its kind is drawn."""
        odds, bad = np.ones(self.kinds.size), ~chain.good
        for members, count in self._members:
            known = int(np.count_nonzero(members & bad))
            wrong = min(max(rng.beta(_WRONG_BEFORE + known, _GOOD_BEFORE + count - known), 1e-9), 1 - 1e-9)
            odds[members] = (1 - wrong) / wrong
        return odds


def _against(
    chain: GoodEdges, groups: list[NDArray[np.int64]], references: NDArray[np.int64] | None
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
