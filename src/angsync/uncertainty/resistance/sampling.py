r"""Probing: variances and resistances from random potentials, where a factor would be too full.

Noise :math:`\xi \sim N(0, I)` on the edges, carried to the nodes, gives by one solve

.. math:: y = L^+ B^T W^{1/2} \xi \sim N(0, L^+)

(Spielman and Srivastava, *SIAM J. Comput.* 40, 2011, use the same vectors), so squares of contrasts of y estimate
resistances without bias. Most of each answer is known without a sample, though: given all other nodes, the contrast has
a variance in closed form, and only the variance of the conditional mean is left to the samples (Rao-Blackwell; for
Gaussian fields Siden, Lindgren, Bolin and Villani, *JCGS* 27, 2018). With total conductance d, neighbor average
:math:`\bar y_i = \sum_j w_{ij} y_j / d_i`, component size n:

.. math::
    L^+_{ii} &= (1 - 2/n)/d_i + \mathrm{Var}(\bar y_i), \\
    R_{ij} &= 1/(w + h) + \left(\frac{h}{w + h}\right)^2 \mathrm{Var}(\bar y_{i \setminus j} - \bar y_{j \setminus i}),
    \qquad h = \frac{g_i g_j}{g_i + g_j},\ g_i = d_i - w,

:math:`\bar y_{i \setminus j}` the average without j. The last line is also the variance of node i against a
reference j (w = 0 where they are not joined).

**Law.** With k samples the last terms are :math:`\chi^2_k / k` times their mean. If they are the share f of the
whole, the relative standard deviation is :math:`f \sqrt{2/k}` for a variance and half of that for a standard error.
f is at most 1, near 1 on thin graphs and small on well connected ones. The number of samples is chosen for the
relative accuracy asked for, :math:`k = 2 f^2 / \text{accuracy}^2`, f being the 99th percentile over the nodes. It is
taken from the first 16 samples, with what they show doubled: the true value is below that with probability 95 %.

**Solves.** Conjugate gradients with the diagonal as preconditioner. If e is the error of y then
:math:`|c^T e| \le \|e\|_L \sqrt{c^T L^+ c}` for every contrast c: an error of 0.02 in the energy norm, which is where
they stop, shifts no sample by more than 2 % of its own standard deviation. (The norm is estimated as Hestenes and
Stiefel did, by the decrease over the last steps.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.errors import ConvergenceWarning, warn_user
from angsync.kernels.time_limit import check
from angsync.uncertainty.resistance.network import Network

ACCURACY = 0.1  # relative standard deviation of a variance; half of it for a standard error
_SEED = 20170  # the same answer every time
_SAMPLES_AT_ONCE = 16  # samples that are solved for together
_ENERGY_ERROR = 0.02  # of a sample, in the energy norm, at which its solve ends
_DELAY_STEPS = 5  # over which the decrease of that error is observed; a third of all steps if that is more
_MOST_STEPS = 5000  # of conjugate gradients; a warning follows where they are not enough
_ROUNDING_SHARE = 1e-26  # of the first squared residual: what is left below it is rounding


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates and the relative standard deviation that all but one in a hundred of them keep to."""

    values: NDArray[np.float64]
    accuracy: float
    samples: int


def sampled_variances(network: Network, references: NDArray[np.int64] | None) -> Estimate:
    """Diagonal of the pseudo-inverse (mean gauge), or the variances against the references of the components."""
    pairs, components = network.pairs, network.components
    adjacency = pairs.adjacency()
    if references is not None:
        node = np.flatnonzero(np.arange(pairs.n) != references[components])
        other = references[components[node]]
        estimate = _between(network, node, other, np.asarray(adjacency[node, other]).ravel())
        variances = np.zeros(pairs.n)
        variances[node] = estimate.values
        return Estimate(variances, estimate.accuracy, estimate.samples)
    size, degree = np.bincount(components), pairs.degree
    inverse = np.divide(1, degree, out=np.zeros(pairs.n), where=degree > 0)

    def squares(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        samples -= np.stack([(np.bincount(components, y) / size)[components] for y in samples.T], axis=1)
        return np.sum((inverse[:, None] * (adjacency @ samples)) ** 2, axis=1)

    return _estimate(network, inverse * np.maximum(0, 1 - 2 / size[components]), squares)


def sampled_resistances(network: Network) -> Estimate:
    """Effective resistance of every pair of the network."""
    pairs = network.pairs
    estimate = _between(network, pairs.low, pairs.high, pairs.conductance)
    # an edge of a tree that was taken off is all that joins its ends
    on_tree = network.on_tree
    estimate.values[on_tree] = 1 / pairs.conductance[on_tree]
    return estimate


def _between(network: Network, i: NDArray[np.int64], j: NDArray[np.int64], w: NDArray[np.float64]) -> Estimate:
    """Effective resistance between nodes i and j, w the conductance that joins them directly (it may be 0)."""
    degree, adjacency = network.pairs.degree, network.pairs.adjacency()
    at_i, at_j = np.maximum(degree[i] - w, 0), np.maximum(degree[j] - w, 0)
    around = np.zeros(w.size)  # stays 0 where an end has no other neighbor: then w is all that joins them
    np.divide(at_i * at_j, at_i + at_j, out=around, where=(at_i > 0) & (at_j > 0))
    over_i, over_j = np.zeros(w.size), np.zeros(w.size)
    np.divide(around / (w + around), at_i, out=over_i, where=around > 0)
    np.divide(around / (w + around), at_j, out=over_j, where=around > 0)

    def squares(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(w.size)
        for y in np.ascontiguousarray(samples.T):  # one at a time: there may be many more pairs than nodes
            current = adjacency @ y
            total += np.square(over_i * (current[i] - w * y[j]) - over_j * (current[j] - w * y[i]))
        return total

    return _estimate(network, 1 / (w + around), squares)


def _estimate(
    network: Network,
    known: NDArray[np.float64],
    squares: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> Estimate:
    """Two stages: the first block shows the share that is left to chance, and with it how many samples are needed."""
    sampler = _Sampler(network)
    total, count, wanted = np.zeros(known.size), 0, _SAMPLES_AT_ONCE
    while count < wanted:
        total += squares(sampler.draw(_SAMPLES_AT_ONCE))
        count += _SAMPLES_AT_ONCE
        if (
            count == _SAMPLES_AT_ONCE
        ):  # chi^2_16 is above 8 with probability 95 %: the mean is at most twice what was seen
            wanted = int(np.ceil(2 * _share(known, 2 * total / count) ** 2 / ACCURACY**2))
    sampled = total / count
    return Estimate(known + sampled, _share(known, sampled) * float(np.sqrt(2 / count)), count)


def _share(known: NDArray[np.float64], sampled: NDArray[np.float64]) -> float:
    """What part of the answer is sampled: the 99th percentile."""
    whole = known + sampled
    parts = np.divide(sampled, whole, out=np.zeros(whole.size), where=whole > 0)
    return float(np.quantile(parts, 0.99)) if parts.size else 0.0


class _Sampler:
    """Draws y ~ N(0, L^+), up to a constant in each component."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.rng = np.random.default_rng(_SEED)
        pairs = network.pairs
        kept = np.ones(pairs.n, dtype=bool)
        kept[network.trees.node] = False
        self.kept = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
        inner = kept[pairs.low] & kept[pairs.high]
        self.low, self.high = place[pairs.low[inner]], place[pairs.high[inner]]
        self.root = np.sqrt(pairs.conductance[inner])
        size = self.kept.size
        rows, columns = np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low])
        data = np.tile(-pairs.conductance[inner], 2)
        off = scipy.sparse.coo_array((data, (rows, columns)), shape=(size, size)).tocsr()
        degree = -np.asarray(off.sum(axis=1)).ravel()
        self.laplacian = (off + scipy.sparse.diags_array(degree, format="csr")).tocsr()
        self.inverse = np.divide(1, degree, out=np.zeros(size), where=degree > 0)

    def draw(self, count: int) -> NDArray[np.float64]:
        """``count`` samples, one a column."""
        size, trees = self.kept.size, self.network.trees
        currents = np.empty((size, count))
        for column in range(count):
            noise = self.root * self.rng.standard_normal(self.root.size)
            currents[:, column] = np.bincount(self.low, noise, size) - np.bincount(self.high, noise, size)
        samples = np.zeros((self.network.pairs.n, count))
        samples[self.kept] = _conjugate_gradients(self.laplacian, self.inverse, currents)
        # on a tree that was taken off the difference along an edge is its own noise
        steps = self.rng.standard_normal((trees.node.size, count)) / np.sqrt(trees.conductance)[:, None]
        trees.add_downwards(samples, steps)
        return samples


def _conjugate_gradients(
    matrix: scipy.sparse.csr_array, inverse: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve L x = b for all columns side by side, to an absolute error in the energy norm (see the module text)."""
    x, residual = np.zeros_like(right), right
    scaled = inverse[:, None] * residual
    direction = scaled.copy()
    product = np.einsum("ij,ij->j", residual, scaled)
    # what is left below this is rounding, part of it along the null space, where a step has no bound
    least = _ROUNDING_SHARE * product
    gains: list[NDArray[np.float64]] = []
    for _ in range(_MOST_STEPS):
        check()
        image = matrix @ direction
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(product, curvature, out=np.zeros_like(product), where=product > least)
        x += step * direction
        residual -= step * image
        gains.append(step * product)
        delay = max(_DELAY_STEPS, len(gains) // 3)
        if len(gains) > delay and (np.sum(gains[-delay:], axis=0) < (_ENERGY_ERROR / 2) ** 2).all():
            return x
        np.multiply(inverse[:, None], residual, out=scaled)
        before, product = product, np.einsum("ij,ij->j", residual, scaled)
        direction *= np.divide(product, before, out=np.zeros_like(product), where=before > 0)
        direction += scaled
    left = float(np.sqrt(np.max(np.sum(gains[-len(gains) // 3 :], axis=0))))
    warn_user(
        f"the solves behind the sampled standard errors stopped after {_MOST_STEPS} steps with an error of "
        f"about {left:.2g} in the energy norm instead of {_ENERGY_ERROR}: on this badly conditioned graph "
        "they may be too small.",
        ConvergenceWarning,
    )
    return x
