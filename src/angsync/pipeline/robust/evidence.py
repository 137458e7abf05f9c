r"""Do the measurements agree better than random angles would?

First a bound that costs nothing. Let k of the m residuals be within h. If all angles were independent and uniform, any
fixed phases would have that many with probability at most :math:`e^{-m D(k/m \,\|\, q)}`, :math:`q = h/\pi`, D the
relative entropy (Chernoff; edges of different h: their mean, Hoeffding 1956). Phases rounded to multiples of s move
residuals by at most s, and there are :math:`(2\pi/s)^d` such assignments up to a global phase (d phases), so *some*
phases fit that well with probability at most

.. math:: \exp\bigl(d \log(2\pi/s) - m D(k/m \,\|\, (h + s)/\pi)\bigr).

Where this is small the agreement is real. Near the limit of what can be recovered the bound is too coarse; then the
search is run, shortened, on the same graph with random angles a few times, and the likelihoods are compared.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.resolution import FLOOR
from angsync.pipeline.robust.reweighting import Fit, Solve
from angsync.pipeline.robust.search import search
from angsync.pipeline.robust.settings import Robust
from angsync.solvers.stopping import Clock

_FAILURE = 1e-3  # accepted probability that random angles pass the bound
_WITHIN = 2.0  # h in units of the noise scale
_ROUNDINGS = (0.25, 0.5, 1.0, 2.0)  # s in units of h
_SCALES = 50  # scales from FLOOR to pi by factors of sqrt 2: the scale was chosen after looking at the data
_TRIALS = 4  # searches on random angles
_SPREADS = 5.0  # standard deviations above the mean of the trials that count as credible (see is_credible)
_TRIAL_ROUNDS = 15  # rounds of reweighting in a trial
_SHORTFALL = 1.25  # a full search fits random angles a few per cent better than a shortened one
_FEW_CYCLES = 10  # a graph with fewer independent cycles cannot tell a good fit from one of random angles


def is_credible(
    edges: Edges,
    fit: Fit,
    settings: Robust,
    solver: Callable[[Edges], Solve],
    *,
    clock: Clock,
    rng: np.random.Generator,
) -> bool | None:
    """Whether the fit is better than one of random angles.

    For random angles the fit is one more draw of the law of the trials, but for their shorter search, which the factor
    on their mean makes up for. A draw that exceeds the mean of four by five of their standard deviations is beyond
    Student's t with three degrees of freedom at 5 / sqrt(1 + 1/4) = 4.5: a probability of 0.01. Graphs with a handful
    of cycles cannot tell, nor can a fit that ran out of time: None.
    """
    if bound_on_chance(edges, fit) <= math.log(_FAILURE):
        return True
    if edges.freedom < _FEW_CYCLES:
        return None
    short = dataclasses.replace(settings, start="least_squares", max_rounds=min(settings.max_rounds, _TRIAL_ROUNDS))
    gains: list[float] = []
    for _ in range(_TRIALS):
        if clock.expired:
            return None
        random = dataclasses.replace(edges, turn=np.exp(2j * np.pi * rng.random(len(edges))))
        trial = search(random, solver(random), short, given=None, clock=clock, rng=rng, narrow=False)
        gains.append(likelihood_gain(random, trial))
    chance = _SHORTFALL * float(np.mean(gains)) + _SPREADS * float(np.std(gains, ddof=1))
    return likelihood_gain(edges, fit) > chance


def bound_on_chance(edges: Edges, fit: Fit) -> float:
    """Logarithm of a bound on the probability that random angles can be fitted this well."""
    # the next of a fixed set of scales, so that the union over them covers the choice
    steps = math.ceil(2 * math.log2(max(fit.noise.scale, FLOOR) / FLOOR))
    h = _WITHIN * FLOOR * 2 ** (steps / 2)
    root = np.sqrt(edges.precision)
    total, phases = len(edges), len(edges) - edges.freedom
    inside = float(np.count_nonzero(edges.standardized(fit.z) <= h)) / total
    best = 0.0
    for ratio in _ROUNDINGS:
        s = ratio * h
        chance = float(np.mean(np.minimum(1.0, (h / root + s) / np.pi)))
        if inside <= chance:
            continue
        divergence = float(rel_entr(inside, chance) + rel_entr(1 - inside, 1 - chance))
        exponent = phases * math.log(max(2 * np.pi / s, 1.0)) - total * divergence
        best = min(best, exponent + math.log(len(_ROUNDINGS) * _SCALES))
    return best


def likelihood_gain(edges: Edges, fit: Fit) -> float:
    """Log-likelihood of the residuals in the model of :mod:`angsync.pipeline.robust.noise` over that of uniform
    ones."""
    residuals: NDArray[np.float64] = edges.residuals(fit.z)
    deviation = np.maximum(fit.noise.scale / np.sqrt(edges.precision), edges.floor)
    ratio = math.sqrt(2 * math.pi) / deviation * np.exp(-0.5 * (residuals / deviation) ** 2)
    return float(np.sum(np.log1p(fit.noise.share * (ratio - 1))))
