r"""How well measurements and informations agree: chi-square per degree of freedom, and the worst measurements.

At the minimum of the full information cost (:mod:`angsync.applications.pose_graph.information`) the cost is chi-square
distributed with (numbers measured) - (numbers found) degrees of freedom, if the noise is normal and as stated, to first
order in the noise. A measurement is judged by what the others say about it: its whitened error r has the
covariance G = I - J M^{-1} J^T (M the normal equations), so :math:`r^T G^{-1} r` is chi-square
distributed too, with the rank of G as degrees; r alone is small for every edge that closes a long chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc, chdtri

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.information import InformationModel, Minimum
from angsync.report.numbers import plain_number

LEVEL = 1e-3
"""Far from 1: chance alone gives it less often than this (both sides together)."""
_MOST_NAMED = 5
_NO_FREEDOM = (
    1e-6  # eigenvalues of G below are directions that no other measurement checks: rounding makes 1e-8 of them
)
_BEYOND_CHANCE = 0.01  # probability that the worst of all good measurements is as bad


@dataclass(frozen=True)
class WorstMeasurement:
    """A measurement that the others contradict."""

    place: int
    """In the list of edges, or of sightings."""
    first: int
    second: int
    """Ids of the two poses, or of the pose and the landmark."""
    times_noise: float
    """How far it is from what the others say, in units of the noise of that difference (root mean square)."""
    is_sighting: bool = False
    is_beyond_chance: bool = False
    """Whether the worst of so many good measurements would be as bad less than once in a hundred graphs."""

    def __str__(self) -> str:
        name = "sighting" if self.is_sighting else "edge"
        return f"{name} {self.first} -> {self.second} ({plain_number(self.times_noise, 3)} times its stated noise)"


@dataclass(frozen=True)
class Goodness:
    """Whether the informations describe the measurements."""

    chi_square: float
    """Least sum of e^T I e that was found: full information matrices, whatever cost the poses are of."""
    degrees_of_freedom: int
    """Numbers measured less numbers found: 3 an edge and 2 a sighting, less 3 a pose and 2 a landmark."""
    probability: float
    """Of a chi-square as far from its mean by chance, on either side; NaN without degrees of freedom."""
    worst: tuple[WorstMeasurement, ...]
    """The worst measurements, where chi-square is far from 1 or they are beyond chance; else none."""
    sentence: str
    """What follows from it, in words."""

    @property
    def per_degree(self) -> float:
        """Chi-square over degrees of freedom; NaN where there are none."""
        return self.chi_square / self.degrees_of_freedom if self.degrees_of_freedom > 0 else math.nan

    @property
    def is_far(self) -> bool:
        """Whether chance alone gives so much, or so little, less than once in a thousand graphs."""
        return self.probability < LEVEL

    @property
    def expected(self) -> str:
        """The degrees of freedom, and what chance leaves chi-square per degree within."""
        if self.degrees_of_freedom <= 0:
            return "no degrees of freedom"
        low, high = interval(self.degrees_of_freedom)
        return f"{self.degrees_of_freedom} degrees; chance leaves {low:.3g} to {high:.3g}"

    def __str__(self) -> str:
        ratio = plain_number(self.per_degree, 3)
        return f"chi-square {ratio} per degree of freedom ({self.expected}). {self.sentence}"


def goodness(graph: PoseGraph, model: InformationModel, at: Minimum, *, proved: bool) -> Goodness:
    """Judge the measurements at the minimum of the information cost; ``proved``: the start was a proved optimum."""
    chi, freedom = at.cost, model.freedom
    if freedom <= 0:
        words = "No measurement checks another one: as many numbers were found as measured."
        return Goodness(chi, max(freedom, 0), math.nan, (), words)
    probability = min(1.0, 2 * min(float(chdtr(freedom, chi)), float(chdtrc(freedom, chi))))
    far = probability < LEVEL
    worst = _worst(graph, model, at)
    if not far:
        worst = tuple(one for one in worst if one.is_beyond_chance)
    sentence = _sentence(chi / freedom, far, worst, at, told=_is_told(graph), proved=proved)
    return Goodness(chi, freedom, probability, worst, sentence)


def _is_told(graph: PoseGraph) -> bool:
    """Unit information says nothing about the noise."""
    seen = graph.landmarks.information
    return bool((graph.information != np.eye(D)).any() or (seen != np.eye(2)).any())


def interval(freedom: int) -> tuple[float, float]:
    """What chance leaves chi-square per degree within, but for :data:`LEVEL`."""
    return float(chdtri(freedom, 1 - LEVEL / 2)) / freedom, float(chdtri(freedom, LEVEL / 2)) / freedom


def _sentence(
    ratio: float, far: bool, worst: tuple[WorstMeasurement, ...], at: Minimum, *, told: bool, proved: bool
) -> str:
    factor = plain_number(math.sqrt(ratio), 3)
    if not told:
        text = f"All informations are 1, which states no noise; the measurements show {factor} of it."
    elif far and ratio > 1:
        text = (
            "Chi-square is FAR FROM 1: the measurements contradict each other more than their informations allow. "
            f"Their noise is {factor} times the stated one, or some of them are wrong."
        )
    elif far:
        text = (
            "Chi-square is FAR FROM 1: the measurements agree better than their informations say. Their noise is "
            f"{factor} times the stated one, and error bars from the informations are too wide."
        )
    else:
        text = "The informations describe the noise."
    if worst:
        text += f" Worst: {', '.join(map(str, worst))}."
    if not at.converged:
        text += " The minimum of chi-square was not reached: it is smaller than this."
    if far and ratio > 1 and not proved:
        text += " The poses are not proved to be the best ones, which may be why."
    return text


def _worst(graph: PoseGraph, model: InformationModel, at: Minimum) -> tuple[WorstMeasurement, ...]:
    squares, rank = contradictions(model, at.nodes)
    checked = np.flatnonzero(rank > 0)
    if checked.size == 0:
        return ()
    tail = chdtrc(rank[checked], squares[checked])
    times = np.sqrt(squares[checked] / rank[checked])
    order = np.lexsort((-times, tail))[:_MOST_NAMED]
    ids = (*graph.ids, *(graph.landmarks.ids or ()))
    found = []
    for k in order.tolist():
        place = int(checked[k])
        is_sighting = place >= len(graph)
        found.append(
            WorstMeasurement(
                place - len(graph) if is_sighting else place, ids[model.i[place]], ids[model.j[place]],
                float(times[k]), is_sighting, bool(tail[k] * checked.size < _BEYOND_CHANCE),
            )
        )  # fmt: skip
    return tuple(found)


def contradictions(model: InformationModel, nodes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """r^T G^-1 r and the rank of G for every measurement; 0 and 0 where no other one checks it."""
    linear = model.linearised(nodes)
    factor, count = model.factor(linear), model.i.size
    if factor is None:
        return np.zeros(count), np.zeros(count, dtype=np.int64)
    taken = factor.grams(
        np.arange(count + 1), model.a, model.b, model.root @ linear.first, model.root @ linear.second
    ).reshape(count, D, D)
    G = np.eye(D) - (taken + taken.transpose(0, 2, 1)) / 2
    values, vectors = np.linalg.eigh(G)
    good = values > _NO_FREEDOM
    along = np.einsum("kab,ka->kb", vectors, model.whitened(linear.error))
    squares = np.sum(np.where(good, along**2 / np.where(good, values, 1.0), 0.0), axis=1)
    rank = good.sum(axis=1) - ~model.is_edge  # the third number of a sighting is none
    return np.where(rank > 0, squares, 0.0), rank
