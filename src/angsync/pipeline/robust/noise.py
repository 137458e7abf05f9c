r"""How good the good edges are, and how likely each edge is to be one of them.

Model of the standardized residuals: a share p of edges is normal with standard deviation sigma, the others are uniform
on the circle. Fitted by expectation and maximization (Dempster, Laird and Rubin, *JRSS B* 39, 1977):

.. math:: g_k = \frac{p\, N(r_k; \sigma/\sqrt{w_k})}{p\, N(r_k; \sigma/\sqrt{w_k}) + (1 - p)/2\pi}, \qquad
   \sigma^2 = \frac{\sum g_k w_k r_k^2}{\sum g_k - d}, \qquad p = \frac1m \sum g_k,

d the number of phases fitted. :math:`1 - g_k` is the corruption score. The subtraction of d is what keeps sigma from
collapsing: any spanning tree fits n - 1 edges exactly and says nothing about noise by that.

The likelihood may have *two* maxima in sigma: a narrow one, at the noise of the good edges, and a wide one, at which
wrong edges of a few sigma count as good. From a wide start the climb ends at the wide one (measured: with 5 % of edges
off by 20 sigma it has 4.6 sigma), though the narrow one is better by a nat an edge. :func:`narrower_noise` therefore
starts again from smaller scales and says whether one of them wins.

**Leverage.** A residual shows only the share 1 - h of an error (h the leverage: the share of an edge in its own fit),
so edges are judged by the residual that they would have if they were left out: r / (1 - h), of variance
sigma^2 / (w (1 - h)).

**Small errors.** Uniform errors are so rarely within a few sigma that an edge off by five counts as good where sigma is
4e-4 rad. Where errors are not uniform but of any size, edges are judged by the law of :func:`small_errors`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.time_limit import check
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.resolution import FLOOR
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_count, piece_labels

_LEAST_SHARE = 0.05  # of the independent cycles: with fewer good edges than that, no method finds them
_MAX_ROUNDS = 200  # of expectation and maximization
_FRACTIONS = (1.0, 0.3, 0.1)  # of the median residual: smaller scales to start from
_NARROWER = 0.9  # a scale that is smaller by less is the same one
_MORE_LIKELY = 3.0  # nats by which the narrower scale has to win
# Share of the independent cycles that the good edges of a narrower scale have to close: some narrow scale suits half of
# the cycles of random angles, too, because the phases were fitted to them.
_LEAST_CYCLES = 0.7
MANY_EDGES = 4  # edges a node from which the mean leverage, at most a quarter, stands for all
_LEAST_REDUNDANCY = 0.02  # edges below it say nothing about the noise
_LEAST_CHECKED = 1e-6  # below it an edge is a bridge up to rounding


_SMALL_SHARE = 0.5  # q, the share of wrong edges with errors of any size, which is tried beside 0
_SMALL_ROUNDS = 3
_LEAST_DEVIATIONS = 3.0  # of a wrong edge
_NORMAL_MEDIAN = 1.4826  # standard deviation over the median size, of a normal law
_ROUNDING_ROUNDS = 8  # of weights and noise, each from the other
_ROUNDING_MATTERS = 0.1  # share by which it changes the weights of some edges against those of others
_ONE_IN_TWENTY = 1.645  # deviations of a normal law


@dataclass(frozen=True, eq=False)
class Noise:
    """Scale of good edges (of precision 1, radians), their share, and the probability of each to be corrupted."""

    scale: float
    share: float
    corruption: NDArray[np.float64]


def estimate_noise(edges: Edges, z: NDArray, first: float, share: float = 0.5, *, fixed: float | None = None) -> Noise:
    """Fit the model at these phases, from the scale ``first`` and this share; ``fixed`` keeps the scale as it is."""
    phases = len(edges) - edges.freedom
    return _climb(
        edges, np.abs(edges.residuals(z)), first, share, taken_off=phases, lower=_lower(edges, z), fixed=fixed
    )


def _lower(edges: Edges, z: NDArray) -> float:
    """The good edges number at least the phases and a few more, so they reach at least this far."""
    total, phases = len(edges), len(edges) - edges.freedom
    index = min(total, math.ceil(phases + _least(edges))) - 1
    return float(np.partition(edges.standardized(z), index)[index]) / 3


def _least(edges: Edges) -> float:
    return max(1.0, _LEAST_SHARE * edges.freedom)


def _climb(
    edges: Edges,
    residuals: NDArray[np.float64],
    first: float,
    share: float,
    *,
    taken_off: float,
    lower: float,
    fixed: float | None = None,
    kept: NDArray[np.bool_] | slice = slice(None),
) -> Noise:
    """Expectation and maximization, from the scale ``first``; ``kept`` are the edges that residuals belong to."""
    root = np.sqrt(edges.precision[kept])
    sizes = residuals * root
    least = _least(edges)
    scale = max(first, lower, edges.floor) if fixed is None else max(fixed, edges.floor)
    share = min(max(share, 0.01), 0.99)
    good = np.full(residuals.size, 0.5)
    for _ in range(_MAX_ROUNDS):
        check()
        # an edge cannot be expected to be known better than the floor, whatever its weight
        deviation = np.maximum(scale / root, edges.floor)
        density = share * np.exp(-0.5 * (residuals / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)
        good = density / (density + (1 - share) / (2 * math.pi))
        new_share = min(float(good.mean()), 1 - 1e-9)
        new_scale = scale
        if fixed is None:
            new_scale = math.sqrt(float(np.sum(good * sizes**2)) / max(float(good.sum()) - taken_off, least))
            new_scale = min(max(new_scale, lower, edges.floor), math.pi)
        settled = abs(new_scale - scale) <= 1e-3 * scale and abs(new_share - share) <= 1e-4
        share, scale = new_share, new_scale
        if settled:
            break
    return Noise(scale, share, 1 - good)


def with_rounding(
    edges: Edges, z: NDArray, good: NDArray[np.bool_], solve: Callable[[NDArray[np.float64], NDArray], NDArray]
) -> Edges | None:
    r"""Add the variance of rounding to that of each edge; None if this hardly changes the weights.

    An edge has the variance :math:`s^2/w + f^2`, f the floor. s is that for which the good edges fit as well as they
    should (Paule and Mandel, *Journal of Research of the National Bureau of Standards* 87, 1982),

    .. math:: \sum_k \frac{r_k^2}{s^2/w_k + f^2} = \text{independent cycles},

    or 0; the phases are fitted anew with the weights that follow, and so on.
    """
    cycles = int(good.sum()) - edges.n + piece_count(edges.n, edges.i[good], edges.j[good])
    if edges.floor <= FLOOR or cycles <= 0:
        return None
    square, other = edges.floor**2, 1 / edges.precision[good]
    for _ in range(_ROUNDING_ROUNDS):
        residual = edges.residuals(z)[good] ** 2
        low, high = 0.0, float(np.sum(residual / other)) / cycles
        while high - low > 1e-3 * (high + square):
            middle = (low + high) / 2
            misfit = float(np.sum(residual / (middle * other + square)))
            low, high = (middle, high) if misfit > cycles else (low, middle)
        found = edges.rounded(math.sqrt(low))
        if np.ptp(found.rounding) <= _ROUNDING_MATTERS * found.rounding.max():
            return None
        z = solve(good * found.rounding, z)
    return found


def redundancy_of(edges: Edges, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """1 - h of every edge in the least-squares problem with these weights in [0, 1]; None: all 1.

    Exact where the graph has few edges for its nodes; elsewhere, where leverages are small and hardly differ but for
    the weights, their mean times the weight. An edge of weight 0 is not part of its own fit and has 1; a bridge has 0.
    """
    weights = np.ones(len(edges)) if weights is None else weights
    used = weights > 0
    if used.sum() >= MANY_EDGES * edges.n:
        phases = edges.n - piece_count(edges.n, edges.i[used], edges.j[used])
        return 1 - np.minimum(phases * weights / float(weights.sum()), 1.0)
    if not used.any():
        return np.ones(len(edges))
    from angsync.uncertainty import leverages

    information = weights * edges.precision
    graph = Measurements(edges.i, edges.j, np.zeros(len(edges)), information, edges.n)
    return 1 - leverages(graph, information, piece_labels(edges.n, edges.i[used], edges.j[used]))


def narrower_noise(edges: Edges, z: NDArray, noise: Noise, redundancy: NDArray[np.float64]) -> Noise | None:
    """The most likely noise from smaller scales than this one; None where none of them is more likely.

    The starts are this scale, the median of the residuals, as of a normal law, and fractions of it; residuals are taken
    as r / sqrt(1 - h), which has the variance of the noise itself.
    """
    kept = redundancy >= _LEAST_REDUNDANCY
    if not kept.any():
        return None
    residuals = np.abs(edges.residuals(z))[kept] / np.sqrt(redundancy[kept])
    median = _NORMAL_MEDIAN * float(np.median(residuals * np.sqrt(edges.precision[kept])))
    lower, phases = _lower(edges, z), len(edges) - edges.freedom
    likelihood = _likelihood(edges, residuals, noise, kept) + _MORE_LIKELY
    best = None
    for first in (noise.scale, *(factor * median for factor in _FRACTIONS)):
        found = _climb(edges, residuals, first, noise.share, taken_off=0, lower=lower, kept=kept)
        other = _likelihood(edges, residuals, found, kept)
        cycles = (found.share * len(edges) - phases) / edges.freedom
        if found.scale < _NARROWER * noise.scale and other > likelihood and cycles > _LEAST_CYCLES:
            likelihood, best = other, found
    return best


def likelihood_of(edges: Edges, z: NDArray, noise: Noise, redundancy: NDArray[np.float64]) -> float:
    """Logarithm of the likelihood of the residuals r / sqrt(1 - h), of edges that are checked by others."""
    kept = redundancy >= _LEAST_REDUNDANCY
    return _likelihood(edges, np.abs(edges.residuals(z))[kept] / np.sqrt(redundancy[kept]), noise, kept)


def is_mixed(edges: Edges, z: NDArray, trusted: NDArray[np.bool_]) -> bool:
    r"""Return True if the trusted residuals are of two kinds: their middle is far narrower than their root mean square.

    Of the honest laws of noise, Laplace's is the one of heavy tails. Fitted by least absolute values, as a narrow loss
    nearly does, m edges with c independent cycles have m - c residuals of zero, and the middle one of all has the size
    :math:`\log(2c/m)` times the mean. Over the root mean square, which is :math:`\sqrt 2` times the mean, it has a
    logarithm with the deviation :math:`\sqrt{2/c}`. One graph in twenty with such noise is below the limit. With as
    many phases as cycles the middle says nothing.
    """
    redundancy = redundancy_of(edges, trusted.astype(np.float64))
    kept = trusted & (redundancy >= _LEAST_REDUNDANCY)
    cycles, count = float(redundancy[kept].sum()), int(kept.sum())
    if 2 * cycles <= count:
        return False
    sizes = edges.standardized(z)[kept] / np.sqrt(redundancy[kept])
    middle, root = float(np.median(sizes)), math.sqrt(float(np.mean(sizes**2)))
    honest = math.log(2 * cycles / count) / math.sqrt(2) * math.exp(-_ONE_IN_TWENTY * math.sqrt(2 / cycles))
    return not edges.are_rounded(root) and middle < root * honest


def _likelihood(edges: Edges, residuals: NDArray[np.float64], noise: Noise, kept: NDArray[np.bool_]) -> float:
    deviation = np.maximum(noise.scale / np.sqrt(edges.precision[kept]), edges.floor)
    density = np.exp(-0.5 * (residuals / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)
    wrong = small_errors(residuals, np.minimum(_LEAST_DEVIATIONS * deviation, math.pi), _SMALL_SHARE)
    return _mixed(noise.share, density, wrong)[1]


def judged(
    edges: Edges, z: NDArray, noise: Noise, weights: NDArray[np.float64], *, fixed: float | None = None
) -> Noise:
    r"""The same noise, with every edge judged by the residual that it would have if it were left out of the fit.

    The fit is the least-squares problem with these weights a, of those edges that are trusted so far. Without edge k
    the residual would be :math:`r / (1 - h)`, of variance :math:`\sigma^2 (1/w + R)` with
    :math:`R = h / (a w (1 - h))` the resistance between its ends without it. A bridge is not checked by anything: its
    corruption is the share of corrupted edges in all. Where wrong edges are off by little (:func:`small_errors`), the
    scale is estimated anew, unless it is ``fixed``.
    """
    weights = np.where(noise.corruption <= 0.5, weights, 0.0)
    redundancy = redundancy_of(edges, weights)
    checked = redundancy > _LEAST_CHECKED
    redundancy = np.where(checked, redundancy, 1.0)
    around = np.divide(1 - redundancy, weights * redundancy, out=np.zeros(len(edges)), where=weights > 0)
    left_out = np.minimum(np.abs(edges.residuals(z)) / redundancy, math.pi)
    uniform = np.ones(len(edges))

    def good(scale: float) -> NDArray[np.float64]:
        """Of every edge, the density of its residual as that of a good one of this scale."""
        deviation = np.maximum(scale * np.sqrt((1 + around) / edges.precision), edges.floor)
        density = np.exp(-0.5 * (left_out / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)
        return np.where(checked, density, 1 / (2 * math.pi))

    def wrong(scale: float) -> NDArray[np.float64]:
        """The density of its residual as that of a wrong one, over the uniform one."""
        least = np.clip(_LEAST_DEVIATIONS * scale / np.sqrt(edges.precision), edges.floor, math.pi)
        return np.where(checked, small_errors(left_out, least, _SMALL_SHARE), uniform)

    chances, likelihood = _mixed(noise.share, good(noise.scale), uniform)
    if _mixed(noise.share, good(noise.scale), wrong(noise.scale))[1] > likelihood + _MORE_LIKELY:
        phases, squares = len(edges) - edges.freedom, edges.standardized(z) ** 2
        for _ in range(_SMALL_ROUNDS):  # edges of some deviations had widened the scale
            chances = _mixed(noise.share, good(noise.scale), wrong(noise.scale))[0]
            scale = math.sqrt(float(np.sum(chances * squares)) / max(float(chances.sum()) - phases, _least(edges)))
            scale = noise.scale if fixed is not None else min(max(scale, edges.floor), noise.scale)
            noise = replace(noise, scale=scale, share=min(float(chances.mean()), 1 - 1e-9))
    return replace(noise, corruption=1 - chances)


def _mixed(share: float, good: NDArray[np.float64], wrong: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Chances to be good, and the log-likelihood of all; ``wrong`` is a density over the uniform one."""
    total = share * good + (1 - share) * wrong / (2 * math.pi)
    return share * good / total, float(np.sum(np.log(total)))


def small_errors(size: NDArray[np.float64], least: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    r"""Density of the error of a wrong edge over the uniform one, where a share q of them has errors of any size.

    The size of those is log-uniform, from ``least`` (c) to half a turn:
    :math:`1 - q + q \pi / ((1 + \log(\pi / c)) \max(|r|, c))`.
    """
    return 1 - share + share * math.pi / ((1 + np.log(math.pi / least)) * np.clip(size, least, math.pi))
