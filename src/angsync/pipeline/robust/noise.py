r"""How good the good edges are, and how likely each edge is to be one of them.

Model of the standardised residuals: a share p of edges is normal with standard deviation sigma, the others are uniform
on the circle. Fitted by expectation and maximisation (Dempster, Laird and Rubin, *JRSS B* 39, 1977):

.. math:: g_k = \frac{p\, N(r_k; \sigma/\sqrt{w_k})}{p\, N(r_k; \sigma/\sqrt{w_k}) + (1 - p)/2\pi}, \qquad
   \sigma^2 = \frac{\sum g_k w_k r_k^2}{\sum g_k - d}, \qquad p = \frac1m \sum g_k,

d the number of phases fitted. :math:`1 - g_k` is the corruption score. The subtraction of d is what keeps sigma from
collapsing: any spanning tree fits n - 1 edges exactly and says nothing about noise by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import Edges

FLOOR = 1e-6  # radians: below this, good edges count as exact
_LEAST_SHARE = 0.05  # of the independent cycles: with fewer good edges than that, no method finds them
_MAX_ROUNDS = 200  # of expectation and maximisation


@dataclass(frozen=True, eq=False)
class Noise:
    """Scale of good edges (of precision 1, radians), their share, and the probability of each to be corrupted."""

    scale: float
    share: float
    corruption: NDArray[np.float64]


def estimate_noise(edges: Edges, z: NDArray, first: float, share: float = 0.5, *, fixed: float | None = None) -> Noise:
    """Fit the model at these phases, from the scale ``first`` and this share; ``fixed`` keeps the scale as it is."""
    residuals = np.abs(edges.residuals(z))
    root = np.sqrt(edges.precision)
    sizes = residuals * root
    total, phases = len(edges), len(edges) - edges.freedom
    least = max(1.0, _LEAST_SHARE * edges.freedom)
    # the good edges number at least `phases + least`, so they reach at least this far
    lower = float(np.partition(sizes, index := min(total, math.ceil(phases + least)) - 1)[index]) / 3
    scale = max(first, lower, FLOOR) if fixed is None else max(fixed, FLOOR)
    share = min(max(share, 0.01), 0.99)
    good = np.full(total, 0.5)
    for _ in range(_MAX_ROUNDS):
        # an edge cannot be expected to be known better than the floor, whatever its weight
        deviation = np.maximum(scale / root, FLOOR)
        density = share * np.exp(-0.5 * (residuals / deviation) ** 2) / (math.sqrt(2 * math.pi) * deviation)
        good = density / (density + (1 - share) / (2 * math.pi))
        new_share = min(float(good.mean()), 1 - 1e-9)
        new_scale = scale
        if fixed is None:
            new_scale = math.sqrt(float(np.sum(good * sizes**2)) / max(float(good.sum()) - phases, least))
            new_scale = min(max(new_scale, lower, FLOOR), math.pi)
        settled = abs(new_scale - scale) <= 1e-3 * scale and abs(new_share - share) <= 1e-4
        share, scale = new_share, new_scale
        if settled:
            break
    return Noise(scale, share, 1 - good)
